//===-- FloatModes.h - Modifiers of float instructions ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_FLOATMODES_H
#define BLOCKSCALE_LIB_SIM_FLOATMODES_H

#include "Decoder.h"
#include "SmallFloats.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace blockscale::sim {

/// Inst::mode: a Round in the low bits, and these.
enum FloatMode : uint64_t {
  roundMask = 7,
  ftz = 8,
  saturate = 16, ///< .sat: to [0, 1]
  nanWins = 32,
  xorSign = 64,
  relu = 128,
  satFinite = 256,
  takesAbs = 512,
};

inline Round roundOf(const Decoder &d, Round otherwise = Round::Nearest) {
  if (d.has("rn") || d.has("rni"))
    return Round::Nearest;
  if (d.has("rz") || d.has("rzi"))
    return Round::Zero;
  if (d.has("rm") || d.has("rmi"))
    return Round::Down;
  if (d.has("rp") || d.has("rpi"))
    return Round::Up;
  if (d.has("rna"))
    return Round::NearestAway;
  if (d.has("rs"))
    return Round::Random;
  return otherwise;
}

inline uint64_t floatModes(const Decoder &d) {
  uint64_t mode = static_cast<uint64_t>(roundOf(d));
  auto add = [&](std::string_view name, uint64_t bit) {
    if (d.has(name))
      mode |= bit;
  };
  add("ftz", ftz);
  add("sat", saturate);
  add("NaN", nanWins);
  add("xorsign", xorSign);
  add("relu", relu);
  add("satfinite", satFinite);
  add("abs", takesAbs);
  return mode;
}

inline float flush(float x) {
  return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x;
}
inline float canonical(float x) {
  if (x == x)
    return x;
  uint32_t bits = formatF32.nan;
  std::memcpy(&x, &bits, 4);
  return x;
}

/// PTX min and max of values of one format: NaN loses, -0 < +0.
template <class T> T minMax(T a, T b, bool isMax, uint64_t mode) {
  bool negative = std::signbit(a) != std::signbit(b);
  if (mode & xorSign)
    a = std::fabs(a), b = std::fabs(b);
  T result;
  if (std::isnan(a) || std::isnan(b)) {
    if ((mode & nanWins) || (std::isnan(a) && std::isnan(b)))
      return std::numeric_limits<T>::quiet_NaN();
    result = std::isnan(a) ? b : a;
  } else if (a == b) {
    result = isMax == std::signbit(a) ? b : a;
  } else {
    result = (a > b) == isMax ? a : b;
  }
  if (mode & xorSign)
    result = std::copysign(result, negative ? T(-1) : T(1));
  if ((mode & relu) && !(result > T(0)))
    result = T(0);
  return result;
}

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_FLOATMODES_H
