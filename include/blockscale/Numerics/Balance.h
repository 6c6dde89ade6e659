//===-- Balance.h - Factors that even out rows and columns ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SINQ's normalisation of a weight (Sinkhorn's iteration, on standard
// deviations). Rules balance_c* in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_BALANCE_H
#define BLOCKSCALE_NUMERICS_BALANCE_H

#include "blockscale/Numerics/ValueBuilder.h"

#include <vector>

namespace blockscale {

/// Limits of a deviation, of the change of a factor in one step, and of a
/// factor: exp(-0.3) and exp(10).
constexpr float kMinDeviation = 1e-3f, kMaxDeviation = 1e3f;
constexpr float kMinFactorStep = 0.7f, kMaxFactorStep = 2.0f;
constexpr float kMinFactor = 0.74081822f, kMaxFactor = 22026.466f;

/// f32 x between low and high; NaN stays.
template <typename B>
ValueOf<B> clampReal(B &b, ValueOf<B> x, float low, float high) {
  x = b.select(b.flt(x, b.f32(low)), b.f32(low), x);
  return b.select(b.fgt(x, b.f32(high)), b.f32(high), x);
}

/// What deviations are made equal to: little more than the smallest one
/// (balance_c2).
template <typename B> ValueOf<B> balanceTarget(B &b, ValueOf<B> smallest) {
  return b.fadd(clampReal(b, smallest, kMinDeviation, kMaxDeviation),
                b.f32(1e-6f));
}

/// The next factor of a row or column (balance_c4).
template <typename B>
ValueOf<B> nextFactor(B &b, ValueOf<B> factor, ValueOf<B> deviation,
                      ValueOf<B> target) {
  deviation = clampReal(b, deviation, kMinDeviation, kMaxDeviation);
  auto step =
      clampReal(b, b.fdiv(deviation, target), kMinFactorStep, kMaxFactorStep);
  return clampReal(b, b.fmul(factor, step), kMinFactor, kMaxFactor);
}

/// How uneven deviations are (balance_c3), from the smallest and the largest.
template <typename B>
ValueOf<B> imbalance(B &b, ValueOf<B> smallest, ValueOf<B> largest) {
  auto floor = b.f32(1e-12f);
  return b.fdiv(largest, b.select(b.flt(smallest, floor), floor, smallest));
}

namespace reference {

/// A matrix divided by the factors of its columns, and those factors.
struct Balanced {
  std::vector<float> values;
  std::vector<float> columns;
};

/// Balances tiles of all rows and `block` columns, those with the indices
/// [firstTile, lastTile); factors and values of other tiles are not written.
void balanceTiles(const float *w, int64_t rows, int64_t cols, int64_t block,
                  int64_t steps, int64_t firstTile, int64_t lastTile,
                  Balanced &result);

} // namespace reference
} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_BALANCE_H
