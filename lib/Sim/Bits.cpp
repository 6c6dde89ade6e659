//===-- Bits.cpp - Logic, shifts and fields of bits -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Lanes.h"

#include <algorithm>

namespace blockscale::sim {

namespace {
struct And {
  template <class T> static T of(T a, T b) { return a & b; }
};
struct Or {
  template <class T> static T of(T a, T b) { return a | b; }
};
struct Xor {
  template <class T> static T of(T a, T b) { return a ^ b; }
};
struct Not {
  template <class T> static T of(T a) { return ~a; }
};
struct Cnot {
  template <class T> static T of(T a) { return a == 0; }
};

template <class Op>
void predicateBinary(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t value = Op::of(w.predicate(i.src(0)), w.predicate(i.src(1)));
  uint32_t &d = w.predicate(i.dst(0));
  d = (d & ~mask) | (value & mask);
}
void predicateNot(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t value = ~w.predicate(i.src(0)), &d = w.predicate(i.dst(0));
  d = (d & ~mask) | (value & mask);
}

template <class Op> bool logic(Decoder &d) {
  Type type = d.type();
  if (!d.simple(type, 2))
    return false;
  return d.run(type == Type::Pred ? predicateBinary<Op>
                                  : SIM_BY_INTEGER(binaryHandler, Op, type));
}
bool bitNot(Decoder &d) {
  Type type = d.type();
  if (!d.simple(type, 1))
    return false;
  return d.run(type == Type::Pred ? predicateNot
                                  : SIM_BY_INTEGER(unaryHandler, Not, type));
}
bool cnot(Decoder &d) {
  Type type = d.type();
  return d.simple(type, 1) && d.run(SIM_BY_INTEGER(unaryHandler, Cnot, type));
}

/// The amount is 32 bits wide and clamped, not wrapped.
struct ShiftLeft {
  template <class T> static T of(T a, uint32_t by) {
    constexpr unsigned bits = 8 * sizeof(T);
    return by >= bits ? T(0) : static_cast<T>(std::make_unsigned_t<T>(a) << by);
  }
};
struct ShiftRight {
  template <class T> static T of(T a, uint32_t by) {
    constexpr uint32_t bits = 8 * sizeof(T);
    if (by >= bits)
      return a < T(0) ? static_cast<T>(-1) : T(0);
    return a >> by;
  }
};
template <class Op, class T>
void shiftHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1));
  forLanes(mask, [&](unsigned l) {
    d[l] = toBits(Op::of(fromBits<T>(a[l]), static_cast<uint32_t>(b[l])));
  });
}
template <class Op> bool shift(Decoder &d) {
  Type type = d.type();
  d.inst.type = type;
  return d.expectOperands(3, 3) && d.dst(0) && d.src(1, type) &&
         d.src(2, Type::U32) && d.run(SIM_BY_INTEGER(shiftHandler, Op, type));
}

void funnel(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1)),
                 *c = w.lanes(i.src(2));
  bool left = i.mode & 1, wraps = i.mode & 2;
  forLanes(mask, [&](unsigned l) {
    uint64_t both = b[l] << 32 | static_cast<uint32_t>(a[l]);
    uint32_t by = static_cast<uint32_t>(c[l]);
    by = wraps ? by & 31 : std::min(by, 32u);
    d[l] = static_cast<uint32_t>(left ? (both << by) >> 32 : both >> by);
    if (left && by == 32)
      d[l] = static_cast<uint32_t>(a[l]);
  });
}
bool shf(Decoder &d) {
  d.inst.mode = (d.has("l") ? 1 : 0) | (d.has("wrap") ? 2 : 0);
  return d.simple(Type::B32, 3) && d.run(funnel);
}

uint32_t lookUp(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (unsigned k = 0; k < 8; ++k)
    if (table >> k & 1)
      result |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  return result;
}
void lop3Handler(Warp &w, const Inst &i, uint32_t mask) {
  unsigned at = i.dsts - 1;
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1)),
                 *c = w.lanes(i.src(2));
  uint64_t *d = w.lanes(i.dst(at));
  uint32_t table = i.mode;
  forLanes(mask, [&](unsigned l) { d[l] = lookUp(a[l], b[l], c[l], table); });
}
bool lop3(Decoder &d) {
  if (d.has("BoolOp") || d.has("or") || d.has("and"))
    return d.unsupported("form of lop3");
  return d.expectOperands(5, 5) && d.dst(0) && d.src(1, Type::B32) &&
         d.src(2, Type::B32) && d.src(3, Type::B32) &&
         d.constant(d.operand(4), d.inst.mode) && d.run(lop3Handler);
}

enum PermuteMode : uint64_t { index, f4e, b4e, rc8, ecl, ecr, rc16 };
void permute(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1)),
                 *c = w.lanes(i.src(2));
  // Compilers pack what they have beside what they will not use: the result has
  // a value if any of its bytes does.
  const uint32_t writtenA = w.written[i.src(0)], writtenB = w.written[i.src(1)];
  w.selected = 0;
  forLanes(mask, [&](unsigned l) {
    uint64_t bytes = b[l] << 32 | static_cast<uint32_t>(a[l]);
    uint32_t control = static_cast<uint32_t>(c[l]), result = 0;
    for (unsigned k = 0; k < 4; ++k) {
      unsigned low = control & 3, select = 0;
      switch (i.mode) {
      case index:
        select = control >> (4 * k) & 15;
        break;
      case f4e:
        select = low + k;
        break;
      case b4e:
        select = (low - k) & 7;
        break;
      case rc8:
        select = low;
        break;
      case ecl:
        select = std::max(low, k);
        break;
      case ecr:
        select = std::min(low, k);
        break;
      case rc16:
        select = (low & 1) * 2 + (k & 1);
        break;
      }
      uint8_t byte = bytes >> (8 * (select & 7));
      w.selected |= (select & 4 ? writtenB : writtenA) & (1u << l);
      if (select & 8) // The byte's sign, eight times.
        byte = byte & 0x80 ? 0xff : 0;
      result |= uint32_t(byte) << (8 * k);
    }
    d[l] = result;
  });
}
bool prmt(Decoder &d) {
  static constexpr std::string_view names[] = {"",    "f4e", "b4e", "rc8",
                                               "ecl", "ecr", "rc16"};
  for (uint64_t mode = 1; mode < 7; ++mode)
    if (d.has(names[mode]))
      d.inst.mode = mode;
  d.inst.selects = true;
  return d.simple(Type::B32, 3) && d.run(permute);
}

struct Bfe {
  template <class T> static T of(T a, T b, T c) {
    constexpr unsigned bits = 8 * sizeof(T);
    using U = std::make_unsigned_t<T>;
    unsigned position = b & 0xff, length = c & 0xff;
    if (length == 0)
      return 0;
    unsigned sign = std::min(position + length - 1, bits - 1);
    U value = position >= bits ? 0 : U(a) >> position;
    if (length < bits)
      value &= (U(1) << length) - 1;
    bool negative = std::is_signed_v<T> && (U(a) >> sign & 1);
    if (negative) {
      unsigned have = position >= bits ? 0 : std::min(length, bits - position);
      if (have < bits)
        value |= ~U(0) << have;
    }
    return static_cast<T>(value);
  }
};
bool bfe(Decoder &d) {
  Type type = d.type();
  return d.expectOperands(4, 4) && d.dst(0) && d.src(1, type) &&
         d.src(2, Type::U32) && d.src(3, Type::U32) &&
         d.run(SIM_BY_INTEGER(ternaryHandler, Bfe, type));
}

template <class T> void insertField(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1)),
                 *c = w.lanes(i.src(2)), *e = w.lanes(i.src(3));
  forLanes(mask, [&](unsigned l) {
    constexpr unsigned bits = 8 * sizeof(T);
    unsigned position = c[l] & 0xff, length = e[l] & 0xff;
    T result = static_cast<T>(b[l]);
    for (unsigned k = 0; k < length && position + k < bits; ++k) {
      T bit = T(1) << (position + k);
      result = (result & ~bit) | (k < bits && (a[l] >> k & 1) ? bit : T(0));
    }
    d[l] = result;
  });
}
bool bfi(Decoder &d) {
  Type type = d.type();
  return d.expectOperands(5, 5) && d.dst(0) && d.src(1, type) &&
         d.src(2, type) && d.src(3, Type::U32) && d.src(4, Type::U32) &&
         d.run(bitWidth(type) == 64 ? insertField<uint64_t>
                                    : insertField<uint32_t>);
}

/// The highest bit that is not a copy of the sign.
template <class T> void findBit(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0));
  forLanes(mask, [&](unsigned l) {
    constexpr unsigned bits = 8 * sizeof(T);
    T value = fromBits<T>(a[l]);
    if (value < T(0))
      value = ~value;
    uint64_t magnitude = toBits(value);
    uint32_t position =
        magnitude ? 63 - __builtin_clzll(magnitude) : 0xffffffff;
    if (i.mode && magnitude)
      position = bits - 1 - position;
    d[l] = position;
  });
}
bool bfind(Decoder &d) {
  Type type = d.type();
  d.inst.mode = d.has("shiftamt");
  if (!d.simple(type, 1))
    return false;
  switch (type) {
  case Type::U32:
    return d.run(findBit<uint32_t>);
  case Type::S32:
    return d.run(findBit<int32_t>);
  case Type::U64:
    return d.run(findBit<uint64_t>);
  case Type::S64:
    return d.run(findBit<int64_t>);
  default:
    return d.unsupported("type");
  }
}

struct Popc {
  template <class T> static uint32_t of(T a) {
    return __builtin_popcountll(toBits(a));
  }
};
struct Clz {
  template <class T> static uint32_t of(T a) {
    return a ? __builtin_clzll(toBits(a)) - (64 - 8 * sizeof(T))
             : 8 * sizeof(T);
  }
};
struct Brev {
  template <class T> static T of(T a) {
    T result = 0;
    for (unsigned k = 0; k < 8 * sizeof(T); ++k)
      result |= (a >> k & 1) << (8 * sizeof(T) - 1 - k);
    return result;
  }
};
template <class Op> bool unary(Decoder &d) {
  Type type = d.type();
  return d.simple(type, 1) &&
         d.run(bitWidth(type) == 64 ? unaryHandler<Op, uint64_t>
                                    : unaryHandler<Op, uint32_t>);
}

/// The n-th set bit from a base, upwards for n > 0, downwards for n < 0.
struct Fns {
  static uint32_t of(uint32_t mask, uint32_t base, uint32_t n) {
    int32_t offset = n;
    if (offset == 0)
      return base < 32 && (mask >> base & 1) ? base : ~0u;
    int step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
    for (int32_t at = base; at >= 0 && at < 32; at += step)
      if ((mask >> at & 1) && --left == 0)
        return at;
    return ~0u;
  }
};
bool fns(Decoder &d) {
  return d.simple(Type::B32, 3) && d.run(ternaryHandler<Fns, uint32_t>);
}

struct Bmsk {
  static uint32_t of(uint32_t a, uint32_t b) {
    uint64_t length = std::min(b, 32u);
    uint64_t ones = (uint64_t(1) << length) - 1;
    return a >= 32 ? 0 : static_cast<uint32_t>(ones << a);
  }
};
struct BmskWrap {
  static uint32_t of(uint32_t a, uint32_t b) {
    return Bmsk::of(a & 31, b & 31);
  }
};
bool bmsk(Decoder &d) {
  return d.simple(Type::B32, 2) &&
         d.run(d.has("wrap") ? binaryHandler<BmskWrap, uint32_t>
                             : binaryHandler<Bmsk, uint32_t>);
}
struct Szext {
  template <class T> static T of(T a, T b) {
    uint32_t n = std::min<uint32_t>(b, 32);
    if (n == 0)
      return 0;
    if (n == 32)
      return a;
    return static_cast<T>(std::make_unsigned_t<T>(a) << (32 - n)) >> (32 - n);
  }
};
struct SzextWrap {
  template <class T> static T of(T a, T b) {
    return Szext::of<T>(a, static_cast<T>(b & 31));
  }
};
bool szext(Decoder &d) {
  Type type = d.type();
  if (!d.simple(type, 2))
    return false;
  if (d.has("wrap"))
    return d.run(SIM_BY_INTEGER(binaryHandler, SzextWrap, type));
  return d.run(SIM_BY_INTEGER(binaryHandler, Szext, type));
}
} // namespace

void addBits(OpcodeTable &table) {
  table["and"] = logic<And>;
  table["or"] = logic<Or>;
  table["xor"] = logic<Xor>;
  table["not"] = bitNot;
  table["cnot"] = cnot;
  table["shl"] = shift<ShiftLeft>;
  table["shr"] = shift<ShiftRight>;
  table["shf"] = shf;
  table["lop3"] = lop3;
  table["prmt"] = prmt;
  table["bfe"] = bfe;
  table["bfi"] = bfi;
  table["bfind"] = bfind;
  table["popc"] = unary<Popc>;
  table["clz"] = unary<Clz>;
  table["brev"] = unary<Brev>;
  table["fns"] = fns;
  table["bmsk"] = bmsk;
  table["szext"] = szext;
}

} // namespace blockscale::sim
