//===-- BlockCoding.h - A block's elements, given its scale -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second half of BlockScaling.h, which includes it: encoding the rows of a
// block, choosing between candidate scales, and decoding. Rules quantize_c* and
// dequantize_c* in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_BLOCKCODING_H
#define BLOCKSCALE_NUMERICS_BLOCKCODING_H

#include "blockscale/Numerics/BlockScaling.h"

namespace blockscale {

/// The codes of y = x / scale; `zero` is used by formats that have one.
template <typename B>
ValueOf<B> encodeScaled(B &b, const Format &format, ValueOf<B> y,
                        ValueOf<B> zero, Rounding rounding,
                        const OptionalValueOf<B> &random) {
  if (format.zero != ZeroPoint::None)
    return encodeWithZero(b, format, y, zero, rounding, random);
  return encodeElement(b, format.element, y, rounding, random);
}

/// The codes of a row of a block whose scale is `candidate` (quantize_c1).
template <typename B>
ValueOf<B> encodeLanes(B &b, const Format &format, const ScaleRule &rule,
                       ValueOf<B> x, const Candidate<ValueOf<B>> &candidate,
                       Rounding rounding,
                       const OptionalValueOf<B> &random = std::nullopt) {
  ValueOf<B> y = encodesByFactor(format, rule) ? b.fmul(x, candidate.encode)
                                               : b.fdiv(x, candidate.encode);
  return encodeScaled(b, format, y, candidate.zero, rounding, random);
}

/// A row by the encode factor of its block (quantize_c1), or else by what
/// divisor() returned for it (quantize_c2): what encodeScaled encodes.
template <typename B>
ValueOf<B> scaledLanes(B &b, const Format &format, ValueOf<B> x, ValueOf<B> by,
                       bool byFactor) {
  return byFactor || !dividesByScale(format) ? b.fmul(x, by) : b.fdiv(x, by);
}

/// The codes of a row given the encode factor of its block (quantize_c1).
template <typename B>
ValueOf<B> encodeByFactor(B &b, const Format &format, ValueOf<B> x,
                          ValueOf<B> factor, Rounding rounding,
                          const OptionalValueOf<B> &random = std::nullopt) {
  ValueOf<B> y = scaledLanes(b, format, x, factor, /*byFactor=*/true);
  return encodeScaled<B>(b, format, y, b.i32(0), rounding, random);
}

/// The codes of a row given what divisor() returned for its block
/// (quantize_c2). `zero` is needed by formats that have one.
template <typename B>
ValueOf<B> encodeByScale(B &b, const Format &format, ValueOf<B> x,
                         ValueOf<B> divisor, const OptionalValueOf<B> &zero,
                         Rounding rounding,
                         const OptionalValueOf<B> &random = std::nullopt) {
  ValueOf<B> y = scaledLanes(b, format, x, divisor, /*byFactor=*/false);
  return encodeScaled<B>(b, format, y, zero ? *zero : b.i32(0), rounding,
                         random);
}

/// Whether |x / scale| is below `limit`, in units of the element (mask_c1).
template <typename B>
ValueOf<B> isWithin(B &b, const Format &format, ValueOf<B> x,
                    ValueOf<B> scaleCode, const OptionalValueOf<B> &tensorScale,
                    float limit) {
  ValueOf<B> by = divisor(b, format, scaleCode, tensorScale);
  ValueOf<B> y = dividesByScale(format) ? b.fdiv(x, by) : b.fmul(x, by);
  return b.flt(b.asFloat(magnitudeBits(b, y)), b.f32(limit));
}

//===----------------------------------------------------------------------===//
// Zero points in memory (scale_c6)
//===----------------------------------------------------------------------===//

/// The stored bits of a zero point as encodeWithZero takes it.
template <typename B>
ValueOf<B> storeZero(B &b, const Format &format, ValueOf<B> zero) {
  if (format.zero == ZeroPoint::F16)
    return encodeF16(b, zero);
  return format.zero == ZeroPoint::F32 ? b.asInt(zero) : zero;
}
/// And back.
template <typename B>
ValueOf<B> loadZero(B &b, const Format &format, ValueOf<B> bits) {
  if (format.zero == ZeroPoint::F16)
    return decodeF16(b, bits);
  return format.zero == ZeroPoint::F32 ? b.asFloat(bits) : bits;
}

//===----------------------------------------------------------------------===//
// Decoding (dequantize_c1)
//===----------------------------------------------------------------------===//

/// fl(fl(element * scale) * tensor scale); `scale` is the decoded f32, `zero`
/// as loadZero returns it.
template <typename B>
ValueOf<B> decodeLanes(B &b, const Format &format, ValueOf<B> codes,
                       ValueOf<B> scale,
                       const OptionalValueOf<B> &tensorScale = std::nullopt,
                       const OptionalValueOf<B> &zero = std::nullopt) {
  using V = ValueOf<B>;
  V element = format.zero == ZeroPoint::None
                  ? decodeElement(b, format.element, codes)
                  : decodeWithZero(b, format, codes, *zero);
  V value = b.fmul(element, scale);
  return format.hasTensorScale ? b.fmul(value, *tensorScale) : value;
}

//===----------------------------------------------------------------------===//
// Choosing a candidate (scale_c14)
//===----------------------------------------------------------------------===//

/// The error of a row's lanes under a candidate, to be added lane by lane over
/// the rows of the block, then by reduceFAdd.
template <typename B>
ValueOf<B> candidateErrorRow(B &b, const Format &format, const ScaleRule &rule,
                             ValueOf<B> x,
                             const Candidate<ValueOf<B>> &candidate,
                             const TensorLevel<ValueOf<B>> &level) {
  using V = ValueOf<B>;
  V codes = encodeLanes(b, format, rule, x, candidate, Rounding::NearestEven);
  OptionalValueOf<B> tensor;
  if (format.hasTensorScale)
    tensor = level.decode;
  V scale = decodeScale(b, format.scale, candidate.scaleCode);
  V error = b.fsub(x, decodeLanes(b, format, codes, scale, tensor));
  if (rule.select == ScaleRule::Select::FourOverSixMAE)
    return b.asFloat(magnitudeBits(b, error));
  return b.fmul(error, error);
}

/// The first candidate unless the second's error is smaller.
template <typename B>
Candidate<ValueOf<B>>
pick(B &b, const Candidate<ValueOf<B>> &first, ValueOf<B> firstError,
     const Candidate<ValueOf<B>> &second, ValueOf<B> secondError) {
  ValueOf<B> smaller = b.flt(secondError, firstError);
  return {b.select(smaller, second.scaleCode, first.scaleCode),
          b.select(smaller, second.encode, first.encode), first.zero};
}

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_BLOCKCODING_H
