//===-- SmallFloats.cpp - Floats as bits ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "SmallFloats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace blockscale::sim {

const FloatFormat *formatOf(Type type) {
  switch (type) {
  case Type::F32:
  case Type::F32x2:
    return &formatF32;
  case Type::TF32:
    return &formatTF32;
  case Type::F16:
  case Type::F16x2:
    return &formatF16;
  case Type::BF16:
  case Type::BF16x2:
    return &formatBF16;
  case Type::E4M3:
  case Type::UE4M3:
  case Type::E4M3x2:
  case Type::E4M3x4:
    return &formatE4M3;
  case Type::E5M2:
  case Type::E5M2x2:
  case Type::E5M2x4:
    return &formatE5M2;
  case Type::E2M3:
  case Type::E2M3x2:
  case Type::E2M3x4:
    return &formatE2M3;
  case Type::E3M2:
  case Type::E3M2x2:
  case Type::E3M2x4:
    return &formatE3M2;
  case Type::E2M1:
  case Type::E2M1x2:
  case Type::E2M1x4:
    return &formatE2M1;
  default:
    return nullptr;
  }
}

uint64_t encode(const FloatFormat &format, double value, Round round,
                bool saturates, uint64_t random) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  const bool negative = bits >> 63;
  const uint64_t sign = uint64_t(negative) << (format.bits() - 1);
  if (std::isnan(value))
    return format.nan;
  const uint64_t top = format.maxFinite();
  const uint64_t infinity = top + 1; // IEEE formats only.
  const bool clamps = saturates || format.specials != FloatFormat::Ieee;
  if (std::isinf(value))
    return sign | (clamps ? top : infinity);
  uint64_t significand = bits & ((uint64_t(1) << 52) - 1);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  if (exponent == -1023)
    exponent = -1022;
  else
    significand |= uint64_t(1) << 52;
  if (significand == 0)
    return sign;
  while (!(significand >> 52)) {
    significand <<= 1;
    --exponent;
  }
  // The last place kept has weight 2^(at - mantissaBits).
  const int at = std::max(exponent, format.minExponent());
  int shift = 52 - format.mantissaBits + (at - exponent);
  if (shift > 62) { // Less than half of the last place.
    significand = 1;
    shift = 62;
  }
  uint64_t kept = significand >> shift;
  const uint64_t rest = significand & ((uint64_t(1) << shift) - 1);
  const uint64_t half = uint64_t(1) << (shift - 1);
  switch (round) {
  case Round::Nearest:
    kept += rest > half || (rest == half && (kept & 1));
    break;
  case Round::NearestAway:
    kept += rest >= half;
    break;
  case Round::Zero:
    break;
  case Round::Down:
    kept += rest && negative;
    break;
  case Round::Up:
    kept += rest && !negative;
    break;
  case Round::Random:
    kept += (static_cast<unsigned __int128>(rest) + (random >> (64 - shift))) >>
            shift;
    break;
  }
  uint64_t code = (static_cast<uint64_t>(at - format.minExponent())
                   << format.mantissaBits) +
                  kept;
  if (code > top) {
    bool towardsZero =
        round == Round::Zero || (round == Round::Down && !negative) ||
        (round == Round::Up && negative) || round == Round::Random;
    code = clamps || towardsZero ? top : infinity;
  }
  return sign | code;
}

double decode(const FloatFormat &format, uint64_t bits) {
  const uint64_t magnitude = bits & ((uint64_t(1) << (format.bits() - 1)) - 1);
  const bool negative = bits >> (format.bits() - 1) & 1;
  double value;
  if (magnitude > format.maxFinite()) {
    bool isInfinite = format.specials == FloatFormat::Ieee &&
                      magnitude == format.maxFinite() + 1;
    value = isInfinite ? std::numeric_limits<double>::infinity()
                       : std::numeric_limits<double>::quiet_NaN();
  } else {
    int exponent = static_cast<int>(magnitude >> format.mantissaBits);
    uint64_t mantissa = magnitude & ((uint64_t(1) << format.mantissaBits) - 1);
    if (exponent)
      mantissa |= uint64_t(1) << format.mantissaBits;
    value =
        std::ldexp(static_cast<double>(mantissa),
                   std::max(exponent, 1) - format.bias - format.mantissaBits);
  }
  return negative ? -value : value;
}

uint8_t encodeUE8M0(double value, Round round, bool saturates) {
  if (std::isnan(value))
    return 0xff;
  value = std::fabs(value);
  if (std::isinf(value))
    return saturates ? 0xfe : 0xff;
  int exponent = 0;
  double fraction = std::frexp(value, &exponent); // in [0.5, 1)
  if (value == 0)
    return 0;
  --exponent;
  if (round == Round::Up && fraction > 0.5)
    ++exponent;
  if (exponent > 127)
    return saturates ? 0xfe : 0xff;
  return std::max(exponent + 127, 0);
}

double decodeUE8M0(uint8_t bits) {
  if (bits == 0xff)
    return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(1.0, static_cast<int>(bits) - 127);
}

double roundToOdd(double high, double low) {
  if (low == 0 || !std::isfinite(high))
    return high;
  uint64_t bits;
  std::memcpy(&bits, &high, 8);
  // The exact sum lies between two doubles; take the odd one.
  if (!(bits & 1))
    bits += (low > 0) == (high > 0 || (high == 0 && low > 0)) ? 1 : -1;
  double value;
  std::memcpy(&value, &bits, 8);
  return value;
}

} // namespace blockscale::sim
