//===-- MatrixMultiplies.cpp - mma.sync -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fragments, for lane l, g = l / 4, t = l % 4, and e elements per register:
//   A (16 rows): register r holds row g + 8 (r % 2), k = 4 e (r / 2) + e t + j
//   A (8 rows):  register r holds row g, k = 4 e r + e t + j
//   B:           register r holds column g, k = 4 e r + e t + j
//   C, D:        element i holds row g + 8 (i / 2), column 2 t + i % 2
// Scales of A lie in lanes 2 s (rows g) and 2 s + 1 (rows g + 8) of a quad for
// thread-id s; those of B in lane s. The byte-id is the first byte used.
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Lanes.h"
#include "MatrixMath.h"

namespace blockscale::sim {

namespace {
constexpr unsigned maxK = 256;

struct Data {
  unsigned m = 16, n = 8, k = 16;
  Type a, b, c, d;
  ElementReader readA, readB;
  unsigned aRegisters = 4, bRegisters = 2;
  unsigned scales = 0; ///< Per row: 1, 2 or 4; 0 without block_scale.
  Type scaleType = Type::None;
  bool saturates = false, andPopc = false;
  // Positions among the sources.
  unsigned aAt = 0, bAt = 0, cAt = 0, scaleAAt = 0, scaleBAt = 0;
};

double decodeScale(Type type, uint8_t bits) {
  // ue4m3 has no sign; its top bit is ignored.
  return type == Type::UE8M0 ? decodeUE8M0(bits)
                             : decode(formatE4M3, bits & 0x7f);
}

unsigned rowOf(const Data &data, unsigned lane, unsigned r) {
  return data.m == 8 ? lane / 4 : lane / 4 + 8 * (r % 2);
}
unsigned kOf(const Data &data, unsigned lane, unsigned r, unsigned perRegister,
             bool isA) {
  unsigned step = isA && data.m == 16 ? r / 2 : r;
  return 4 * perRegister * step + perRegister * (lane % 4);
}

/// The selected scales of A's rows and B's columns.
bool gatherScales(Warp &w, const Inst &i, const Data &data, double (*scaleA)[4],
                  double (*scaleB)[4]) {
  for (unsigned side = 0; side < 2; ++side) {
    unsigned at = side ? data.scaleBAt : data.scaleAAt;
    const uint64_t *bytes = w.lanes(i.src(at));
    const uint64_t *byteId = w.lanes(i.src(at + 1));
    const uint64_t *threadId = w.lanes(i.src(at + 2));
    uint32_t byte = byteId[0], thread = threadId[0];
    for (unsigned l = 1; l < 32; ++l)
      if (byteId[l] != byte || threadId[l] != thread) {
        w.fault(Fault::BadOperand, i, l,
                "expects the same byte-id and thread-id in all lanes");
        return false;
      }
    unsigned threads = side ? 4 : 2;
    bool goodByte = data.scales == 1   ? byte < 4
                    : data.scales == 2 ? byte == 0 || byte == 2
                                       : byte == 0;
    if (!goodByte || thread >= threads) {
      w.fault(Fault::BadOperand, i, 0,
              "expects a byte-id and thread-id that this scale vector allows, "
              "but got {" +
                  std::to_string(byte) + ", " + std::to_string(thread) + "}");
      return false;
    }
    for (unsigned g = 0; g < 8; ++g)
      for (unsigned half = 0; half < (side ? 1u : 2u); ++half) {
        unsigned lane = 4 * g + (side ? thread : 2 * thread + half);
        for (unsigned s = 0; s < data.scales; ++s) {
          uint8_t code = bytes[lane] >> (8 * (byte + s));
          double value = decodeScale(data.scaleType, code);
          if (side)
            scaleB[g][s] = value;
          else
            scaleA[g + 8 * half][s] = value;
        }
      }
  }
  return true;
}

void multiplyFloats(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.gather(i, allLanes, mask))
    return;
  const Data &data = i.as<Data>();
  float a[16][maxK];
  float b[maxK][columns];
  unsigned perA = 32 / data.readA.bits, perB = 32 / data.readB.bits;
  for (unsigned r = 0; r < data.aRegisters; ++r) {
    const uint64_t *source = w.lanes(i.src(data.aAt + r));
    for (unsigned l = 0; l < 32; ++l) {
      float *row = &a[rowOf(data, l, r)][kOf(data, l, r, perA, true)];
      for (unsigned j = 0; j < perA; ++j)
        row[j] = data.readA.at(source[l], j);
    }
  }
  for (unsigned r = 0; r < data.bRegisters; ++r) {
    const uint64_t *source = w.lanes(i.src(data.bAt + r));
    for (unsigned l = 0; l < 32; ++l) {
      unsigned first = kOf(data, l, r, perB, false);
      for (unsigned j = 0; j < perB; ++j)
        b[first + j][l / 4] = data.readB.at(source[l], j);
    }
  }
  double scaleA[16][4], scaleB[8][4];
  if (data.scales && !gatherScales(w, i, data, scaleA, scaleB))
    return;
  const bool exact = data.readA.exactDots && data.readB.exactDots;
  uint32_t out[16][columns];
  const bool halfC = data.c == Type::F16, halfD = data.d == Type::F16;
  for (unsigned m = 0; m < data.m; ++m) {
    Sums sums;
    double c[columns];
    for (unsigned n = 0; n < columns; ++n) {
      unsigned lane = (m % 8) * 4 + n / 2, element = 2 * (m / 8) + n % 2;
      if (halfC) {
        uint64_t pair = w.lanes(i.src(data.cAt + element / 2))[lane];
        c[n] = decodeF16(pair >> (16 * (element % 2)));
      } else {
        c[n] = fromBits<float>(w.lanes(i.src(data.cAt + element))[lane]);
      }
    }
    sums.add(c);
    if (data.scales) {
      unsigned length = data.k / data.scales;
      for (unsigned s = 0; s < data.scales; ++s) {
        double scale[columns];
        for (unsigned n = 0; n < columns; ++n)
          scale[n] = scaleA[m][s] * scaleB[n][s];
        addProducts(sums, a[m] + s * length, b + s * length, length, exact,
                    scale);
      }
    } else {
      addProducts(sums, a[m], b, data.k, exact);
    }
    for (unsigned n = 0; n < columns; ++n)
      out[m][n] = halfD ? roundedF16(sums.high[n], sums.low[n])
                        : roundedF32(sums.high[n], sums.low[n]);
  }
  for (unsigned k = 0; k < i.dsts; ++k) {
    uint64_t *d = w.lanes(i.dst(k));
    for (unsigned l = 0; l < 32; ++l) {
      unsigned row = l / 4, column = 2 * (l % 4);
      if (halfD)
        d[l] = out[row + 8 * k][column] | out[row + 8 * k][column + 1] << 16;
      else
        d[l] = out[row + 8 * (k / 2)][column + k % 2];
    }
  }
}

/// Integers of 8, 4 or 1 bits.
void multiplyIntegers(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.gather(i, allLanes, mask))
    return;
  const Data &data = i.as<Data>();
  int32_t a[16][maxK], b[columns][maxK];
  unsigned bits = bitWidth(data.a), per = 32 / bits;
  auto element = [bits](uint64_t source, unsigned j, Type type) {
    uint32_t code = source >> (bits * j) & ((1u << bits) - 1);
    if (isSigned(type) && (code >> (bits - 1)))
      return static_cast<int32_t>(code) - (1 << bits);
    return static_cast<int32_t>(code);
  };
  for (unsigned r = 0; r < data.aRegisters; ++r) {
    const uint64_t *source = w.lanes(i.src(data.aAt + r));
    for (unsigned l = 0; l < 32; ++l)
      for (unsigned j = 0; j < per; ++j)
        a[rowOf(data, l, r)][kOf(data, l, r, per, true) + j] =
            element(source[l], j, data.a);
  }
  for (unsigned r = 0; r < data.bRegisters; ++r) {
    const uint64_t *source = w.lanes(i.src(data.bAt + r));
    for (unsigned l = 0; l < 32; ++l)
      for (unsigned j = 0; j < per; ++j)
        b[l / 4][kOf(data, l, r, per, false) + j] =
            element(source[l], j, data.b);
  }
  uint32_t out[16][columns];
  for (unsigned m = 0; m < data.m; ++m)
    for (unsigned n = 0; n < columns; ++n) {
      unsigned lane = (m % 8) * 4 + n / 2, k = 2 * (m / 8) + n % 2;
      int64_t sum = fromBits<int32_t>(w.lanes(i.src(data.cAt + k))[lane]);
      if (data.a == Type::B1)
        for (unsigned k = 0; k < data.k; ++k)
          sum += data.andPopc ? a[m][k] & b[n][k] : a[m][k] ^ b[n][k];
      else
        for (unsigned k = 0; k < data.k; ++k)
          sum += int64_t(a[m][k]) * b[n][k];
      if (data.saturates)
        sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      out[m][n] = static_cast<uint32_t>(sum);
    }
  for (unsigned k = 0; k < i.dsts; ++k) {
    uint64_t *d = w.lanes(i.dst(k));
    for (unsigned l = 0; l < 32; ++l)
      d[l] = out[l / 4 + 8 * (k / 2)][2 * (l % 4) + k % 2];
  }
}

/// f64: products are added by fused multiply-adds in the order of k.
void multiplyDoubles(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.gather(i, allLanes, mask))
    return;
  const Data &data = i.as<Data>();
  double a[16][16], b[columns][16], out[16][columns];
  for (unsigned r = 0; r < data.aRegisters; ++r)
    for (unsigned l = 0; l < 32; ++l)
      a[rowOf(data, l, r)][kOf(data, l, r, 1, true)] =
          fromBits<double>(w.lanes(i.src(data.aAt + r))[l]);
  for (unsigned r = 0; r < data.bRegisters; ++r)
    for (unsigned l = 0; l < 32; ++l)
      b[l / 4][kOf(data, l, r, 1, false)] =
          fromBits<double>(w.lanes(i.src(data.bAt + r))[l]);
  for (unsigned m = 0; m < data.m; ++m)
    for (unsigned n = 0; n < columns; ++n) {
      unsigned lane = (m % 8) * 4 + n / 2, k = 2 * (m / 8) + n % 2;
      double sum = fromBits<double>(w.lanes(i.src(data.cAt + k))[lane]);
      for (unsigned k = 0; k < data.k; ++k)
        sum = std::fma(a[m][k], b[n][k], sum);
      out[m][n] = sum;
    }
  for (unsigned k = 0; k < i.dsts; ++k)
    for (unsigned l = 0; l < 32; ++l)
      w.lanes(i.dst(k))[l] =
          toBits(out[l / 4 + 8 * (k / 2)][2 * (l % 4) + k % 2]);
}

bool decodeScales(Decoder &d, Data &data, size_t at, unsigned &source) {
  source = d.srcCount();
  if (!d.src(at, Type::B32))
    return false;
  const Operand &ids = d.operand(at + 1);
  if (ids.kind != Operand::Vector || ids.elements.size() != 2)
    return d.fail("expects {byte-id, thread-id}");
  (void)data;
  return d.srcs(ids, Type::U16);
}

bool decodeMma(Decoder &d) {
  auto data = std::make_shared<Data>();
  if (d.has("sp") || d.has("sp::ordered_metadata"))
    return d.unsupported("sparse matrix multiply");
  bool shaped = false;
  for (const std::string &part : d.in().parts)
    shaped |= std::sscanf(part.c_str(), "m%un%uk%u", &data->m, &data->n,
                          &data->k) == 3;
  if (!shaped || data->n != 8 || (data->m != 8 && data->m != 16) ||
      data->k > maxK)
    return d.unsupported("shape");
  std::vector<Type> types = d.in().types();
  if (types.size() < 4)
    return d.fail("expects four types");
  data->d = types[0];
  data->a = types[1];
  data->b = types[2];
  data->c = types[3];
  if (!d.has("row") || !d.has("col"))
    return d.unsupported("layout");
  bool isDouble = data->a == Type::F64;
  bool isInteger = data->d == Type::S32;
  bool wide = d.has("kind::f8f6f4") || d.has("kind::mxf8f6f4");
  unsigned bitsA = isDouble ? 64 : bitWidth(data->a), bitsB = bitsA;
  Handler handler = isInteger ? multiplyIntegers : multiplyDoubles;
  if (!isDouble && !isInteger) {
    if (!readerOf(data->a, wide, data->readA) ||
        !readerOf(data->b, wide, data->readB))
      return d.unsupported("pair of types");
    if (data->m == 8)
      return d.unsupported("shape"); // m8n8k4 of f16
    bitsA = data->readA.bits;
    bitsB = data->readB.bits;
    handler = multiplyFloats;
  } else if (isDouble && data->k > 16) {
    return d.unsupported("shape");
  }
  data->saturates = d.has("satfinite");
  data->andPopc = d.has("and");
  unsigned laneBits = isDouble ? 64 : 32;
  data->aRegisters = data->m * data->k * bitsA / laneBits / 32;
  data->bRegisters = 8 * data->k * bitsB / laneBits / 32;
  if (!d.expectOperands(4, 8) || !d.dsts(d.operand(0)))
    return false;
  Type registers = isDouble ? Type::F64 : Type::B32;
  data->aAt = d.srcCount();
  if (!d.srcs(d.operand(1), registers))
    return false;
  data->bAt = d.srcCount();
  if (!d.srcs(d.operand(2), registers))
    return false;
  data->cAt = d.srcCount();
  if (!d.srcs(d.operand(3), isDouble               ? Type::F64
                            : data->c == Type::F32 ? Type::F32
                                                   : Type::B32))
    return false;
  size_t cRegisters = data->m * 8 / 32 / (data->c == Type::F16 ? 2 : 1);
  size_t dRegisters = data->m * 8 / 32 / (data->d == Type::F16 ? 2 : 1);
  if (data->bAt - data->aAt != data->aRegisters ||
      data->cAt - data->bAt != data->bRegisters ||
      d.srcCount() - data->cAt != cRegisters || d.dstCount() != dRegisters)
    return d.fail("expects " + std::to_string(dRegisters) + ", " +
                  std::to_string(data->aRegisters) + ", " +
                  std::to_string(data->bRegisters) + " and " +
                  std::to_string(cRegisters) + " registers");
  if (d.has("block_scale")) {
    data->scaleType = types.size() > 4 ? types[4] : Type::None;
    bool fp4 = d.has("kind::mxf4nvf4") || d.has("kind::mxf4");
    data->scales = d.has("scale_vec::4X")   ? 4
                   : d.has("scale_vec::2X") ? 2
                   : d.has("scale_vec::1X") ? 1
                   : fp4                    ? 2
                                            : 1;
    bool good = fp4 ? data->k == 64 && data->scales >= 2
                    : data->k == 32 && data->scales == 1;
    good &= data->scaleType == Type::UE8M0 ||
            (data->scaleType == Type::UE4M3 && d.has("kind::mxf4nvf4") &&
             data->scales == 4);
    if (!good)
      return d.unsupported("combination of kind, shape and scales");
    if (!d.expectOperands(8, 8) || !decodeScales(d, *data, 4, data->scaleAAt) ||
        !decodeScales(d, *data, 6, data->scaleBAt))
      return false;
  } else if (!d.expectOperands(4, 4)) {
    return false;
  }
  d.inst.data = data;
  return d.run(handler);
}
} // namespace

void addMatrixMultiplies(OpcodeTable &table) { table["mma"] = decodeMma; }

} // namespace blockscale::sim
