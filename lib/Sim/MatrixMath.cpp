//===-- MatrixMath.cpp - Sums of products, rounded once ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "MatrixMath.h"

#include <array>

namespace blockscale::sim {

namespace {
using Table = std::array<float, 256>;
Table makeTable(const FloatFormat &format) {
  Table table = {};
  for (unsigned code = 0; code < 256; ++code)
    table[code] = static_cast<float>(decode(format, code));
  return table;
}
const float *tableOf(Type type) {
  static const Table e4m3 = makeTable(formatE4M3), e5m2 = makeTable(formatE5M2),
                     e2m3 = makeTable(formatE2M3), e3m2 = makeTable(formatE3M2),
                     e2m1 = makeTable(formatE2M1);
  switch (type) {
  case Type::E4M3:
    return e4m3.data();
  case Type::E5M2:
    return e5m2.data();
  case Type::E2M3:
    return e2m3.data();
  case Type::E3M2:
    return e3m2.data();
  case Type::E2M1:
    return e2m1.data();
  default:
    return nullptr;
  }
}

float fromF16(uint32_t bits) {
  uint32_t magnitude = bits & 0x7fff, sign = (bits & 0x8000) << 16;
  uint32_t wide;
  if (magnitude >= 0x7c00)
    wide = 0x7f800000 | (magnitude & 0x3ff) << 13;
  else
    wide = magnitude << 13;
  float value;
  std::memcpy(&value, &wide, 4);
  if (magnitude < 0x7c00) {
    value *= 0x1p112f; // Moves the exponent; subnormals become normal.
    std::memcpy(&wide, &value, 4);
  }
  wide |= sign;
  std::memcpy(&value, &wide, 4);
  return value;
}
} // namespace

float ElementReader::read(uint32_t container) const {
  if (table)
    return table[container >> shift & ((1u << codeBits) - 1)];
  switch (type) {
  case Type::F16:
    return fromF16(container);
  case Type::BF16:
    return decodeBF16(container);
  default: { // tf32: the low 13 bits are not looked at.
    uint32_t bits = container & 0xffffe000;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  }
}

bool readerOf(Type type, bool wideContainers, ElementReader &reader) {
  reader.type = type;
  reader.table = tableOf(type);
  switch (type) {
  case Type::F16:
  case Type::BF16:
    reader.bits = 16;
    return true;
  case Type::TF32:
  case Type::B32:
    reader.bits = 32;
    return true;
  case Type::E4M3:
    reader.exactDots = true;
    return true;
  case Type::E5M2:
    return true;
  case Type::E2M3:
  case Type::E3M2:
    reader.exactDots = true;
    reader.codeBits = 6;
    return wideContainers;
  case Type::E2M1:
    reader.exactDots = true;
    reader.codeBits = 4;
    reader.bits = wideContainers ? 8 : 4;
    // In a byte, between two bits of padding on each side.
    reader.shift = wideContainers ? 2 : 0;
    return true;
  default:
    return false;
  }
}

void addProducts(Sums &sums, const float *a, const float (*b)[columns],
                 unsigned count, bool exact, const double *scale) {
  Sums part;
  if (exact) {
    for (unsigned k = 0; k < count; ++k)
      for (unsigned n = 0; n < columns; ++n)
        part.high[n] += static_cast<double>(a[k]) * b[k][n];
  } else {
    for (unsigned k = 0; k < count; ++k) {
      double products[columns];
      for (unsigned n = 0; n < columns; ++n)
        products[n] = static_cast<double>(a[k]) * b[k][n];
      part.add(products);
    }
  }
  if (scale)
    for (unsigned n = 0; n < columns; ++n) {
      part.high[n] *= scale[n];
      part.low[n] *= scale[n];
    }
  sums.add(part.high);
  for (unsigned n = 0; n < columns; ++n)
    sums.low[n] += part.low[n];
}

/// One double with a sticky last bit.
static double sticky(double high, double low) {
  if (!std::isfinite(high))
    return high;
  double sum = high + low;
  return roundToOdd(sum, sumError(high, low, sum));
}

uint32_t roundedF32(double high, double low) {
  float value = static_cast<float>(sticky(high, low));
  if (value != value)
    return formatF32.nan;
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

uint16_t roundedF16(double high, double low) {
  return encode(formatF16, sticky(high, low), Round::Nearest);
}

} // namespace blockscale::sim
