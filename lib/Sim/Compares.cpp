//===-- Compares.cpp - Comparisons and selections ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FloatModes.h"
#include "Lanes.h"

namespace blockscale::sim {

namespace {
enum Comparison : uint8_t {
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  lo,
  ls,
  hi,
  hs,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan,
};
constexpr std::string_view comparisonNames[] = {
    "eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
    "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
enum BoolOp : uint8_t { none, boolAnd, boolOr, boolXor };

struct Data {
  Comparison comparison = eq;
  BoolOp boolOp = none;
  bool negateThird = false;
  bool hasSecond = false;
  bool flushes = false;
  Type result = Type::None; ///< Of `set`.
};

template <class T> bool compare(Comparison c, T a, T b) {
  switch (c) {
  case eq:
    return a == b;
  case ne:
    return a != b && a == a && b == b;
  case lt:
  case lo:
    return a < b;
  case le:
  case ls:
    return a <= b;
  case gt:
  case hi:
    return a > b;
  case ge:
  case hs:
    return a >= b;
  case equ:
    return !(a < b || a > b);
  case neu:
    return !(a == b);
  case ltu:
    return !(a >= b);
  case leu:
    return !(a > b);
  case gtu:
    return !(a <= b);
  case geu:
    return !(a < b);
  case num:
    return a == a && b == b;
  case nan:
    return !(a == a && b == b);
  }
  return false;
}

template <class T> T load(const Data &data, const Inst &i, uint64_t bits) {
  if constexpr (std::is_same_v<T, double>) {
    if (i.type == Type::F64)
      return fromBits<double>(bits);
    return decode(*formatOf(i.type), bits);
  } else if constexpr (std::is_same_v<T, float>) {
    float value = fromBits<float>(bits);
    return data.flushes ? flush(value) : value;
  } else {
    return fromBits<T>(bits);
  }
}

template <class T>
uint32_t compareLanes(Warp &w, const Inst &i, uint32_t mask, unsigned shift) {
  const Data &data = i.as<Data>();
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1));
  uint32_t result = 0;
  const Comparison comparison = data.comparison;
  forLanes(mask, [&](unsigned l) {
    bool holds = compare<T>(comparison, load<T>(data, i, a[l] >> shift),
                            load<T>(data, i, b[l] >> shift));
    result |= uint32_t(holds) << l;
  });
  return result;
}

uint32_t combine(Warp &w, const Inst &i, uint32_t bits) {
  const Data &data = i.as<Data>();
  if (data.boolOp == none)
    return bits;
  uint32_t third = w.predicate(i.src(2));
  if (data.negateThird)
    third = ~third;
  return data.boolOp == boolAnd  ? bits & third
         : data.boolOp == boolOr ? bits | third
                                 : bits ^ third;
}

void store(Warp &w, uint32_t slot, uint32_t mask, uint32_t bits) {
  uint32_t &d = w.predicate(slot);
  d = (d & ~mask) | (bits & mask);
}

template <class T> void setp(Warp &w, const Inst &i, uint32_t mask) {
  const Data &data = i.as<Data>();
  uint32_t bits = compareLanes<T>(w, i, mask, 0);
  store(w, i.dst(0), mask, combine(w, i, bits));
  if (data.hasSecond)
    store(w, i.dst(1), mask, combine(w, i, ~bits));
}

/// f16x2, bf16x2: a predicate for the low half and one for the high half.
void setpPair(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t low = compareLanes<double>(w, i, mask, 0);
  uint32_t high = compareLanes<double>(w, i, mask, 16);
  store(w, i.dst(0), mask, combine(w, i, low));
  if (i.dsts > 1)
    store(w, i.dst(1), mask, combine(w, i, high));
}

template <class T> void set(Warp &w, const Inst &i, uint32_t mask) {
  const Data &data = i.as<Data>();
  uint32_t bits = combine(w, i, compareLanes<T>(w, i, mask, 0));
  uint64_t *d = w.lanes(i.dst(0));
  uint64_t yes = data.result == Type::F32      ? 0x3f800000
                 : data.result == Type::F16    ? 0x3c00
                 : data.result == Type::BF16   ? 0x3f80
                 : bitWidth(data.result) == 16 ? 0xffff
                                               : 0xffffffff;
  forLanes(mask, [&](unsigned l) { d[l] = bits >> l & 1 ? yes : 0; });
}

void setPair(Warp &w, const Inst &i, uint32_t mask) {
  const Data &data = i.as<Data>();
  uint32_t low = combine(w, i, compareLanes<double>(w, i, mask, 0));
  uint32_t high = combine(w, i, compareLanes<double>(w, i, mask, 16));
  uint64_t *d = w.lanes(i.dst(0));
  uint64_t yes = data.result == Type::F16x2    ? 0x3c00
                 : data.result == Type::BF16x2 ? 0x3f80
                                               : 0xffff;
  forLanes(mask, [&](unsigned l) {
    d[l] = (low >> l & 1 ? yes : 0) | (high >> l & 1 ? yes << 16 : 0);
  });
}

#define SIM_BY_COMPARED(handler, type)                                         \
  [](Type t) -> Handler {                                                      \
    switch (t) {                                                               \
    case Type::B16:                                                            \
    case Type::U16:                                                            \
      return handler<uint16_t>;                                                \
    case Type::B32:                                                            \
    case Type::U32:                                                            \
      return handler<uint32_t>;                                                \
    case Type::B64:                                                            \
    case Type::U64:                                                            \
      return handler<uint64_t>;                                                \
    case Type::S16:                                                            \
      return handler<int16_t>;                                                 \
    case Type::S32:                                                            \
      return handler<int32_t>;                                                 \
    case Type::S64:                                                            \
      return handler<int64_t>;                                                 \
    case Type::F32:                                                            \
      return handler<float>;                                                   \
    case Type::F64:                                                            \
    case Type::F16:                                                            \
    case Type::BF16:                                                           \
      return handler<double>;                                                  \
    default:                                                                   \
      return nullptr;                                                          \
    }                                                                          \
  }(type)

bool modifiers(Decoder &d, Data &data) {
  bool found = false;
  for (size_t k = 1; k < d.in().parts.size(); ++k) {
    const std::string &part = d.in().parts[k];
    for (size_t c = 0; c < std::size(comparisonNames); ++c)
      if (part == comparisonNames[c] && !found) {
        data.comparison = Comparison(c);
        found = true;
      }
    if (part == "and")
      data.boolOp = boolAnd;
    else if (part == "or")
      data.boolOp = boolOr;
    else if (part == "xor")
      data.boolOp = boolXor;
  }
  data.flushes = d.has("ftz");
  return found || d.fail("expects a comparison");
}

/// Integers have no NaN: ne is plain inequality, and lo to hs are unsigned.
bool operands(Decoder &d, Data &data, size_t first, Type type) {
  d.inst.type = type;
  size_t sources = data.boolOp == none ? 2 : 3;
  if (!d.expectOperands(first + sources, first + sources) ||
      !d.src(first, type) || !d.src(first + 1, type))
    return false;
  if (data.boolOp != none) {
    data.negateThird = d.operand(first + 2).negated;
    return d.src(first + 2, Type::Pred);
  }
  return true;
}

bool decodeSetp(Decoder &d) {
  auto data = std::make_shared<Data>();
  Type type = d.type();
  if (!modifiers(d, *data) || !d.dst(0))
    return false;
  if (!d.operand(0).second.empty()) {
    Operand second;
    second.name = d.operand(0).second;
    if (second.name == "_")
      second.kind = Operand::Sink;
    data->hasSecond = true;
    if (!d.dst(second))
      return false;
  }
  if (!operands(d, *data, 1, type))
    return false;
  d.inst.data = data;
  if (type == Type::F16x2 || type == Type::BF16x2)
    return d.run(setpPair);
  return d.run(SIM_BY_COMPARED(setp, type));
}

bool decodeSet(Decoder &d) {
  auto data = std::make_shared<Data>();
  data->result = d.type(0);
  Type type = d.type(1);
  if (!modifiers(d, *data) || !d.dst(0) || !operands(d, *data, 1, type))
    return false;
  d.inst.data = data;
  if (type == Type::F16x2 || type == Type::BF16x2)
    return d.run(setPair);
  return d.run(SIM_BY_COMPARED(set, type));
}

void select(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1));
  uint32_t choice = w.predicate(i.src(2));
  // Only the chosen value need be initialised, and passes that on.
  uint32_t from =
      (w.written[i.src(0)] & choice) | (w.written[i.src(1)] & ~choice);
  if (w.cluster->options.checkRegisters && (mask & ~w.written[i.src(2)]))
    return w.fault(Fault::Uninitialized, i,
                   __builtin_ctz(mask & ~w.written[i.src(2)]),
                   "selects by a predicate that has no value");
  forLanes(mask, [&](unsigned l) { d[l] = choice >> l & 1 ? a[l] : b[l]; });
  w.selected = from;
}
void selectPredicate(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t choice = w.predicate(i.src(2));
  store(w, i.dst(0), mask,
        (w.predicate(i.src(0)) & choice) | (w.predicate(i.src(1)) & ~choice));
}
bool selp(Decoder &d) {
  Type type = d.type();
  if (!d.expectOperands(4, 4) || !d.dst(0) || !d.src(1, type) ||
      !d.src(2, type) || !d.src(3, Type::Pred))
    return false;
  if (type == Type::Pred)
    return d.run(selectPredicate);
  d.inst.selects = true;
  return d.run(select);
}

void slctHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1)),
                 *c = w.lanes(i.src(2));
  forLanes(mask, [&](unsigned l) {
    bool first;
    if (i.type2 == Type::F32) {
      float value = fromBits<float>(c[l]);
      first = (i.mode ? flush(value) : value) >= 0;
    } else {
      first = fromBits<int32_t>(c[l]) >= 0;
    }
    d[l] = first ? a[l] : b[l];
  });
}
bool slct(Decoder &d) {
  d.inst.type2 = d.type(1);
  d.inst.mode = d.has("ftz");
  return d.expectOperands(4, 4) && d.dst(0) && d.src(1, d.type(0)) &&
         d.src(2, d.type(0)) && d.src(3, d.type(1)) && d.run(slctHandler);
}
} // namespace

void addCompares(OpcodeTable &table) {
  table["setp"] = decodeSetp;
  table["set"] = decodeSet;
  table["selp"] = selp;
  table["slct"] = slct;
}

} // namespace blockscale::sim
