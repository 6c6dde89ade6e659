//===-- NibblesToBf16.cpp - Eight 4-bit codes times a scale ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NibblesToBf16.h"

#include "blockscale/Numerics/ElementCoding.h"
#include "blockscale/Numerics/HostBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;
using namespace blockscale::sm80;

unsigned sm80::significantBits(const MatmulSide &side) {
  Type type = side.type.getElementType();
  if (!side.format)
    return type.isBF16() ? 8 : type.isF16() ? 11 : 24;
  const ElementType &element = side.format->element;
  unsigned bits = 24;
  switch (element.kind) {
  case ElementType::Kind::Float:
    bits = element.layout.mantissaBits + 1;
    break;
  case ElementType::Kind::Int:
    bits = element.bits - 1;
    break;
  case ElementType::Kind::UInt:
    bits = side.format->zero == ZeroPoint::Code ? element.bits : 24;
    break;
  case ElementType::Kind::Midrise:
    bits = element.bits;
    break;
  case ElementType::Kind::Codebook:
    break;
  }
  switch (side.format->scale.kind) {
  case ScaleType::Kind::E8M0:
    break;
  case ScaleType::Kind::Float:
    bits += side.format->scale.layout.mantissaBits + 1;
    break;
  case ScaleType::Kind::F16:
    bits += 11;
    break;
  case ScaleType::Kind::BF16:
    bits += 8;
    break;
  case ScaleType::Kind::F32:
    bits += 24;
    break;
  }
  return std::min(bits, 24u);
}

bool sm80::hasFastNibbles(const MatmulSide &side) {
  if (!side.format || side.storageBits() != 4 || significantBits(side) > 8)
    return false;
  ElementType::Kind kind = side.format->element.kind;
  return kind == ElementType::Kind::Float || kind == ElementType::Kind::Int;
}

static Value asPair(ThreadCode &code, Value word) {
  return code.bitcast(word, VectorType::get({2}, code.builder.getBF16Type()));
}

/// Both halves of a pair: `value` (f32) as bf16.
static Value splat(ThreadCode &code, Value value) {
  return NVVM::ConvertF32x2ToBF16x2Op::create(
      code.builder, code.loc, VectorType::get({2}, code.builder.getBF16Type()),
      value, value, Value(), NVVM::FPRoundingMode::RN);
}

/// Bytes `first` (0: low, 1: high) of the bf16 of magnitudes 0 to 7, as two
/// words.
static std::array<uint32_t, 2> magnitudeBytes(const ElementType &element,
                                              unsigned first) {
  HostBuilder b;
  std::array<uint32_t, 2> words = {0, 0};
  for (uint32_t magnitude = 0; magnitude < 8; ++magnitude) {
    HostBuilder::Value value = decodeElement(b, element, b.i32(magnitude));
    uint32_t bf16 = b.asInt(value)[0] >> 16;
    words[magnitude / 4] |= (bf16 >> (8 * first) & 0xFF)
                            << (8 * (magnitude % 4));
  }
  return words;
}

/// Sign-magnitude codes.
static SmallVector<Value>
fromMagnitudes(ThreadCode &code, const ElementType &element, Value word) {
  auto table = [&](unsigned byte, Value selector) {
    std::array<uint32_t, 2> words = magnitudeBytes(element, byte);
    return code.permuteBytes(code.constant(static_cast<int32_t>(words[0])),
                             code.constant(static_cast<int32_t>(words[1])),
                             selector);
  };
  // A selector with bit 3 gives the sign of the byte eight times: 0xFF for
  // codes with a sign, 0x80 for others.
  Value signBytes = code.constant(static_cast<int32_t>(0x80808080));
  SmallVector<Value> pairs;
  for (int64_t half = 0; half < 2; ++half) {
    Value codes = code.shr(word, 16 * half);
    Value magnitudes = code.band(codes, 0x7777);
    Value low = table(0, magnitudes), high = table(1, magnitudes);
    Value sign = code.permuteBytes(signBytes, signBytes, codes);
    sign = code.band(code.shl(sign, 1),
                     code.constant(static_cast<int32_t>(0x80808080)));
    high = code.bor(high, sign);
    for (int64_t selector : {0x5140, 0x7362})
      pairs.push_back(code.permuteBytes(low, high, code.constant(selector)));
  }
  return pairs;
}

/// Two's complement: 128 + (code ^ 8) has the code in the low bits of its
/// mantissa, and is 136 too large.
static SmallVector<Value> fromIntegers(ThreadCode &code, Value word) {
  Value odd = code.shr(word, 4);
  Value offset = splat(
      code, arith::ConstantOp::create(code.builder, code.loc,
                                      code.builder.getF32FloatAttr(136.0f)));
  SmallVector<Value> pairs;
  for (int64_t pair = 0; pair < 4; ++pair) {
    int64_t even = pair, other = pair + 4;
    Value bytes = code.permuteBytes(
        word, odd, code.constant(even | even << 4 | other << 8 | other << 12));
    Value shifted =
        code.bxor(code.band(bytes, 0x000F000F), code.constant(0x43084308));
    Value exact = LLVM::FSubOp::create(code.builder, code.loc,
                                       asPair(code, shifted), offset);
    pairs.push_back(code.bitcast(exact, code.i32()));
  }
  return pairs;
}

SmallVector<Value> sm80::nibblesToBf16(ThreadCode &code,
                                       const ElementType &element, Value word,
                                       Value scale) {
  SmallVector<Value> pairs;
  if (element.kind == ElementType::Kind::Float) {
    pairs = fromMagnitudes(code, element, word);
  } else {
    pairs = fromIntegers(code, word);
    Value unit = arith::ConstantOp::create(
        code.builder, code.loc,
        code.builder.getF32FloatAttr(1.0f / (1 << element.fractionBits)));
    scale = arith::MulFOp::create(code.builder, code.loc, scale, unit);
  }
  Value factor = splat(code, scale);
  for (Value &pair : pairs) {
    Value product = LLVM::FMulOp::create(code.builder, code.loc,
                                         asPair(code, pair), factor);
    pair = code.bitcast(product, code.i32());
  }
  return pairs;
}
