//===-- BlockScaling.h - From a block to its scale and codes ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of every scale rule over a value builder. A caller walks a tensor:
//
//   tensorAmaxRow over every row, then tensorLevel        (tensor scale only)
//   per block: measureInit, measureRow per row, measureReduce
//              candidates -> one, or two and candidateErrorRow + pick
//              encodeLanes per row
//
// Rows are lane vectors of blockCols f32; a block of one row has one. What a
// block yields (Measure, Candidate) is scalar. Rules scale_c*, quantize_c* and
// dequantize_c* in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_BLOCKSCALING_H
#define BLOCKSCALE_NUMERICS_BLOCKSCALING_H

#include "blockscale/Numerics/ElementCoding.h"
#include "blockscale/Numerics/ScaleCoding.h"
#include "blockscale/Numerics/ScaleRule.h"

#include <vector>

namespace blockscale {

/// What the whole tensor contributes to its blocks (scale_c10).
template <typename V> struct TensorLevel {
  V decode; ///< The tensor scale g: value = element * block scale * g.
  V encode; ///< S: a block of decoded scale s encodes with S / s.
  V block;  ///< A block of measure m has the scale m * block.
};

/// Statistics of a block: AbsMax and Rms use `a`, MinMax both.
template <typename V> struct Measure {
  V a, b;
};

/// A scale that a block could take.
template <typename V> struct Candidate {
  V scaleCode;
  /// What elements are multiplied with, or divided by: encodesByFactor().
  V encode;
  V zero; ///< The zero point as encodeWithZero takes it; else unused.
};

/// M, by which a measure is divided to become a scale: the element's largest
/// magnitude times the headroom. Estimator::Rms has it in the measure, MinMax
/// has the number of steps instead.
inline float measureDivisor(const Format &format, const ScaleRule &rule) {
  if (rule.estimator == ScaleRule::Estimator::Rms)
    return 1.0f;
  return format.element.maxMagnitude() * rule.headroom;
}
inline float ruleBound(const Format &format, const ScaleRule &rule) {
  return rule.bound != 0 ? rule.bound : format.scale.maxFinite();
}
/// Whether Candidate::encode multiplies, always so for a power of two.
inline bool encodesByFactor(const Format &format, const ScaleRule &rule) {
  return rule.hasEncodeFactor() ||
         (format.scale.isPowerOfTwo() && !format.hasTensorScale);
}

//===----------------------------------------------------------------------===//
// The tensor
//===----------------------------------------------------------------------===//

/// |x| as its f32 bits, which order like the magnitudes and put NaN on top.
template <typename B> ValueOf<B> magnitudeBits(B &b, ValueOf<B> x) {
  return b.band(b.asInt(x), b.i32(kF32MagnitudeMask));
}

/// Folds a row into the tensor's largest magnitude, as f32 bits from 0. NaN is
/// left out: one bad block must not poison the others (scale_c9).
template <typename B>
ValueOf<B> tensorAmaxRow(B &b, ValueOf<B> bitsSoFar, ValueOf<B> x) {
  ValueOf<B> bits = magnitudeBits(b, x);
  return b.umax(bitsSoFar,
                b.select(b.ugt(bits, b.i32(kF32ExponentMask)), b.i32(0), bits));
}

/// The tensor level of a tensor whose largest magnitude is `amax` (f32), or of
/// a format without one (scale_c10).
template <typename B>
TensorLevel<ValueOf<B>> tensorLevel(B &b, const Format &format,
                                    const ScaleRule &rule, ValueOf<B> amax) {
  using V = ValueOf<B>;
  using Order = ScaleRule::Order;
  // Zero, infinite and NaN levels come from an amax that says nothing; so does
  // one below `least`, whose reciprocal would be infinite.
  auto usable = [&](V level, uint32_t least) {
    V isBad = b.uge(b.sub(b.asInt(level), b.i32(least)),
                    b.i32(kF32ExponentMask - least));
    return b.select(isBad, b.f32(1), level);
  };
  float m = measureDivisor(format, rule);
  float elementMax = format.element.maxMagnitude() * rule.headroom;
  float bound = ruleBound(format, rule);
  V one = b.f32(1);
  if (rule.order == Order::Division) {
    V g = one;
    if (format.hasTensorScale)
      g = usable(b.fdiv(amax, b.f32(bound * elementMax)), 1);
    return {g, g, g};
  }
  V s = one;
  if (format.hasTensorScale)
    s = usable(b.fdiv(b.f32(bound * elementMax), amax), kF32HiddenBit);
  V g = format.hasTensorScale ? b.fdiv(one, s) : one;
  if (rule.order == Order::Held)
    return {g, s, usable(b.fdiv(b.f32(bound), amax), kF32HiddenBit)};
  return {g, s, m == 1.0f ? s : b.fmul(s, b.f32(1.0f / m))};
}

//===----------------------------------------------------------------------===//
// Measures (scale_c7, scale_c8)
//===----------------------------------------------------------------------===//

/// An i32 that orders like the f32: negative numbers have their magnitude
/// bits inverted and lie below. Its own inverse.
template <typename B> ValueOf<B> orderedBits(B &b, ValueOf<B> bits) {
  return b.bxor(bits, b.lshr(b.ashr(bits, b.i32(31)), b.i32(1)));
}

/// The lanewise state before the first row.
template <typename B>
Measure<ValueOf<B>> measureInit(B &b, const Format &, const ScaleRule &rule) {
  if (rule.estimator == ScaleRule::Estimator::Rms)
    return {b.f32(0), b.f32(0)};
  return {b.i32(0), b.i32(0)}; // MinMax: zero is in the range.
}

template <typename B>
Measure<ValueOf<B>> measureRow(B &b, const Format &, const ScaleRule &rule,
                               const Measure<ValueOf<B>> &soFar, ValueOf<B> x) {
  using V = ValueOf<B>;
  switch (rule.estimator) {
  case ScaleRule::Estimator::AbsMax:
    return {b.umax(soFar.a, magnitudeBits(b, x)), soFar.b};
  case ScaleRule::Estimator::Rms:
    return {b.fadd(soFar.a, b.fmul(x, x)), soFar.b};
  case ScaleRule::Estimator::MinMax: {
    V key = orderedBits(b, b.asInt(x));
    return {b.smax(soFar.a, key), b.smin(soFar.b, key)};
  }
  }
  return soFar;
}

/// The block's measure: AbsMax {max |x|}, Rms {clip / M * rms + epsilon},
/// MinMax {max, min}, all f32. `count` is the f32 number of elements.
template <typename B>
Measure<ValueOf<B>>
measureReduce(B &b, const Format &format, const ScaleRule &rule,
              const Measure<ValueOf<B>> &lanes, ValueOf<B> count) {
  using V = ValueOf<B>;
  switch (rule.estimator) {
  case ScaleRule::Estimator::AbsMax:
    return {b.asFloat(b.reduceUMax(lanes.a)), b.f32(0)};
  case ScaleRule::Estimator::Rms: {
    float clip = rule.clip / (format.element.maxMagnitude() * rule.headroom);
    V root = b.fsqrt(b.fdiv(b.reduceFAdd(lanes.a), count));
    return {b.fadd(b.fmul(root, b.f32(clip)), b.f32(rule.epsilon)), b.f32(0)};
  }
  case ScaleRule::Estimator::MinMax: {
    // NaN of either sign lies outside the infinities, so it reaches one end.
    V top = b.i32(0x80000000u), all = b.i32(~0u);
    V max = b.bxor(b.reduceUMax(b.bxor(lanes.a, top)), top);
    V min = b.bxor(b.reduceUMax(b.bxor(b.bxor(lanes.b, top), all)),
                   b.bxor(top, all));
    return {b.asFloat(orderedBits(b, max)), b.asFloat(orderedBits(b, min))};
  }
  }
  return lanes;
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// The E8M0 code of a measure under Floor, Ceil, RCeil and Even (scale_c11).
template <typename B>
ValueOf<B> powerOfTwoScale(B &b, const Format &format, const ScaleRule &rule,
                           ValueOf<B> measure) {
  using V = ValueOf<B>;
  using Order = ScaleRule::Order;
  V original = magnitudeBits(b, measure);
  V bits = original;
  int emax = 0;
  Rounding rounding = Rounding::TowardZero;
  if (rule.order == Order::RCeil) {
    float m = measureDivisor(format, rule);
    if (m != 1.0f)
      bits = magnitudeBits(b, b.fmul(measure, b.f32(1.0f / m)));
    rounding = Rounding::Up;
  } else if (rule.estimator != ScaleRule::Estimator::Rms) {
    emax = format.element.maxExponent();
  }
  // A type whose largest magnitude is below 1 raises the exponent: before it is
  // rounded, where 2^-127 is not yet the end.
  if (emax < 0) {
    bits =
        b.asInt(b.fmul(b.asFloat(bits), b.f32(float(std::ldexp(1.0, -emax)))));
    emax = 0;
  }
  if (rule.order == Order::Even) {
    unsigned kept = format.element.mantissaBits();
    bits = b.add(bits, b.i32(1u << (kF32MantissaBits - 1 - kept)));
  } else if (rule.order == Order::Ceil) {
    rounding = Rounding::Up;
  }
  V code = rounding == Rounding::Up ? roundedExponent(b, bits, rounding)
                                    : b.lshr(bits, b.i32(kF32MantissaBits));
  if (emax)
    code = b.smax(b.sub(code, b.i32(uint32_t(emax))), b.i32(0));
  code = b.umin(code, b.i32(254));

  V isBad = rule.satfinite ? b.ugt(original, b.i32(kF32ExponentMask))
                           : b.uge(original, b.i32(kF32ExponentMask));
  code = b.select(isBad, b.i32(255), code);
  if (!rule.satfinite)
    return code;
  return b.select(b.eq(original, b.i32(kF32ExponentMask)), b.i32(254), code);
}

/// Zero has no reciprocal: a divisor of +inf makes every element a zero of its
/// own sign (quantize_c4).
template <typename B> ValueOf<B> divisorOrInfinity(B &b, ValueOf<B> divisor) {
  using V = ValueOf<B>;
  V isZero = b.eq(magnitudeBits(b, divisor), b.i32(0));
  return b.select(isZero, b.asFloat(b.i32(kF32ExponentMask)), divisor);
}

/// What elements are divided by, given a scale and, if the format has one, the
/// tensor scale (quantize_c2). For an E8M0 scale alone it is the reciprocal, to
/// be multiplied with: dividesByScale().
template <typename B>
ValueOf<B> divisor(B &b, const Format &format, ValueOf<B> scaleCode,
                   const OptionalValueOf<B> &tensorScale = std::nullopt) {
  using V = ValueOf<B>;
  if (!format.hasTensorScale && format.scale.isPowerOfTwo())
    return invertE8M0(b, scaleCode);
  V scale = decodeScale(b, format.scale, scaleCode);
  if (format.hasTensorScale)
    scale = b.fmul(*tensorScale, scale);
  return divisorOrInfinity(b, scale);
}
/// Whether divisor() is to be divided by.
inline bool dividesByScale(const Format &format) {
  return format.hasTensorScale || !format.scale.isPowerOfTwo();
}

/// The scale and zero point of an asymmetric block (scale_c15).
template <typename B>
Candidate<ValueOf<B>> minMaxCandidate(B &b, const Format &format,
                                      const Measure<ValueOf<B>> &measure) {
  using V = ValueOf<B>;
  uint32_t steps = (1u << format.element.bits) - 1;
  V range = b.fdiv(b.fsub(measure.a, measure.b), b.f32(float(steps)));
  V code = encodeScale(b, format.scale, range, Rounding::NearestEven);
  V encode = divisor(b, format, code);
  V lowest = b.fsub(b.f32(0), b.fdiv(measure.b, encode));
  V zero = lowest;
  if (format.zero == ZeroPoint::Code)
    zero = roundToUnsigned<B>(b, format.element.bits, lowest,
                              Rounding::NearestEven, std::nullopt);
  else if (format.zero == ZeroPoint::F16)
    zero = decodeF16(b, encodeF16(b, lowest));
  return {code, encode, zero};
}

/// The scales a block may take: one, or two for four-over-six (scale_c13,
/// scale_c14, scale_c17 to scale_c20).
template <typename B>
std::vector<Candidate<ValueOf<B>>>
candidates(B &b, const Format &format, const ScaleRule &rule,
           const Measure<ValueOf<B>> &measure,
           const TensorLevel<ValueOf<B>> &level) {
  using V = ValueOf<B>;
  using Order = ScaleRule::Order;
  auto finite = [&](V factor) {
    return b.asFloat(b.umin(b.asInt(factor), b.i32(kF32MaxBits)));
  };
  auto premultiplied = [&](V factor) {
    return rule.preMultiplier == 1.0f
               ? factor
               : b.fmul(factor, b.f32(rule.preMultiplier));
  };
  V none = b.i32(0);
  if (rule.estimator == ScaleRule::Estimator::MinMax)
    return {minMaxCandidate(b, format, measure)};

  float m = measureDivisor(format, rule);
  switch (rule.order) {
  case Order::Floor:
  case Order::Ceil:
  case Order::RCeil:
  case Order::Even: {
    V code = powerOfTwoScale(b, format, rule, measure.a);
    return {Candidate<V>{code, premultiplied(invertE8M0(b, code)), none}};
  }
  case Order::Reciprocal: { // scale_c17
    auto candidate = [&](V scale) -> Candidate<V> {
      V code = encodeScale(b, format.scale, scale, Rounding::NearestEven);
      V factor = b.fdiv(level.encode, decodeScale(b, format.scale, code));
      return {code, finite(premultiplied(factor)), none};
    };
    V scale = b.fmul(measure.a, level.block);
    if (rule.select == ScaleRule::Select::Single)
      return {candidate(scale)};
    return {candidate(scale), candidate(b.fmul(scale, b.f32(1.5f)))};
  }
  case Order::Division: { // scale_c18
    V u = m == 1.0f ? measure.a : b.fdiv(measure.a, b.f32(m));
    if (format.hasTensorScale)
      u = b.fdiv(u, level.decode);
    if (format.scale.kind == ScaleType::Kind::Float) {
      float least = float(std::ldexp(1.0, format.scale.layout.minExponent()));
      u = b.asFloat(b.umax(b.asInt(u), b.i32(bitsOfF32(least))));
    }
    V code = encodeScale(b, format.scale, u, Rounding::NearestEven);
    OptionalValueOf<B> tensor;
    if (format.hasTensorScale)
      tensor = level.decode;
    V encode = divisor(b, format, code, tensor);
    if (rule.preMultiplier == 1.0f)
      return {Candidate<V>{code, encode, none}};
    V factor = dividesByScale(format)
                   ? b.fdiv(b.f32(rule.preMultiplier), encode)
                   : premultiplied(encode);
    return {Candidate<V>{code, finite(factor), none}};
  }
  case Order::Unrounded: { // scale_c19
    V u = m == 1.0f ? measure.a : b.fmul(measure.a, b.f32(1.0f / m));
    V code = encodeScale(b, format.scale, u, Rounding::NearestEven);
    V factor = finite(premultiplied(b.fdiv(b.f32(1), u)));
    V isZero = b.eq(magnitudeBits(b, u), b.i32(0));
    return {Candidate<V>{code, b.select(isZero, b.f32(0), factor), none}};
  }
  case Order::Held: { // scale_c20
    V code = encodeScale(b, format.scale, b.fmul(measure.a, level.block),
                         Rounding::NearestEven);
    uint32_t oneCode = format.scale.codeOfOne();
    code = b.select(b.eq(code, b.i32(0)), b.i32(oneCode), code);
    V factor = b.fdiv(level.encode, decodeScale(b, format.scale, code));
    return {Candidate<V>{code, finite(premultiplied(factor)), none}};
  }
  }
  return {};
}

} // namespace blockscale

#include "blockscale/Numerics/BlockCoding.h"

#endif // BLOCKSCALE_NUMERICS_BLOCKSCALING_H
