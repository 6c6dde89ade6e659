//===-- Midrise.h - Integers without a zero ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// value = code + 1/2, two's complement: the mid-rise quantizer of QuEST. Rule
// encode_c9 in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_MIDRISE_H
#define BLOCKSCALE_NUMERICS_MIDRISE_H

#include "blockscale/Numerics/MagnitudeGrid.h"

namespace blockscale {

/// The signed code of x; the caller keeps the low bits.
template <typename B>
ValueOf<B> encodeMidrise(B &b, unsigned bits, ValueOf<B> x, Rounding rounding,
                         const OptionalValueOf<B> &random) {
  using V = ValueOf<B>;
  V zero = b.i32(0), one = b.i32(1);
  const uint32_t half = 0x80000000u;
  V xBits = b.asInt(x);
  V magnitude = b.band(xBits, b.i32(kF32MagnitudeMask));
  float max = float(1u << (bits - 1)) - 0.5f;
  V u = b.umin(magnitude, b.i32(bitsOfF32(max)));

  // |x| = whole + fraction / 2^32, the fraction zero only if |x| is whole.
  MagnitudeGrid integers{0, kF32Bias, /*binades=*/1};
  GridPosition<B> at = positionOnGrid(b, integers, u, b.i32(kF32Bias),
                                      /*zeroMatters=*/true);
  V whole = b.lshr(at.significand, b.umin(at.below, b.i32(31)));
  V fraction = discardedFraction(b, at);

  // floor(x - 1/2) and what is left of it, in 2^-32.
  V shifted = b.add(fraction, b.i32(half));
  V rounded = b.add(whole, b.lshr(fraction, b.i32(31))); // floor(|x| + 1/2)
  V negative = b.slt(xBits, zero);
  V ceiling = b.add(rounded, b.select(b.ne(shifted, zero), one, zero));
  V lower = b.select(negative, b.sub(zero, ceiling), b.sub(rounded, one));
  V rest = b.select(negative, b.sub(zero, shifted), shifted);

  V up = b.ugt(rest, b.sub(b.i32(half), b.band(lower, one)));
  switch (rounding) {
  case Rounding::NearestEven:
    break;
  case Rounding::NearestAway:
    up = b.ugt(rest, b.select(negative, b.i32(half), b.i32(half - 1)));
    break;
  case Rounding::NearestZero:
    up = b.ugt(rest, b.select(negative, b.i32(half - 1), b.i32(half)));
    break;
  case Rounding::TowardZero:
    up = b.land(negative, b.ne(rest, zero));
    break;
  case Rounding::Up:
    up = b.ne(rest, zero);
    break;
  case Rounding::Stochastic:
    assert(random && "stochastic rounding needs random bits");
    up = b.ult(*random, rest);
    break;
  }
  V code = b.add(lower, b.select(up, one, zero));
  // Between -1/2 and 1/2 nothing is nearer to zero: the sign decides.
  if (rounding == Rounding::TowardZero || rounding == Rounding::NearestZero)
    code = b.select(negative, b.smin(code, b.i32(~0u)), b.smax(code, zero));
  return b.select(b.ugt(magnitude, b.i32(kF32ExponentMask)), zero, code);
}

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_MIDRISE_H
