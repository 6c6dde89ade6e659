//===-- SmallFloats.h - Floats as bits --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Written from the PTX ISA. Values are doubles, which hold every narrower one.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_SMALLFLOATS_H
#define BLOCKSCALE_LIB_SIM_SMALLFLOATS_H

#include "Types.h"

#include <cstdint>
#include <cstring>

namespace blockscale::sim {

enum class Round : uint8_t {
  Nearest,     ///< rn: ties to even
  Zero,        ///< rz
  Down,        ///< rm
  Up,          ///< rp
  NearestAway, ///< rna
  Random,      ///< rs
};

struct FloatFormat {
  uint8_t exponentBits, mantissaBits;
  int16_t bias;
  enum Specials : uint8_t { Ieee, OnlyNan, Finite } specials;
  uint32_t nan; ///< The canonical one.

  int minExponent() const { return 1 - bias; }
  uint64_t maxFinite() const {
    uint64_t all = (uint64_t(1) << (exponentBits + mantissaBits)) - 1;
    if (specials == Ieee)
      return (((uint64_t(1) << exponentBits) - 1) << mantissaBits) - 1;
    return specials == OnlyNan ? all - 1 : all;
  }
  unsigned bits() const { return 1 + exponentBits + mantissaBits; }
};

constexpr FloatFormat formatF32 = {8, 23, 127, FloatFormat::Ieee, 0x7fffffff};
constexpr FloatFormat formatTF32 = {8, 10, 127, FloatFormat::Ieee, 0x3ffff};
constexpr FloatFormat formatF16 = {5, 10, 15, FloatFormat::Ieee, 0x7fff};
constexpr FloatFormat formatBF16 = {8, 7, 127, FloatFormat::Ieee, 0x7fff};
constexpr FloatFormat formatE4M3 = {4, 3, 7, FloatFormat::OnlyNan, 0x7f};
constexpr FloatFormat formatE5M2 = {5, 2, 15, FloatFormat::Ieee, 0x7f};
constexpr FloatFormat formatE2M3 = {2, 3, 1, FloatFormat::Finite, 0x1f};
constexpr FloatFormat formatE3M2 = {3, 2, 3, FloatFormat::Finite, 0x1f};
constexpr FloatFormat formatE2M1 = {2, 1, 1, FloatFormat::Finite, 0x7};

/// The format of a type, scalar or packed; null if it is no small float.
const FloatFormat *formatOf(Type type);

/// Rounds once. Above the range: infinity as IEEE rounding says, or with
/// `saturates` (always for formats without infinity) the largest finite value.
/// With Round::Random, `random` is a fraction of the last place, of 64 bits.
uint64_t encode(const FloatFormat &format, double value, Round round,
                bool saturates = false, uint64_t random = 0);
double decode(const FloatFormat &format, uint64_t bits);

/// Powers of two, 0xff NaN. Only Zero and Up are rounding modes.
uint8_t encodeUE8M0(double value, Round round, bool saturates);
double decodeUE8M0(uint8_t bits);

/// The double nearest to `high + low` whose last bit is sticky: rounding it to
/// at most 51 bits is rounding the sum.
double roundToOdd(double high, double low);
/// The exact error of `sum = a + b`.
inline double sumError(double a, double b, double sum) {
  double other = sum - a;
  return (a - (sum - other)) + (b - other);
}

inline double decodeF16(uint16_t bits) { return decode(formatF16, bits); }
inline float decodeBF16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_SMALLFLOATS_H
