//===-- Oracle.h - Rounding by searching a table of values ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a code should be, found the slow way: the value of every code is written
// down in double, and an input is compared with its two neighbours. Nothing
// here knows about exponents of f32, shifts or magic numbers.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_UNITTESTS_NUMERICS_ORACLE_H
#define BLOCKSCALE_UNITTESTS_NUMERICS_ORACLE_H

#include "blockscale/Numerics/Format.h"
#include "blockscale/Numerics/ScaleRule.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace blockscale::test {

/// Magnitudes by code, ascending from zero; and the sign's place.
class Oracle {
public:
  explicit Oracle(const ElementType &type) : type(type) {
    if (type.kind == ElementType::Kind::Float) {
      const FloatLayout &layout = type.layout;
      for (uint32_t code = 0; code <= layout.maxCode(); ++code) {
        uint32_t field = code >> layout.mantissaBits;
        double steps = code & ((1u << layout.mantissaBits) - 1);
        double fraction = std::ldexp(steps, -int(layout.mantissaBits));
        values.push_back(
            field ? std::ldexp(1 + fraction, int(field) - layout.bias)
                  : std::ldexp(fraction, 1 - layout.bias));
      }
    } else {
      for (int code = 0; code < 1 << (type.bits - 1); ++code)
        values.push_back(std::ldexp(double(code), -int(type.fractionBits)));
    }
  }

  double maxValue() const { return values.back(); }

  uint32_t encode(float x, Rounding rounding, uint32_t random = 0) const {
    if (std::isnan(x))
      return codeOfNaN();
    uint32_t magnitude = roundMagnitude(std::fabs(double(x)), rounding, random);
    if (type.kind == ElementType::Kind::Float)
      return magnitude | (std::signbit(x) ? 1u << (type.bits - 1) : 0);
    uint32_t mask = (1u << type.bits) - 1;
    return (std::signbit(x) ? 0u - magnitude : magnitude) & mask;
  }

private:
  uint32_t codeOfNaN() const {
    if (type.kind != ElementType::Kind::Float)
      return 0;
    return type.layout.nanCode().value_or(type.layout.maxCode());
  }

  uint32_t roundMagnitude(double a, Rounding rounding, uint32_t random) const {
    auto above = std::upper_bound(values.begin(), values.end(), a);
    if (above == values.end())
      return uint32_t(values.size() - 1);
    uint32_t low = uint32_t(above - values.begin()) - 1;
    double fraction = (a - values[low]) / (values[low + 1] - values[low]);
    switch (rounding) {
    case Rounding::TowardZero:
      return low;
    case Rounding::NearestEven:
      if (fraction == 0.5)
        return low + (low & 1);
      return low + (fraction > 0.5);
    case Rounding::NearestAway:
      return low + (fraction >= 0.5);
    case Rounding::NearestZero:
      return low + (fraction > 0.5);
    case Rounding::Up:
      return low + (fraction > 0);
    case Rounding::Stochastic:
      return low + (double(random) < fraction * 0x1p32);
    }
    return low;
  }

  ElementType type;
  std::vector<double> values;
};

} // namespace blockscale::test

#endif // BLOCKSCALE_UNITTESTS_NUMERICS_ORACLE_H
