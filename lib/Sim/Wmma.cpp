//===-- Wmma.cpp - wmma.load, wmma.mma, wmma.store --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ISA leaves open which thread holds which elements of a fragment. Here
// all slots of a warp, lane by lane, hold the matrix row by row; where there
// are more slots than elements (f16), they hold it several times over.
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Lanes.h"
#include "MatrixMath.h"

#include <algorithm>

namespace blockscale::sim {

namespace {
constexpr unsigned maxRows = 32, maxK = 16;

/// A, B, or C and D, as memory and registers hold them.
struct Fragment {
  unsigned rows = 0, columns = 0;
  Type type = Type::None;
  unsigned registers = 0;
  unsigned firstSource = 0;

  unsigned bits() const { return type == Type::TF32 ? 32 : bitWidth(type); }
  unsigned perRegister() const { return type == Type::F64 ? 1 : 32 / bits(); }
  unsigned perLane() const { return registers * perRegister(); }
  /// Of slot `j` of `lane`: the element's number, row by row.
  unsigned element(unsigned lane, unsigned j) const {
    return (lane * perLane() + j) % (rows * columns);
  }
  uint64_t get(Warp &w, uint32_t slot, unsigned lane, unsigned j) const {
    uint64_t value = w.lanes(slot)[lane];
    unsigned width = bits();
    return width == 64 ? value
                       : value >> (width * (j % perRegister())) &
                             ((uint64_t(1) << width) - 1);
  }
};

struct Move {
  Fragment fragment;
  bool isRowMajor = true, hasStride = false;
};

struct Multiply {
  unsigned m = 0, n = 0, k = 0;
  Fragment a, b, c, d;
  ElementReader readA, readB;
  bool saturates = false;
};

/// Checks what all lanes must agree on. False after a fault.
bool place(Warp &w, const Inst &i, uint64_t &base, uint64_t &stride) {
  const Move &move = i.as<Move>();
  const Fragment &f = move.fragment;
  const uint64_t *bases = w.lanes(i.src(0));
  const uint64_t *strides =
      move.hasStride ? w.lanes(i.src(i.srcs - 1)) : nullptr;
  for (unsigned l = 1; l < 32; ++l)
    if (bases[l] != bases[0] || (strides && strides[l] != strides[0])) {
      w.fault(Fault::BadOperand, i, l,
              "expects the same address and stride in all lanes", bases[l]);
      return false;
    }
  base = bases[0] + i.offset[0];
  stride = strides ? static_cast<uint32_t>(strides[0])
                   : (move.isRowMajor ? f.columns : f.rows);
  // The ISA asks for a fragment's bytes, CUDA C++ for 16 in a row.
  uint64_t align =
      std::min<uint64_t>(16, f.registers * (f.type == Type::F64 ? 8 : 4));
  if (base % align || stride * f.bits() / 8 % align) {
    w.fault(Fault::Misaligned, i, 0,
            "expects the address and the stride to be multiples of " +
                std::to_string(align) + " bytes, but the stride has " +
                std::to_string(stride * f.bits() / 8),
            base);
    return false;
  }
  return true;
}

uint64_t addressOf(const Move &move, uint64_t base, uint64_t stride,
                   unsigned element) {
  unsigned row = element / move.fragment.columns;
  unsigned column = element % move.fragment.columns;
  uint64_t index =
      move.isRowMajor ? row * stride + column : column * stride + row;
  return base + index * (move.fragment.bits() / 8);
}

void load(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t base = 0, stride = 0;
  if (!w.gather(i, allLanes, mask) || !place(w, i, base, stride))
    return;
  const Move &move = i.as<Move>();
  const Fragment &f = move.fragment;
  unsigned bytes = f.bits() / 8;
  uint64_t values[32][8] = {};
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned j = 0; j < f.perLane(); ++j) {
      const uint8_t *from = w.access(
          i, l, i.space, addressOf(move, base, stride, f.element(l, j)), bytes,
          AccessKind::Read, bytes);
      if (!from)
        return;
      uint64_t value = 0;
      std::memcpy(&value, from, bytes);
      values[l][j / f.perRegister()] |= value
                                        << (f.bits() * (j % f.perRegister()));
    }
  for (unsigned r = 0; r < f.registers; ++r)
    for (unsigned l = 0; l < 32; ++l)
      w.lanes(i.dst(r))[l] = values[l][r];
}

void store(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t base = 0, stride = 0;
  if (!w.gather(i, allLanes, mask) || !place(w, i, base, stride))
    return;
  const Move &move = i.as<Move>();
  const Fragment &f = move.fragment;
  unsigned bytes = f.bits() / 8;
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned j = 0; j < f.perLane(); ++j) {
      uint8_t *to = w.access(i, l, i.space,
                             addressOf(move, base, stride, f.element(l, j)),
                             bytes, AccessKind::Write, bytes);
      if (!to)
        return;
      uint64_t value =
          f.get(w, i.src(f.firstSource + j / f.perRegister()), l, j);
      std::memcpy(to, &value, bytes);
    }
}

/// Calls f(element, bits) for what a fragment among the sources holds.
template <class F>
void forElements(Warp &w, const Inst &i, const Fragment &fragment, F &&f) {
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned j = 0; j < fragment.perLane(); ++j)
      f(fragment.element(l, j),
        fragment.get(
            w, i.src(fragment.firstSource + j / fragment.perRegister()), l, j));
}

/// Writes D, whose elements are `result(element)`, as bits.
template <class F>
void writeResult(Warp &w, const Inst &i, const Fragment &d, F &&result) {
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < d.registers; ++r) {
      uint64_t bits = 0;
      for (unsigned j = 0; j < d.perRegister(); ++j)
        bits |= uint64_t(result(d.element(l, r * d.perRegister() + j)))
                << (d.bits() * j);
      w.lanes(i.dst(r))[l] = bits;
    }
}

void multiplyFloats(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.gather(i, allLanes, mask))
    return;
  const Multiply &data = i.as<Multiply>();
  float a[maxRows][maxK], b[maxRows / columns][maxK][columns];
  double c[maxRows][maxRows / columns][columns];
  uint32_t out[maxRows * maxRows];
  forElements(w, i, data.a, [&](unsigned e, uint64_t bits) {
    a[e / data.k][e % data.k] = data.readA.read(bits);
  });
  forElements(w, i, data.b, [&](unsigned e, uint64_t bits) {
    unsigned n = e % data.n;
    b[n / columns][e / data.n][n % columns] = data.readB.read(bits);
  });
  forElements(w, i, data.c, [&](unsigned e, uint64_t bits) {
    unsigned n = e % data.n;
    c[e / data.n][n / columns][n % columns] =
        data.c.type == Type::F16 ? decodeF16(bits) : fromBits<float>(bits);
  });
  for (unsigned m = 0; m < data.m; ++m)
    for (unsigned group = 0; group < data.n / columns; ++group) {
      Sums sums;
      sums.add(c[m][group]);
      addProducts(sums, a[m], b[group], data.k, false);
      for (unsigned n = 0; n < columns; ++n)
        out[m * data.n + group * columns + n] =
            data.d.type == Type::F16 ? roundedF16(sums.high[n], sums.low[n])
                                     : roundedF32(sums.high[n], sums.low[n]);
    }
  writeResult(w, i, data.d, [&](unsigned e) { return out[e]; });
}

void multiplyIntegers(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.gather(i, allLanes, mask))
    return;
  const Multiply &data = i.as<Multiply>();
  int32_t a[maxRows][maxK], b[maxK][maxRows], c[maxRows * maxRows];
  auto value = [](Type type, uint64_t bits) -> int32_t {
    return isSigned(type) ? static_cast<int8_t>(bits)
                          : static_cast<int32_t>(bits);
  };
  forElements(w, i, data.a, [&](unsigned e, uint64_t bits) {
    a[e / data.k][e % data.k] = value(data.a.type, bits);
  });
  forElements(w, i, data.b, [&](unsigned e, uint64_t bits) {
    b[e / data.n][e % data.n] = value(data.b.type, bits);
  });
  forElements(w, i, data.c, [&](unsigned e, uint64_t bits) {
    c[e] = fromBits<int32_t>(bits);
  });
  writeResult(w, i, data.d, [&](unsigned e) {
    int64_t sum = c[e];
    for (unsigned k = 0; k < data.k; ++k)
      sum += int64_t(a[e / data.n][k]) * b[k][e % data.n];
    if (data.saturates)
      sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
    return static_cast<uint32_t>(sum);
  });
}

/// Products are added by fused multiply-adds in the order of k.
void multiplyDoubles(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.gather(i, allLanes, mask))
    return;
  const Multiply &data = i.as<Multiply>();
  double a[8][4], b[4][8], c[64];
  forElements(w, i, data.a, [&](unsigned e, uint64_t bits) {
    a[e / 4][e % 4] = fromBits<double>(bits);
  });
  forElements(w, i, data.b, [&](unsigned e, uint64_t bits) {
    b[e / 8][e % 8] = fromBits<double>(bits);
  });
  forElements(w, i, data.c, [&](unsigned e, uint64_t bits) {
    c[e] = fromBits<double>(bits);
  });
  writeResult(w, i, data.d, [&](unsigned e) {
    double sum = c[e];
    for (unsigned k = 0; k < 4; ++k)
      sum = std::fma(a[e / 8][k], b[k][e % 8], sum);
    return toBits(sum);
  });
}

bool decodeShape(Decoder &d, unsigned &m, unsigned &n, unsigned &k) {
  for (const std::string &part : d.in().parts)
    if (std::sscanf(part.c_str(), "m%un%uk%u", &m, &n, &k) == 3)
      return true;
  return d.fail("expects a shape such as .m16n16k16");
}

/// The side 'a', 'b' or 'c' (also d) of a product, if there is such a thing.
bool makeFragment(Decoder &d, char side, Type type, unsigned m, unsigned n,
                  unsigned k, Fragment &f) {
  f.rows = side == 'b' ? k : m;
  f.columns = side == 'a' ? k : n;
  f.type = type;
  bool isSum = side == 'c';
  bool wide = m * n == 256 && (m == 8 || m == 16 || m == 32) && k == 16;
  bool good = type == Type::F16    ? wide
              : type == Type::F64  ? m == 8 && n == 8 && k == 4
              : type == Type::TF32 ? !isSum && m == 16 && n == 16 && k == 8
              : type == Type::F32
                  ? isSum && (wide || (m == 16 && n == 16 && k == 8))
              : type == Type::S32 ? isSum && wide
              : type == Type::BF16 || type == Type::S8 || type == Type::U8
                  ? !isSum && wide
                  : false;
  if (!good)
    return d.unsupported("combination of shape and type");
  f.registers = type == Type::F16 && !isSum
                    ? 8
                    : f.rows * f.columns / 32 / f.perRegister();
  return true;
}

bool checkRegisters(Decoder &d, const Fragment &f, size_t got) {
  return got == f.registers ||
         d.fail("expects " + std::to_string(f.registers) +
                " registers of a fragment, but got " + std::to_string(got));
}

Type registerType(const Fragment &f) {
  bool isOwn =
      f.type == Type::F32 || f.type == Type::F64 || f.type == Type::S32;
  return isOwn ? f.type : Type::B32;
}

/// wmma.load.{a,b,c} and wmma.store.d
bool decodeMove(Decoder &d, bool isStore) {
  auto move = std::make_shared<Move>();
  unsigned m = 0, n = 0, k = 0;
  char side = isStore || d.has("c") ? 'c' : d.has("a") ? 'a' : 'b';
  move->isRowMajor = d.has("row");
  if (move->isRowMajor == d.has("col"))
    return d.fail("expects one of .row and .col");
  if (!decodeShape(d, m, n, k) ||
      !makeFragment(d, side, d.type(), m, n, k, move->fragment) ||
      !d.expectOperands(2, 3))
    return false;
  Fragment &f = move->fragment;
  const Operand &registers = d.operand(isStore ? 1 : 0);
  if (!d.checkOperand(registers, registerType(f), bitWidth(registerType(f)),
                      false))
    return false;
  if (!isStore && !(d.dsts(registers) && checkRegisters(d, f, d.dstCount())))
    return false;
  if (!d.address(d.operand(isStore ? 0 : 1), 0, d.space()))
    return false;
  f.firstSource = d.srcCount();
  if (isStore && !(d.srcs(registers, registerType(f)) &&
                   checkRegisters(d, f, d.srcCount() - f.firstSource)))
    return false;
  move->hasStride = d.operandCount() == 3;
  if (move->hasStride && !(d.checkOperand(d.operand(2), Type::U32, 32, false) &&
                           d.src(2, Type::U32)))
    return false;
  d.inst.data = move;
  return d.run(isStore ? store : load);
}

bool decodeMultiply(Decoder &d) {
  auto data = std::make_shared<Multiply>();
  if (!decodeShape(d, data->m, data->n, data->k) || !d.expectOperands(4, 4))
    return false;
  // .dtype.ctype of f16 operands, or .dtype.atype.btype.ctype
  std::vector<Type> types = d.in().types();
  if (types.size() == 2)
    types = {types[0], Type::F16, Type::F16, types[1]};
  if (types.size() != 4)
    return d.fail("expects two or four types");
  Fragment *fragments[] = {&data->d, &data->a, &data->b, &data->c};
  constexpr char sides[] = {'c', 'a', 'b', 'c'};
  for (unsigned i = 0; i < 4; ++i) {
    Fragment &f = *fragments[i];
    if (!makeFragment(d, sides[i], types[i], data->m, data->n, data->k, f) ||
        !d.checkOperand(d.operand(i), registerType(f),
                        bitWidth(registerType(f)), false))
      return false;
    f.firstSource = d.srcCount();
    bool good = i == 0
                    ? d.dsts(d.operand(i)) && checkRegisters(d, f, d.dstCount())
                    : d.srcs(d.operand(i), registerType(f)) &&
                          checkRegisters(d, f, d.srcCount() - f.firstSource);
    if (!good)
      return false;
  }
  auto isByte = [](Type t) { return t == Type::S8 || t == Type::U8; };
  Type a = data->a.type, b = data->b.type, c = data->c.type, sum = data->d.type;
  bool sums = isByte(a)        ? c == Type::S32 && sum == Type::S32
              : a == Type::F64 ? c == Type::F64 && sum == Type::F64
              : a == Type::F16 ? (c == Type::F16 || c == Type::F32) &&
                                     (sum == Type::F16 || sum == Type::F32)
                               : c == Type::F32 && sum == Type::F32;
  if (!sums || !(a == b || (isByte(a) && isByte(b))))
    return d.unsupported("combination of types");
  data->saturates = d.has("satfinite");
  Handler handler = isByte(a)        ? multiplyIntegers
                    : a == Type::F64 ? multiplyDoubles
                                     : multiplyFloats;
  if (handler == multiplyFloats &&
      !(readerOf(a, false, data->readA) && readerOf(b, false, data->readB)))
    return d.unsupported("combination of types");
  d.inst.data = data;
  return d.run(handler);
}

bool decodeWmma(Decoder &d) {
  if (d.has("mma"))
    return decodeMultiply(d);
  return decodeMove(d, d.has("store"));
}
} // namespace

void addWarpMatrices(OpcodeTable &table) { table["wmma"] = decodeWmma; }

} // namespace blockscale::sim
