//===-- FoldFormat.cpp - Elements with their block scale in E4M3 ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FoldFormat.h"

#include "blockscale/Numerics/ElementCoding.h"
#include "blockscale/Numerics/HostBuilder.h"

#include <cmath>

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;

static constexpr int64_t kF16Bias = 15, kF16Mantissa = 10;

static FloatLayout e4m3() { return ElementType::floating(4, 3).layout; }

/// floor(log2(x)).
static int64_t exponentOf(float x) { return std::ilogb(x); }

std::optional<FoldFormat> FoldFormat::get(const Format &format) {
  const ElementType &element = format.element;
  if (element.kind != ElementType::Kind::Float || element.bits > 8 ||
      element.layout.specials != Specials::Finite || !element.layout.hasSign ||
      format.scale.kind != ScaleType::Kind::E8M0 || format.blockRows != 1 ||
      format.zero != ZeroPoint::None || format.blockCols % kRun != 0 ||
      element.layout.mantissaBits > e4m3().mantissaBits)
    return std::nullopt;
  FoldFormat result;
  result.element = element;
  result.blockCols = format.blockCols;
  result.top = exponentOf(e4m3().maxFinite() / element.maxMagnitude());
  // All elements are multiples of one power of two.
  auto unit = [](const FloatLayout &layout) -> int64_t {
    return layout.minExponent() - layout.mantissaBits;
  };
  result.bottom = unit(e4m3()) - unit(element.layout);
  if (result.top < result.bottom)
    return std::nullopt;
  // Bytes go through f16, by a power of two.
  if (result.bits() == 8 &&
      (result.top > kF16Bias || result.bottom <= -kF16Bias))
    return std::nullopt;
  return result;
}

Value FoldFormat::isNonZero(HopperCode &code, ArrayRef<Value> run) const {
  Value all = run[0];
  for (Value word : run.drop_front())
    all = code.bor(all, word);
  int64_t magnitude = (int64_t(1) << (element.bits - 1)) - 1;
  int64_t mask = magnitude * (bits() == 4 ? 0x11111111 : 0x01010101);
  return code.differs(code.band(all, mask), code.constant(0));
}

/// The E4M3 codes of the eight magnitudes of a 4-bit float times 2^exponent.
static uint64_t tableOf(const ElementType &element, int64_t exponent) {
  HostBuilder b;
  uint64_t table = 0;
  for (uint32_t code = 0; code < 8; ++code) {
    float value = decodeElement(b, element, b.i32(code)).asFloat();
    HostBuilder::Value folded = encodeFloat(
        b, e4m3(), b.f32(std::ldexp(value, exponent)), Rounding::NearestEven);
    table |= uint64_t(folded[0]) << 8 * code;
  }
  return table;
}

std::pair<Value, Value> FoldFormat::table(HopperCode &code, Value down) const {
  // While numbers stay normal a binade less is a step less in all codes but
  // zero's; the tables below that are constants.
  uint64_t first = tableOf(element, top);
  uint64_t step = 0;
  for (int64_t byte = 0; byte < 8; ++byte)
    if (first >> 8 * byte & 0xff)
      step |= uint64_t(1) << e4m3().mantissaBits << 8 * byte;
  int64_t steady = 0;
  while (steady < spread() &&
         tableOf(element, top - steady - 1) == first - (steady + 1) * step)
    ++steady;
  auto word = [&](uint64_t table, bool high) {
    return code.constant(static_cast<int32_t>(high ? table >> 32 : table));
  };
  SmallVector<Value, 2> words;
  for (bool high : {false, true})
    words.push_back(
        code.sub(word(first, high), code.mul(down, word(step, high))));
  for (int64_t d = steady + 1; d <= spread(); ++d) {
    Value isThis = code.eq(down, code.constant(d));
    for (bool high : {false, true})
      words[high] = code.select(isThis, word(tableOf(element, top - d), high),
                                words[high]);
  }
  return {words[0], words[1]};
}

/// Four codes in bytes through f16, which holds all numbers on the way.
Value FoldFormat::foldBytes(HopperCode &code, Value word, Value power) const {
  const FloatLayout &layout = element.layout;
  int64_t magnitudeBits = element.bits - 1;
  int64_t magnitude = (int64_t(1) << magnitudeBits) - 1;
  Value halves[2];
  for (int64_t i = 0; i < 2; ++i) {
    Value pair = code.permuteBytes(word, code.constant(0),
                                   code.constant(i ? 0x4342 : 0x4140));
    Value sign = code.band(code.shl(pair, 15 - magnitudeBits), 0x80008000);
    Value bits =
        code.shl(code.band(pair, magnitude | magnitude << 16),
                 kF16Mantissa - static_cast<int64_t>(layout.mantissaBits));
    int64_t bias = (2 * kF16Bias - layout.bias) << kF16Mantissa;
    Value value =
        code.mulF16x2(code.bor(sign, bits), code.constant(bias | bias << 16));
    halves[i] = code.mulF16x2(value, power);
  }
  return code.toE4M3x4(halves[0], halves[1]);
}

SmallVector<Value> FoldFormat::fold(HopperCode &code, ArrayRef<Value> run,
                                    Value down) const {
  down = code.min(down, code.constant(spread()));
  SmallVector<Value> folded;
  if (bits() == 8) {
    Value exponent = code.sub(code.constant(kF16Bias + top), down);
    Value power = code.splat16(code.shl(exponent, kF16Mantissa));
    for (Value word : run)
      folded.push_back(foldBytes(code, word, power));
    return folded;
  }
  auto [low, high] = table(code, down);
  for (Value word : run)
    for (int64_t half = 0; half < 2; ++half) {
      Value codes = half ? code.shr(word, 16) : word;
      Value magnitudes = code.permuteBytes(low, high, code.band(codes, 0x7777));
      // The high bit of a nibble makes prmt replicate a sign: bytes of 0xff
      // where the element has one, else the 0x80 itself.
      Value source = code.constant(static_cast<int32_t>(0x80808080));
      Value signs = code.permuteBytes(source, source, code.band(codes, 0xffff));
      folded.push_back(
          code.bor(magnitudes, code.band(code.shl(signs, 1),
                                         static_cast<int32_t>(0x80808080))));
    }
  return folded;
}
