//===-- Codebook.h - Elements that index sixteen values ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code is the number of thresholds below x, as in bitsandbytes. Rules
// encode_c12 and decode_c6 in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_CODEBOOK_H
#define BLOCKSCALE_NUMERICS_CODEBOOK_H

#include "blockscale/Numerics/ScaleRule.h"
#include "blockscale/Numerics/ValueBuilder.h"

#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

namespace blockscale {

using CodebookValues = std::array<float, 16>;

/// The largest t_i for which x > t_i means that x belongs above value i. A tie
/// takes the lower code, in every nearest rounding.
inline std::array<float, 15> codebookThresholds(const CodebookValues &values,
                                                Rounding rounding) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::array<float, 15> thresholds;
  for (unsigned i = 0; i < 15; ++i) {
    float low = values[i], high = values[i + 1];
    if (rounding == Rounding::TowardZero) {
      thresholds[i] = std::fabs(high) < std::fabs(low)
                          ? low
                          : std::nextafter(high, -infinity);
      continue;
    }
    if (rounding == Rounding::Up) {
      thresholds[i] = low;
      continue;
    }
    // Exact in double; the f32 below it separates the same f32 inputs.
    double middle = (double(low) + double(high)) / 2;
    float nearest = float(middle);
    thresholds[i] = double(nearest) <= middle
                        ? nearest
                        : std::nextafter(nearest, -infinity);
  }
  return thresholds;
}

/// Entry `code` of `values`, a power of two of them: a tree of selects.
template <typename B>
ValueOf<B> lookUp(B &b, const std::vector<float> &values, ValueOf<B> code) {
  using V = ValueOf<B>;
  std::vector<V> level;
  for (float value : values)
    level.push_back(b.f32(value));
  for (unsigned bit = 0; level.size() > 1; ++bit) {
    V isSet = b.ne(b.band(code, b.i32(1u << bit)), b.i32(0));
    std::vector<V> next;
    for (size_t i = 0; i < level.size(); i += 2)
      next.push_back(b.select(isSet, level[i + 1], level[i]));
    level = std::move(next);
  }
  return level.front();
}

template <typename B>
ValueOf<B> decodeCodebook(B &b, const CodebookValues &values, ValueOf<B> code) {
  return lookUp(b, {values.begin(), values.end()}, code);
}

template <typename B>
ValueOf<B> encodeCodebook(B &b, const CodebookValues &values, ValueOf<B> x,
                          Rounding rounding, const OptionalValueOf<B> &random) {
  using V = ValueOf<B>;
  V one = b.i32(1), none = b.i32(0);
  auto countAbove = [&](const std::array<float, 15> &thresholds) {
    V count = none;
    for (float threshold : thresholds)
      count = b.add(count, b.select(b.fgt(x, b.f32(threshold)), one, none));
    return count;
  };
  std::array<float, 15> nearest =
      codebookThresholds(values, Rounding::NearestEven);
  V code = none;
  if (rounding == Rounding::Stochastic) {
    assert(random && "stochastic rounding needs random bits");
    // The neighbour below x, at most value 14, and the distance to the next.
    std::array<float, 15> starts;
    std::vector<float> lows(16), gaps(16);
    for (unsigned i = 0; i < 15; ++i) {
      starts[i] = std::nextafter(values[i + 1],
                                 -std::numeric_limits<float>::infinity());
      lows[i] = values[i];
      gaps[i] = values[i + 1] - values[i];
    }
    V lower = b.umin(countAbove(starts), b.i32(14));
    lows[15] = lows[14];
    gaps[15] = gaps[14];
    V fraction =
        b.fdiv(b.fsub(x, lookUp(b, lows, lower)), lookUp(b, gaps, lower));
    V drawn = b.fmul(b.toFloat(b.lshr(*random, b.i32(8))), b.f32(0x1p-24f));
    code = b.add(lower, b.select(b.flt(drawn, fraction), one, none));
  } else {
    code = countAbove(codebookThresholds(values, rounding));
  }
  uint32_t zeroCode = 0;
  for (float threshold : nearest)
    zeroCode += 0.0f > threshold;
  V magnitude = b.band(b.asInt(x), b.i32(kF32MagnitudeMask));
  return b.select(b.ugt(magnitude, b.i32(kF32ExponentMask)), b.i32(zeroCode),
                  code);
}

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_CODEBOOK_H
