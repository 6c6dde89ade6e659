//===-- ScaleCoding.h - Block scales to codes and back ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules scale_c1 to scale_c4 and scale_c6 in docs/Spec.md. A scale is not
// negative: the sign of what is encoded is ignored.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_SCALECODING_H
#define BLOCKSCALE_NUMERICS_SCALECODING_H

#include "blockscale/Numerics/ElementCoding.h"
#include "blockscale/Numerics/Format.h"

namespace blockscale {

/// log2 of a finite magnitude plus 127, rounded to an integer: 0 .. 255. What
/// is below 2^-127 gives 0.
template <typename B>
ValueOf<B> roundedExponent(B &b, ValueOf<B> magnitude, Rounding rounding) {
  using V = ValueOf<B>;
  // Between the codes 0 (2^-127) and 1 (2^-126) f32 is subnormal: stretch that
  // stretch to a binade of its own, so that 23 bits lie between any two codes.
  V stretched = b.sub(b.umax(b.shl(magnitude, b.i32(1)), b.i32(kF32HiddenBit)),
                      b.i32(kF32HiddenBit));
  V u = b.umin(magnitude, stretched);
  const uint32_t half = 1u << (kF32MantissaBits - 1);
  V addend = b.i32(0);
  switch (rounding) {
  case Rounding::TowardZero:
    break;
  case Rounding::NearestEven:
    addend = b.add(b.i32(half - 1),
                   b.band(b.lshr(u, b.i32(kF32MantissaBits)), b.i32(1)));
    break;
  case Rounding::NearestAway:
    addend = b.i32(half);
    break;
  case Rounding::NearestZero:
    addend = b.i32(half - 1);
    break;
  case Rounding::Up:
    addend = b.i32(kF32MantissaMask);
    break;
  case Rounding::Stochastic:
    assert(false && "a scale is never rounded stochastically");
    break;
  }
  return b.lshr(b.add(u, addend), b.i32(kF32MantissaBits));
}

/// The E8M0 code of `value`: 0 .. 254, NaN to 255 (scale_c2). +inf saturates,
/// and so does a finite value above 2^127.
template <typename B>
ValueOf<B> encodeE8M0(B &b, ValueOf<B> value, Rounding rounding) {
  using V = ValueOf<B>;
  V magnitude = b.band(b.asInt(value), b.i32(kF32MagnitudeMask));
  V code = b.umin(roundedExponent(b, magnitude, rounding), b.i32(254));
  return b.select(b.ugt(magnitude, b.i32(kF32ExponentMask)), b.i32(255), code);
}

/// bf16 reaches as far as f32, so its subnormals are those of f32 and dropping
/// sixteen bits is all there is to do (scale_c4).
template <typename B>
ValueOf<B> encodeBF16Scale(B &b, ValueOf<B> value, Rounding rounding) {
  using V = ValueOf<B>;
  V magnitude = b.band(b.asInt(value), b.i32(kF32MagnitudeMask));
  V u = b.umin(magnitude, b.i32(0x7f7f0000u));
  V addend = b.i32(0);
  if (rounding == Rounding::NearestEven)
    addend = b.add(b.i32(0x7fffu), b.band(b.lshr(u, b.i32(16)), b.i32(1)));
  else if (rounding == Rounding::NearestAway)
    addend = b.i32(0x8000u);
  else if (rounding == Rounding::NearestZero)
    addend = b.i32(0x7fffu);
  else if (rounding == Rounding::Up)
    addend = b.i32(0xffffu);
  V code = b.lshr(b.add(u, addend), b.i32(16));
  return b.select(b.ugt(magnitude, b.i32(kF32ExponentMask)),
                  b.i32(kF32NaNBits >> 16), code);
}

/// The code of a scale, in the low bits of an i32; for F32 the bits themselves.
/// Saturates; NaN gives the NaN code, or the largest code where there is none.
template <typename B>
ValueOf<B> encodeScale(B &b, const ScaleType &type, ValueOf<B> value,
                       Rounding rounding) {
  using V = ValueOf<B>;
  switch (type.kind) {
  case ScaleType::Kind::E8M0:
    return encodeE8M0(b, value, rounding);
  case ScaleType::Kind::Float:
  case ScaleType::Kind::F16:
    return encodeFloat(b, type.layout, value, rounding);
  case ScaleType::Kind::BF16:
    return encodeBF16Scale(b, value, rounding);
  case ScaleType::Kind::F32: {
    V magnitude = b.band(b.asInt(value), b.i32(kF32MagnitudeMask));
    return b.select(b.ugt(magnitude, b.i32(kF32ExponentMask)),
                    b.i32(kF32NaNBits), b.umin(magnitude, b.i32(kF32MaxBits)));
  }
  }
  return b.i32(0);
}

/// The f32 value of a scale code (scale_c1 to scale_c4). Exact. Bits above the
/// scale's own are ignored.
template <typename B>
ValueOf<B> decodeScale(B &b, const ScaleType &type, ValueOf<B> code) {
  using V = ValueOf<B>;
  switch (type.kind) {
  case ScaleType::Kind::E8M0: {
    V bits =
        b.umax(b.shl(code, b.i32(kF32MantissaBits)), b.i32(kF32HiddenBit >> 1));
    return b.asFloat(
        b.select(b.eq(code, b.i32(255)), b.i32(kF32NaNBits), bits));
  }
  case ScaleType::Kind::Float:
  case ScaleType::Kind::F16:
    return decodeFloat(b, type.layout, code);
  case ScaleType::Kind::BF16:
    return b.asFloat(b.shl(code, b.i32(16)));
  case ScaleType::Kind::F32:
    return b.asFloat(code);
  }
  return b.f32(0);
}

/// 1 / decodeScale(code) for an E8M0 scale: a power of two again, exact, so
/// that multiplying by it is dividing by the scale (quantize_c3).
template <typename B> ValueOf<B> invertE8M0(B &b, ValueOf<B> code) {
  using V = ValueOf<B>;
  V bits = b.umax(b.shl(b.sub(b.i32(254), code), b.i32(kF32MantissaBits)),
                  b.i32(kF32HiddenBit >> 1));
  return b.asFloat(b.select(b.eq(code, b.i32(255)), b.i32(kF32NaNBits), bits));
}

/// f16 bits and back, for zero points: rounded to nearest even, saturating,
/// with a sign (scale_c6).
template <typename B> ValueOf<B> encodeF16(B &b, ValueOf<B> value) {
  return encodeFloat<B>(b, FloatLayout::f16(), value, Rounding::NearestEven);
}
template <typename B> ValueOf<B> decodeF16(B &b, ValueOf<B> bits) {
  return decodeFloat<B>(b, FloatLayout::f16(), bits);
}

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_SCALECODING_H
