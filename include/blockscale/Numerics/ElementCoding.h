//===-- ElementCoding.h - Elements to codes and back ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// encodeElement and decodeElement over a value builder: floats of any layout,
// fixed-point and unsigned integers, mid-rise integers, codebooks. Rules
// encode_c* and decode_c* in docs/Spec.md.
//
// Floats and integers share one method. A magnitude is put on a *grid*: in
// each binade 2^E its step is 2^(E - m), and below the smallest binade the step
// stays. The code is ((E - Emin) << m) + round(|x| / 2^(E - m)), which carries
// into the next binade by itself. An integer format is a grid of one binade.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_ELEMENTCODING_H
#define BLOCKSCALE_NUMERICS_ELEMENTCODING_H

#include "blockscale/Numerics/Codebook.h"
#include "blockscale/Numerics/Format.h"
#include "blockscale/Numerics/MagnitudeGrid.h"
#include "blockscale/Numerics/Midrise.h"
#include "blockscale/Numerics/ScaleRule.h"
#include "blockscale/Numerics/ValueBuilder.h"

namespace blockscale {

/// The magnitudes of a float type.
inline MagnitudeGrid gridOfFloat(const FloatLayout &layout) {
  unsigned minExponent = unsigned(layout.minExponent() + int(kF32Bias));
  unsigned maxExponent = bitsOfF32(layout.maxFinite()) >> kF32MantissaBits;
  return {layout.mantissaBits, minExponent, maxExponent - minExponent + 1};
}

/// The code of x in `layout`: saturating, NaN to the NaN code or to +max
/// (encode_c1 to encode_c6). A layout without a sign encodes |x|.
template <typename B>
ValueOf<B> encodeFloat(B &b, const FloatLayout &layout, ValueOf<B> x,
                       Rounding rounding,
                       const OptionalValueOf<B> &random = std::nullopt) {
  using V = ValueOf<B>;
  V bits = b.asInt(x);
  V magnitude = b.band(bits, b.i32(kF32MagnitudeMask));
  uint32_t maxBits = bitsOfF32(layout.maxFinite());
  V code = roundToGrid(b, gridOfFloat(layout),
                       b.umin(magnitude, b.i32(maxBits)), rounding, random);
  if (layout.hasSign) {
    unsigned width = layout.width();
    V sign = b.band(b.lshr(bits, b.i32(32 - width)), b.i32(1u << (width - 1)));
    code = b.bor(code, sign);
  }
  uint32_t nan = layout.nanCode().value_or(layout.maxCode());
  return b.select(b.ugt(magnitude, b.i32(kF32ExponentMask)), b.i32(nan), code);
}

/// The grid of a fixed-point type: code * 2^-fractionBits.
inline MagnitudeGrid gridOfInteger(unsigned magnitudeBits, int fractionBits) {
  return {magnitudeBits - 1,
          unsigned(int(kF32Bias) + int(magnitudeBits) - 1 - fractionBits),
          /*binades=*/1};
}

/// Two's complement, symmetric, NaN to 0 (encode_c7). `maxCode` is the largest
/// magnitude; the result is a full signed i32.
template <typename B>
ValueOf<B> roundToSigned(B &b, uint32_t maxCode, unsigned fractionBits,
                         ValueOf<B> x, Rounding rounding,
                         const OptionalValueOf<B> &random) {
  using V = ValueOf<B>;
  unsigned magnitudeBits = 1;
  while (maxCode >> magnitudeBits)
    ++magnitudeBits;
  V bits = b.asInt(x);
  V magnitude = b.band(bits, b.i32(kF32MagnitudeMask));
  float max = float(std::ldexp(double(maxCode), -int(fractionBits)));
  V code =
      roundToGrid(b, gridOfInteger(magnitudeBits, fractionBits),
                  b.umin(magnitude, b.i32(bitsOfF32(max))), rounding, random);
  V negative = b.ashr(bits, b.i32(31));
  code = b.sub(b.bxor(code, negative), negative);
  return b.select(b.ugt(magnitude, b.i32(kF32ExponentMask)), b.i32(0), code);
}

/// 0 .. 2^bits - 1; what is negative saturates at 0, NaN gives 0 (encode_c8).
template <typename B>
ValueOf<B> roundToUnsigned(B &b, unsigned bits, ValueOf<B> x, Rounding rounding,
                           const OptionalValueOf<B> &random) {
  using V = ValueOf<B>;
  V positive = b.smax(b.asInt(x), b.i32(0));
  V isNaN = b.ugt(positive, b.i32(kF32ExponentMask));
  uint32_t maxBits = bitsOfF32(float((1u << bits) - 1));
  V code = roundToGrid(b, gridOfInteger(bits, 0),
                       b.umin(positive, b.i32(maxBits)), rounding, random);
  return b.select(isNaN, b.i32(0), code);
}

/// The code of x, in the low bits of an i32. `random` holds 32 random bits per
/// lane and is needed by Rounding::Stochastic alone (encode_c10).
template <typename B>
ValueOf<B> encodeElement(B &b, const ElementType &type, ValueOf<B> x,
                         Rounding rounding,
                         const OptionalValueOf<B> &random = std::nullopt) {
  uint32_t mask = (1u << type.bits) - 1;
  switch (type.kind) {
  case ElementType::Kind::Float:
    return encodeFloat(b, type.layout, x, rounding, random);
  case ElementType::Kind::Int:
    return b.band(
        roundToSigned(b, mask >> 1, type.fractionBits, x, rounding, random),
        b.i32(mask));
  case ElementType::Kind::UInt:
    return roundToUnsigned(b, type.bits, x, rounding, random);
  case ElementType::Kind::Midrise:
    return b.band(encodeMidrise(b, type.bits, x, rounding, random),
                  b.i32(mask));
  case ElementType::Kind::Codebook:
    return encodeCodebook(b, type.codebook, x, rounding, random);
  }
  return b.i32(0);
}

/// The value of a code (decode_c1, decode_c2). Exact.
template <typename B>
ValueOf<B> decodeFloat(B &b, const FloatLayout &layout, ValueOf<B> code) {
  using V = ValueOf<B>;
  unsigned m = layout.mantissaBits, width = layout.width();
  unsigned magnitudeWidth = layout.exponentBits + m;
  V magnitude = b.band(code, b.i32((1u << magnitudeWidth) - 1));
  // A normal number is a shift and a new bias. In the lowest binade the hidden
  // bit is absent: put one in and subtract it again, which is exact.
  uint32_t rebias = uint32_t(int(kF32Bias) - layout.bias) << kF32MantissaBits;
  V shifted = b.shl(magnitude, b.i32(kF32MantissaBits - m));
  V normal = b.add(shifted, b.i32(rebias));
  V value = normal;
  if (m) {
    V one = b.i32(rebias + kF32HiddenBit);
    V subnormal =
        b.asInt(b.fsub(b.asFloat(b.add(shifted, one)), b.asFloat(one)));
    value = b.select(b.ult(magnitude, b.i32(1u << m)), subnormal, normal);
  } else {
    value = b.select(b.eq(magnitude, b.i32(0)), b.i32(0), normal);
  }
  uint32_t top = ((1u << layout.exponentBits) - 1) << m;
  switch (layout.specials) {
  case Specials::Finite:
    break;
  case Specials::NaNOnly:
    value = b.select(b.eq(magnitude, b.i32((1u << magnitudeWidth) - 1)),
                     b.i32(kF32NaNBits), value);
    break;
  case Specials::IEEE:
    value = b.select(b.uge(magnitude, b.i32(top)),
                     b.select(b.eq(magnitude, b.i32(top)),
                              b.i32(kF32ExponentMask), b.i32(kF32NaNBits)),
                     value);
    break;
  case Specials::TopReserved:
    value = b.select(b.uge(magnitude, b.i32(top)), b.i32(kF32NaNBits), value);
    break;
  }
  if (layout.hasSign) {
    V sign = b.band(b.shl(code, b.i32(32 - width)), b.i32(0x80000000u));
    value = b.bor(value, sign);
  }
  return b.asFloat(value);
}

/// The value of the low bits of `code` (decode_c1 to decode_c6).
template <typename B>
ValueOf<B> decodeElement(B &b, const ElementType &type, ValueOf<B> code) {
  using V = ValueOf<B>;
  auto extended = [&] {
    V unused = b.i32(32 - type.bits);
    return b.toFloat(b.ashr(b.shl(code, unused), unused));
  };
  switch (type.kind) {
  case ElementType::Kind::Float:
    return decodeFloat(b, type.layout, code);
  case ElementType::Kind::Int:
    if (!type.fractionBits)
      return extended();
    return b.fmul(extended(),
                  b.f32(float(std::ldexp(1.0, -int(type.fractionBits)))));
  case ElementType::Kind::UInt:
    return b.toFloat(b.band(code, b.i32((1u << type.bits) - 1)));
  case ElementType::Kind::Midrise:
    return b.fadd(extended(), b.f32(0.5f));
  case ElementType::Kind::Codebook:
    return decodeCodebook(b, type.codebook, code);
  }
  return b.f32(0);
}

/// Asymmetric integers: the code of y = x / scale around a zero point
/// (encode_c11). `zero` is a code (ZeroPoint::Code) or an f32.
template <typename B>
ValueOf<B> encodeWithZero(B &b, const Format &format, ValueOf<B> y,
                          ValueOf<B> zero, Rounding rounding,
                          const OptionalValueOf<B> &random = std::nullopt) {
  using V = ValueOf<B>;
  unsigned bits = format.element.bits;
  uint32_t maxCode = (1u << bits) - 1;
  if (format.zero == ZeroPoint::Code) {
    // Up to maxCode + 1 either way is enough to reach both ends from any zero.
    V offset = roundToSigned(b, maxCode + 1, 0, y, rounding, random);
    return b.smin(b.smax(b.add(offset, zero), b.i32(0)), b.i32(maxCode));
  }
  V magnitude = b.band(b.asInt(y), b.i32(kF32MagnitudeMask));
  V number = b.select(b.ugt(magnitude, b.i32(kF32ExponentMask)), b.f32(0), y);
  return roundToUnsigned(b, bits, b.fadd(number, zero), rounding, random);
}

/// code - zero point, to be multiplied by the scale (decode_c7).
template <typename B>
ValueOf<B> decodeWithZero(B &b, const Format &format, ValueOf<B> code,
                          ValueOf<B> zero) {
  using V = ValueOf<B>;
  V unsignedCode = b.band(code, b.i32((1u << format.element.bits) - 1));
  if (format.zero == ZeroPoint::Code)
    return b.toFloat(b.sub(unsignedCode, zero));
  return b.fsub(b.toFloat(unsignedCode), zero);
}

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_ELEMENTCODING_H
