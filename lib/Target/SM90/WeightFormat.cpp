//===-- WeightFormat.cpp - Packed weights to bf16 in registers ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The magnitude bits of a small float, put where bf16 has its lowest exponent
// bits and its highest mantissa bits, are the value times 2^(bias - 127), with
// subnormals and zero for free. One multiplication by a power of two (and the
// block scale) makes it right: no table, three operations for two elements.
//
//===----------------------------------------------------------------------===//
#include "WeightFormat.h"
#include "CodeTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;

static constexpr int64_t kBF16Bias = 127, kBF16Mantissa = 7;
/// Largest exponent of a multiplier: its significand may be up to 2 - 2^-7.
static constexpr int64_t kMaxExponent = 127;

/// The bf16 2^exponent, twice.
static int64_t powerPair(int64_t exponent) {
  int64_t bits = (exponent + kBF16Bias) << kBF16Mantissa;
  return bits | bits << 16;
}

std::optional<WeightFormat> WeightFormat::get(const Format &format,
                                              bool trueValues) {
  const ElementType &element = format.element;
  const ScaleType &scale = format.scale;
  WeightFormat result;
  result.format = format;
  if (format.zero != ZeroPoint::None || format.blockRows != 1)
    return std::nullopt;
  if (int64_t block = format.blockCols; block & (block - 1))
    return std::nullopt;
  bool isFloat = element.kind == ElementType::Kind::Float;
  bool isInt4 = element.kind == ElementType::Kind::Int && element.bits == 4;
  if (!isFloat && !isInt4)
    return std::nullopt;
  result.storedBits = element.bits == 4 ? 4 : 8;
  // Only these layouts have specials this code restores, or none at all.
  if (isFloat && element.layout.specials != Specials::Finite &&
      (element.bits != 8 || element.layout.specials == Specials::TopReserved))
    return std::nullopt;
  int64_t significand = isFloat ? element.layout.mantissaBits + 1 : 3;
  if (scale.kind == ScaleType::Kind::E8M0) {
    // A power of two of any size: the element first, then the scale.
    result.elementFirst = true;
  } else if (scale.kind == ScaleType::Kind::Float) {
    significand += scale.layout.mantissaBits + 1;
    if (scale.layout.specials != Specials::NaNOnly)
      return std::nullopt;
    int64_t top = scale.layout.maxExponent() + result.rawExponent();
    result.elementFirst = trueValues;
    if (!trueValues)
      result.deferred = std::max<int64_t>(0, top - kMaxExponent);
    // The smallest product must stay a normal bf16 number.
    if (result.deferred > 64)
      return std::nullopt;
  } else {
    return std::nullopt;
  }
  if (significand > kBF16Mantissa + 1)
    return std::nullopt;
  return result;
}

int64_t WeightFormat::bitsExponent() const {
  if (format.element.kind == ElementType::Kind::Int)
    return -int64_t(format.element.fractionBits);
  return kBF16Bias - format.element.layout.bias;
}

WeightFormat WeightFormat::lookingUp() const {
  WeightFormat result = *this;
  result.hasTable = true;
  // Multipliers then are the scales alone. Those of E8M0 could be subnormal.
  result.trueTable = format.scale.kind == ScaleType::Kind::Float;
  if (result.trueTable)
    result.deferred = 0;
  return result;
}

std::array<int, 8> WeightFormat::order() const {
  // A table gives neighbours, arithmetic what is 16 bits apart.
  if (hasTable)
    return {0, 1, 2, 3, 4, 5, 6, 7};
  if (storedBits == 4)
    return {0, 4, 1, 5, 2, 6, 3, 7};
  return {0, 2, 1, 3, 4, 6, 5, 7};
}

/// bf16 powers of two from one or two E8M0 codes, a half word each. Code 0, a
/// subnormal bf16, and 255, NaN, both need bit 6.
static Value powersOfTwo(HopperCode &code, Value codes) {
  Value next = code.band(code.add(codes, 0x00010001), 0x00fe00fe);
  // Carries out of 0xfe and below set one of bits 1 to 7: special if none is.
  Value ordinary =
      code.band(code.shr(code.add(next, 0x00fe00fe), 2), 0x00400040);
  Value special = code.bxor(ordinary, code.constant(0x00400040));
  return code.bor(code.shl(codes, kBF16Mantissa), special);
}

WeightFormat WeightFormat::plain() const {
  WeightFormat result = *this;
  result.plainScales = true;
  // A scale up to 1 can take the element's own power of two along.
  if (format.scale.kind == ScaleType::Kind::E8M0 && rawExponent() > 0)
    result.elementFirst = false;
  return result;
}

Value WeightFormat::unusual(HopperCode &code, Value codes) const {
  if (format.scale.kind == ScaleType::Kind::E8M0)
    return code.band(codes, 0x00800080);
  int64_t mask = (1 << format.scale.layout.width()) - 1;
  return code.band(code.add(code.band(codes, mask | mask << 16), 0x00010001),
                   (mask + 1) | (mask + 1) << 16);
}

Value WeightFormat::multiplierPair(HopperCode &code, Value codes) const {
  if (format.scale.kind == ScaleType::Kind::E8M0) {
    if (!plainScales || elementFirst)
      return powersOfTwo(code, codes);
    return code.add(code.shl(codes, kBF16Mantissa),
                    (powerPair(rawExponent()) - powerPair(0)));
  }
  const FloatLayout &layout = format.scale.layout;
  int64_t place = kBF16Mantissa - layout.mantissaBits;
  int64_t mask = (1 << layout.width()) - 1;
  if (layout.width() < 8)
    codes = code.band(codes, mask | mask << 16);
  Value pair = code.shl(codes, place);
  if (!plainScales) {
    // The NaN code, all ones, carries into the next bit: bf16's exponent gets
    // the ones that it lacks.
    Value flags =
        code.band(code.add(codes, 0x00010001), (mask + 1) | (mask + 1) << 16);
    int64_t missing = (0xff << kBF16Mantissa) & ~(mask << place);
    pair = code.add(code.mul(flags, missing >> layout.width()), pair);
  }
  pair =
      code.mulBF16x2(pair, code.constant(powerPair(kBF16Bias - layout.bias)));
  int64_t exponent = elementFirst ? 0 : rawExponent() - deferred;
  if (exponent)
    pair = code.mulBF16x2(pair, code.constant(powerPair(exponent)));
  return pair;
}

WeightFormat::Multipliers WeightFormat::multipliers(HopperCode &code,
                                                    Value scaleCodes,
                                                    int64_t count) const {
  Multipliers result;
  for (int64_t i = 0; i < count; i += 2) {
    bool two = i + 1 < count;
    // Two codes at a time, a half word each.
    Value codes = code.permuteBytes(
        scaleCodes, code.constant(0),
        code.constant(two ? 0x4140 + (i | i << 8) : 0x4440 + i));
    Value pair = multiplierPair(code, codes);
    result.pairs.push_back(code.splat16(pair));
    if (two)
      result.pairs.push_back(
          code.permuteBytes(pair, pair, code.constant(0x3232)));
  }
  return result;
}

Value WeightFormat::decodePair(HopperCode &code, Value word,
                               int64_t low) const {
  auto moved = [&](int64_t to, int64_t mask) {
    Value bits = to >= 0 ? code.shl(word, to) : code.shr(word, -to);
    return code.band(bits, mask | mask << 16);
  };
  if (format.element.kind == ElementType::Kind::Int) {
    // 128 + (code + 8) is a bf16 number with the code's bits at its end.
    Value bits = code.bxor(moved(-low, 0xf), code.constant(0x43084308));
    return code.subBF16x2(bits, code.constant(0x43084308));
  }
  const FloatLayout &layout = format.element.layout;
  int64_t magnitudeBits = layout.exponentBits + layout.mantissaBits;
  int64_t place = kBF16Mantissa - layout.mantissaBits;
  int64_t width = magnitudeBits + 1;
  if (15 - magnitudeBits - place >= width && storedBits == 4) {
    int64_t keep = 0x8000 | ((int64_t(1) << magnitudeBits) - 1) << place;
    // The last code's sign is in its place, and its magnitude after a shift
    // that serves the code before it, too.
    int64_t shift = 12 - place;
    if (low == 12) {
      int64_t magnitude = keep & 0x7fff;
      return code.bor(
          code.band(code.shr(word, shift), magnitude | magnitude << 16),
          code.band(word, int64_t(0x80008000)));
    }
    if (low == 8) {
      word = code.shr(word, shift);
      low -= shift;
    }
    // Copies of the code for sign and magnitude do not overlap: one
    // multiplication makes both.
    int64_t field = int64_t(0xf) << low;
    int64_t factor =
        int64_t(1) << (15 - magnitudeBits - low) | int64_t(1) << (place - low);
    return code.band(code.mul(code.band(word, field | field << 16), factor),
                     keep | keep << 16);
  }
  Value sign = moved(15 - magnitudeBits - low, 0x8000);
  Value magnitude =
      moved(place - low, ((int64_t(1) << magnitudeBits) - 1) << place);
  Value bits = code.bor(sign, magnitude);
  if (layout.specials == Specials::Finite)
    return bits;
  // Adding one in the last place that tells specials carries into bit 7 (or
  // 15) of the code, where the sign was: that code gets bf16's top exponent.
  int64_t unit = layout.specials == Specials::NaNOnly
                     ? 1
                     : int64_t(1) << layout.mantissaBits;
  int64_t body = 0x7f & ~(unit - 1);
  Value carried = code.add(code.band(word, body * 0x01010101),
                           code.constant(unit * 0x01010101));
  Value flags = code.band(low ? code.shr(carried, low) : carried, 0x00800080);
  return code.bor(bits, code.mul(flags, 0xff));
}

SmallVector<Value> WeightFormat::decodeUnit(HopperCode &code,
                                            ArrayRef<Value> words, int64_t unit,
                                            const Multipliers &multipliers,
                                            const CodeTable *table) const {
  SmallVector<Value> raw;
  if (hasTable)
    for (int64_t i = 0; i < 4; ++i)
      raw.push_back(table->lookUp(code, words[unit], code.constant(i)));
  else if (storedBits == 4)
    for (int64_t i = 0; i < 4; ++i)
      raw.push_back(decodePair(code, words[unit], 4 * i));
  else
    for (int64_t i = 0; i < 4; ++i)
      raw.push_back(decodePair(code, words[2 * unit + i / 2], 8 * (i % 2)));
  Value scale = multipliers.pairs[std::min<int64_t>(
      unit * 8 / block(), multipliers.pairs.size() - 1)];
  for (Value &pair : raw)
    pair = scalePair(code, pair, scale);
  return raw;
}

Value WeightFormat::tableEntry(HopperCode &code, Value byte) const {
  // The second element moves to bit 16; what else lands there is masked.
  Value raw = decodePair(code, code.mul(byte, 0x1001), 0);
  return trueTable
             ? code.mulBF16x2(raw, code.constant(powerPair(bitsExponent())))
             : raw;
}

Value WeightFormat::scalePair(HopperCode &code, Value raw,
                              Value multiplier) const {
  if (elementFirst && rawExponent())
    raw = code.mulBF16x2(raw, code.constant(powerPair(rawExponent())));
  return code.mulBF16x2(raw, multiplier);
}

Value WeightFormat::decodeNeighbours(HopperCode &code, Value stored,
                                     Value multiplier) const {
  Value raw = storedBits == 4
                  ? decodePair(code, code.mul(stored, 0x1001), 0)
                  : decodePair(code,
                               code.permuteBytes(stored, code.constant(0),
                                                 code.constant(0x4140)),
                               0);
  return scalePair(code, raw, multiplier);
}

Value WeightFormat::trueSum(HopperCode &code, Value sum) const {
  if (!deferred)
    return sum;
  Value factor = arith::ConstantOp::create(
      code.builder, code.loc,
      code.builder.getF32FloatAttr(std::ldexp(1.0f, deferred)));
  return arith::MulFOp::create(code.builder, code.loc, sum, factor);
}

SmallVector<Value>
WeightFormat::trueSums(HopperCode &code,
                       ArrayRef<SmallVector<Value>> parts) const {
  SmallVector<Value> total = parts.front();
  for (ArrayRef<Value> part : parts.drop_front())
    for (auto [sum, more] : llvm::zip_equal(total, part))
      sum = arith::AddFOp::create(code.builder, code.loc, sum, more);
  for (Value &sum : total)
    sum = trueSum(code, sum);
  return total;
}
