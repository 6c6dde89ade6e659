//===-- MagnitudeGrid.h - Rounding a magnitude to a grid --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rounding step shared by floats and integers. Rules encode_c2 to encode_c5
// in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_MAGNITUDEGRID_H
#define BLOCKSCALE_NUMERICS_MAGNITUDEGRID_H

#include "blockscale/Numerics/ScaleRule.h"
#include "blockscale/Numerics/ValueBuilder.h"

#include <cassert>

namespace blockscale {

/// Multiples of 2^(E - mantissaBits) for every binade E from the smallest up.
struct MagnitudeGrid {
  unsigned mantissaBits;
  /// The smallest E, plus 127. At least 64, so that an f32 subnormal is below
  /// 2^-32 steps and only whether it is zero can matter.
  unsigned minBiasedExponent;
  /// Binades from the smallest up to that of the largest magnitude.
  unsigned binades;

  bool oneBinade() const { return binades == 1; }
};

/// Binades up to which codes are rounded once for each of them.
constexpr unsigned kFewBinades = 3;

/// The code of a magnitude on a grid of few binades, to nearest even.
///
/// As a function of the magnitude the code, not yet rounded, is a line in each
/// binade: |x| / step + (binade << mantissaBits). Lines of higher binades are
/// flatter and meet the one before at its end, so the code is the least of all
/// lines. Rounding is monotonic: each line is rounded by itself, by the f32
/// adder, whose ulp is 1 beside 2^23, and ties go to the even code.
template <typename B>
ValueOf<B> nearestOfFewBinades(B &b, const MagnitudeGrid &grid, ValueOf<B> u) {
  using V = ValueOf<B>;
  const uint32_t magic = (kF32Bias + kF32MantissaBits) << kF32MantissaBits;
  OptionalValueOf<B> least;
  for (unsigned binade = 0; binade < grid.binades; ++binade) {
    uint32_t perStep = kF32Bias + kF32Bias + grid.mantissaBits -
                       grid.minBiasedExponent - binade;
    V line = b.asInt(
        b.fmuladd(b.asFloat(u), b.f32(f32OfBits(perStep << kF32MantissaBits)),
                  b.f32(f32OfBits(magic + (binade << grid.mantissaBits)))));
    least = least ? b.umin(*least, line) : line;
  }
  return b.sub(*least, b.i32(magic));
}

/// How many bits of the significand lie below the grid's step, and the
/// significand. `u` holds f32 bits of a finite magnitude.
template <typename B> struct GridPosition {
  ValueOf<B> significand; ///< 24 bits; of an f32 subnormal, not zero.
  ValueOf<B> below;       ///< May exceed 32.
};

/// The discarded fraction of significand / 2^below, times 2^32, rounded up:
/// zero only if nothing is discarded (encode_c5).
template <typename B>
ValueOf<B> discardedFraction(B &b, const GridPosition<B> &at) {
  using V = ValueOf<B>;
  V thirtyTwo = b.i32(32);
  V left = b.sub(thirtyTwo, b.umin(at.below, thirtyTwo));
  // 2^-25 of a step and less all round up to 2^-32 of a step.
  V right = b.umin(b.sub(b.umax(at.below, thirtyTwo), thirtyTwo), b.i32(25));
  V ceiling = b.sub(b.shl(b.i32(1), right), b.i32(1));
  return b.lshr(b.add(b.shl(at.significand, left), ceiling), right);
}

/// The position of the f32 magnitude `u` on the grid; `exponent` is E + 127.
/// Where `zeroMatters` is false, zero may be taken for the smallest magnitude.
template <typename B>
GridPosition<B> positionOnGrid(B &b, const MagnitudeGrid &grid, ValueOf<B> u,
                               ValueOf<B> exponent, bool zeroMatters) {
  using V = ValueOf<B>;
  V significand =
      b.bor(b.band(u, b.i32(kF32MantissaMask)), b.i32(kF32HiddenBit));
  if (zeroMatters)
    significand = b.select(b.eq(u, b.i32(0)), b.i32(0), significand);
  V below = b.sub(b.add(exponent, b.i32(kF32MantissaBits - grid.mantissaBits)),
                  b.lshr(u, b.i32(kF32MantissaBits)));
  return {significand, below};
}

/// The code of a magnitude, whose f32 bits `u` are at most those of the grid's
/// largest value.
template <typename B>
ValueOf<B> roundToGrid(B &b, const MagnitudeGrid &grid, ValueOf<B> u,
                       Rounding rounding, const OptionalValueOf<B> &random) {
  using V = ValueOf<B>;
  const unsigned m = grid.mantissaBits;
  const unsigned drop = kF32MantissaBits - m;
  const uint32_t minExponent = grid.minBiasedExponent;
  assert(minExponent >= 64 && "f32 subnormals would need their own treatment");

  if (rounding == Rounding::NearestEven && grid.binades <= kFewBinades)
    return nearestOfFewBinades(b, grid, u);
  // Adding 2^(E + 23 - m) lets the f32 adder round to the step: its sum lies in
  // a binade whose ulp is the step. The parity of the sum is that of the code
  // as long as (E - Emin) << m is even.
  if (rounding == Rounding::NearestEven && m > 0) {
    V binade = b.umax(b.band(u, b.i32(kF32ExponentMask)),
                      b.i32(minExponent << kF32MantissaBits));
    V magic = b.add(binade, b.i32(drop << kF32MantissaBits));
    V sum = b.fadd(b.asFloat(u), b.asFloat(magic));
    V steps = b.sub(b.asInt(sum), magic);
    return b.add(steps,
                 b.sub(b.lshr(binade, b.i32(drop)), b.i32(minExponent << m)));
  }

  bool zeroMatters =
      rounding == Rounding::Up || rounding == Rounding::Stochastic;
  V exponent = grid.oneBinade() ? b.i32(minExponent)
                                : b.umax(b.lshr(u, b.i32(kF32MantissaBits)),
                                         b.i32(minExponent));
  GridPosition<B> at = positionOnGrid(b, grid, u, exponent, zeroMatters);
  // 31 keeps no bit of a 24-bit significand, and its half is out of reach.
  V below = b.umin(at.below, b.i32(31));
  V base = b.i32(0);
  if (!grid.oneBinade())
    base = b.shl(b.sub(exponent, b.i32(minExponent)), b.i32(m));
  auto codeOf = [&](V significand) {
    V steps = b.lshr(significand, below);
    return grid.oneBinade() ? steps : b.add(base, steps);
  };
  auto half = [&] { return b.lshr(b.shl(b.i32(1), below), b.i32(1)); };

  switch (rounding) {
  case Rounding::TowardZero:
    return codeOf(at.significand);
  case Rounding::NearestEven: {
    V odd = b.band(codeOf(at.significand), b.i32(1));
    return codeOf(b.add(at.significand, b.add(b.sub(half(), b.i32(1)), odd)));
  }
  case Rounding::NearestAway:
    return codeOf(b.add(at.significand, half()));
  case Rounding::NearestZero:
    return codeOf(b.add(at.significand, b.sub(half(), b.i32(1))));
  case Rounding::Up:
    return codeOf(
        b.add(at.significand, b.sub(b.shl(b.i32(1), below), b.i32(1))));
  case Rounding::Stochastic: {
    assert(random && "stochastic rounding needs random bits");
    V up = b.ult(*random, discardedFraction(b, at));
    return b.add(codeOf(at.significand), b.select(up, b.i32(1), b.i32(0)));
  }
  }
  return base;
}

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_MAGNITUDEGRID_H
