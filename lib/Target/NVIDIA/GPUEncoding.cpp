//===-- GPUEncoding.cpp - Elements to codes on a GPU ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GPUThreadOps.h"
#include "blockscale/Target/NVIDIA/ThreadCode.h"

#include "blockscale/Numerics/ElementCoding.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;

/// Elements of 4 bits lie in pairs in a byte, others alone.
static int64_t codesPerWord(const FloatLayout &layout) {
  return layout.width() == 4 ? 8 : 4;
}

/// The highest bytes of four words.
static Value topBytes(ThreadCode &t, Value a, Value b, Value c, Value d) {
  auto two = [&](Value low, Value high) {
    return t.permuteBytes(low, high, t.constant(0x0073));
  };
  return t.permuteBytes(two(a, b), two(c, d), t.constant(0x5410));
}

/// The sign bits of eight f32 as those of 4-bit elements of a word.
static Value signsOfNibbles(ThreadCode &t, ArrayRef<Value> y) {
  Value even = topBytes(t, y[0], y[2], y[4], y[6]),
        odd = topBytes(t, y[1], y[3], y[5], y[7]);
  return t.bor(t.band(t.shr(even, 4), 0x08080808),
               t.band(odd, int64_t(int32_t(0x80808080))));
}

/// The sign bits of four f32 as those of elements of a byte each.
static Value signsOfBytes(ThreadCode &t, const FloatLayout &layout,
                          ArrayRef<Value> y) {
  unsigned unused = 8 - layout.width();
  uint32_t mask = 0x80808080u >> unused;
  return t.band(t.shr(topBytes(t, y[0], y[1], y[2], y[3]), unused),
                int64_t(int32_t(mask)));
}

/// Rounding to nearest even by the chip's conversion of two f32 at a time,
/// which saturates; null where it has none. A NaN becomes the largest magnitude
/// or 0x7f (PTX ISA, cvt; encode_c6).
static Value convertedCodes(ThreadCode &t, const Chip &chip,
                            const ElementType &type, ArrayRef<Value> values) {
  MLIRContext *context = t.builder.getContext();
  auto is = [&](unsigned exponentBits, unsigned mantissaBits) {
    return type == ElementType::floating(exponentBits, mantissaBits);
  };
  Type byte = t.builder.getI8Type(), two = t.builder.getI16Type();
  function_ref<Value(Value, Value)> pair;
  auto toF8 = [&](Type element) {
    return [&, element](Value high, Value low) -> Value {
      return NVVM::ConvertF32x2ToF8x2Op::create(
          t.builder, t.loc, two, high, low, NVVM::FPRoundingMode::RN,
          NVVM::SaturationMode::SATFINITE, /*relu=*/false, element);
    };
  };
  auto toF6 = [&](Type element) {
    return [&, element](Value high, Value low) -> Value {
      return NVVM::ConvertF32x2ToF6x2Op::create(t.builder, t.loc, two, high,
                                                low, /*relu=*/false, element);
    };
  };
  auto toE4M3 = toF8(Float8E4M3FNType::get(context)),
       toE5M2 = toF8(Float8E5M2Type::get(context));
  auto toE2M3 = toF6(Float6E2M3FNType::get(context)),
       toE3M2 = toF6(Float6E3M2FNType::get(context));
  auto toE2M1 = [&](Value high, Value low) -> Value {
    return NVVM::ConvertF32x2ToF4x2Op::create(
        t.builder, t.loc, byte, high, low, t.builder.getBoolAttr(false),
        TypeAttr::get(Float4E2M1FNType::get(context)));
  };
  if (chip.convertsFP8 && is(4, 3))
    pair = toE4M3;
  else if (chip.convertsFP8 && is(5, 2))
    pair = toE5M2;
  else if (chip.convertsFP4 && is(2, 3))
    pair = toE2M3;
  else if (chip.convertsFP4 && is(3, 2))
    pair = toE3M2;
  else if (chip.convertsFP4 && is(2, 1))
    pair = toE2M1;
  else
    return {};
  SmallVector<Value> pairs;
  for (size_t i = 0; i < values.size(); i += 2)
    pairs.push_back(pair(values[i + 1], values[i]));
  int64_t codes = codesPerWord(type.layout);
  Value words =
      t.bitcast(t.pack(pairs),
                VectorType::get({int64_t(values.size()) / codes}, t.i32()));
  if (!is(5, 2))
    return words;
  // Of the NaNs of e5m2 encode_c6 wants 0x7d.
  SmallVector<Value> fixed;
  for (Value word : t.unpack(words)) {
    Value isNaN = t.add(t.band(word, 0x7f7f7f7f), 0x01010101);
    fixed.push_back(t.bxor(word, t.band(t.shr(isNaN, 6), 0x02020202)));
  }
  return t.pack(fixed);
}

/// The code of the magnitude `u`, at most the largest, by the `random` bits.
///
/// z is u in units of 2^-32 of the grid's step: u times a constant in the
/// lowest binade and below, where the step stays, and above that the
/// significand. Its whole steps leave by a sum rounded toward zero; what they
/// leave, y, is exact. For an integer r, r < ceil(y) is r < y (encode_c5), and
/// as y is an f32, so is r rounded toward zero.
static Value stochasticCode(IRValueBuilder &b, ThreadCode &t,
                            const MagnitudeGrid &grid, Value u, Value random) {
  auto power = [](int exponent) { // of two
    return uint32_t(int(kF32Bias) + exponent) << kF32MantissaBits;
  };
  auto intrinsic = [&](StringRef name, ValueRange operands) -> Value {
    return LLVM::CallIntrinsicOp::create(t.builder, t.loc, t.f32(),
                                         t.builder.getStringAttr(name),
                                         operands)
        .getResult(0);
  };
  const int m = grid.mantissaBits,
            smallest = int(grid.minBiasedExponent) - int(kF32Bias);
  Value low = b.asInt(b.fmul(u, b.f32(f32OfBits(power(32 + m - smallest)))));
  // (u & mantissa) | exponent, of which LLVM would make two.
  Value high =
      instruction(t, "lop3.b32 $0, $1, $2, $3, 0xea;", "=r,r,n,n", t.i32(),
                  {b.asInt(u), b.i32(kF32MantissaMask), b.i32(power(32 + m))},
                  /*stays=*/false);
  Value z = b.umin(low, high);
  uint32_t magic = power(32 + kF32MantissaBits);
  Value sum =
      intrinsic("llvm.nvvm.add.rz.f", {b.asFloat(z), b.f32(f32OfBits(magic))});
  Value y = b.fsub(b.asFloat(z), b.fsub(sum, b.f32(f32OfBits(magic))));
  Value r = intrinsic("llvm.nvvm.ui2f.rz", random);
  Value up = b.lshr(b.asInt(b.fsub(r, y)), b.i32(31));
  Value binades = b.lshr(b.sub(low, z), b.i32(kF32MantissaBits - m));
  return b.add(b.add(b.sub(b.asInt(sum), b.i32(magic)), binades), up);
}

Value GPUThreadOps::packedCodes(IRValueBuilder &b, const ElementType &type,
                                Value y, Rounding rounding,
                                const std::optional<Value> &random) const {
  const FloatLayout &layout = type.layout;
  if (type.kind != ElementType::Kind::Float || !layout.hasSign)
    return {};
  size_t perWord = codesPerWord(layout);
  if (b.lanes(y) % perWord)
    return {};
  ThreadCode t(b.getBuilder(), b.getLoc());
  SmallVector<Value> values = t.unpack(y), words, randomBits;
  if (rounding == Rounding::NearestEven)
    if (Value converted = convertedCodes(t, chip, type, values))
      return converted;
  if (random)
    randomBits = t.unpack(*random);
  // A NaN is the largest magnitude here, as encode_c6 wants it where there is
  // no NaN, and has no sign. One value after another, so that few are alive.
  auto codeOf = [&](size_t i) -> Value {
    Value u = LLVM::MinNumOp::create(
        t.builder, t.loc, LLVM::FAbsOp::create(t.builder, t.loc, values[i]),
        b.f32(layout.maxFinite()));
    Value code =
        rounding == Rounding::Stochastic
            ? stochasticCode(b, t, gridOfFloat(layout), u, randomBits[i])
            : roundToGrid<IRValueBuilder>(b, gridOfFloat(layout), b.asInt(u),
                                          rounding, std::nullopt);
    std::optional<uint32_t> nan = layout.nanCode();
    if (!nan)
      return code;
    Value isNaN = arith::CmpFOp::create(
        t.builder, t.loc, arith::CmpFPredicate::UNO, values[i], values[i]);
    return b.select(isNaN, b.i32(*nan), code);
  };
  for (size_t first = 0; first < values.size(); first += perWord) {
    Value word = codeOf(first + perWord - 1);
    for (size_t i = perWord - 1; i-- > 0;)
      word = t.add(t.mul(word, int64_t(1) << 32 / perWord), codeOf(first + i));
    SmallVector<Value> bits;
    for (size_t i = 0; i < perWord; ++i)
      bits.push_back(b.asInt(values[first + i]));
    words.push_back(t.bor(word, perWord == 8 ? signsOfNibbles(t, bits)
                                             : signsOfBytes(t, layout, bits)));
  }
  return t.pack(words);
}
