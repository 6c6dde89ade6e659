//===-- GPUThreadOps.cpp - Steps of the kernels on a GPU ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GPUThreadOps.h"
#include "blockscale/Target/NVIDIA/ThreadCode.h"

#include "blockscale/Numerics/ElementCoding.h"
#include "blockscale/Numerics/Hadamard.h"
#include "blockscale/Numerics/Philox.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;

static Value magnitude(IRValueBuilder &b, Value x) {
  return LLVM::FAbsOp::create(b.getBuilder(), b.getLoc(), x);
}

Value GPUThreadOps::foldAmax(IRValueBuilder &b, Value bitsSoFar,
                             Value x) const {
  return b.asInt(LLVM::MaxNumOp::create(b.getBuilder(), b.getLoc(),
                                        b.asFloat(bitsSoFar), magnitude(b, x)));
}

Value nvidia::instruction(ThreadCode &t, StringRef text, StringRef constraints,
                          Type result, ValueRange operands, bool stays) {
  return LLVM::InlineAsmOp::create(
             t.builder, t.loc, result, operands, text, constraints,
             /*has_side_effects=*/stays,
             /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
             LLVM::AsmDialectAttr::get(t.builder.getContext(),
                                       LLVM::AsmDialect::AD_ATT),
             /*operand_attrs=*/ArrayAttr())
      ->getResult(0);
}

/// Twice as much where a group of the rotation does not fit: a stage less goes
/// through warp shuffles.
int64_t GPUThreadOps::itemColumns(int64_t rotation) const {
  return rotation > 32 ? 64 : 32;
}

/// By halves, so that 16-bit values stay in pairs: an instruction for two.
Value GPUThreadOps::maxMagnitude(IRValueBuilder &b, Value x) const {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  Value largest = magnitude(b, x);
  int64_t n = b.lanes(x);
  auto slice = [&](int64_t first, int64_t count) -> Value {
    return vector::ExtractStridedSliceOp::create(
        builder, loc, largest, ArrayRef<int64_t>{first},
        ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1});
  };
  for (; n > 1 && n % 2 == 0; n /= 2)
    largest = LLVM::MaximumOp::create(builder, loc, slice(0, n / 2),
                                      slice(n / 2, n / 2));
  SmallVector<Value> rest = ThreadCode(builder, loc).unpack(largest);
  Value result = rest[0];
  for (Value lane : ArrayRef<Value>(rest).drop_front())
    result = LLVM::MaximumOp::create(builder, loc, result, lane);
  return ThreadCode(builder, loc).toF32(result);
}

/// bf16 two at a time from their words: a shift for one, a mask for the other.
Value GPUThreadOps::widened(IRValueBuilder &b, Value x) const {
  ThreadCode t(b.getBuilder(), b.getLoc());
  auto type = dyn_cast<VectorType>(x.getType());
  if (!type || !type.getElementType().isBF16() || type.getDimSize(0) % 2)
    return kernels::ThreadOps::widened(b, x);
  auto words = VectorType::get({type.getDimSize(0) / 2}, t.i32());
  SmallVector<Value> lanes;
  for (Value word : t.unpack(t.bitcast(x, words))) {
    lanes.push_back(b.asFloat(t.shl(word, 16)));
    lanes.push_back(b.asFloat(t.band(word, int64_t(int32_t(0xffff0000)))));
  }
  return t.pack(lanes);
}

/// The chip's conversion, where arith.truncf would become integer arithmetic.
Value GPUThreadOps::rounded(IRValueBuilder &b, Value x, Type element) const {
  if (element.isF32())
    return x;
  ThreadCode t(b.getBuilder(), b.getLoc());
  auto mode = NVVM::FPRoundingMode::RN;
  auto pair = VectorType::get({2}, element);
  SmallVector<Value> lanes = t.unpack(x), pairs;
  for (size_t i = 0; i < lanes.size(); i += 2) {
    Value low = lanes[i], high = lanes[i + 1];
    Value both;
    if (element.isBF16())
      both = NVVM::ConvertF32x2ToBF16x2Op::create(t.builder, t.loc, pair, high,
                                                  low, Value(), mode);
    else
      both = NVVM::ConvertF32x2ToF16x2Op::create(t.builder, t.loc, pair, high,
                                                 low, Value(), mode);
    pairs.push_back(t.bitcast(both, t.i32()));
  }
  return t.bitcast(t.pack(pairs), withLanesOf(element, x.getType()));
}

namespace {
/// Multiplies by mul.wide, once for both words; LLVM would split it in two.
class WideMultiplies : public IRValueBuilder {
public:
  explicit WideMultiplies(const IRValueBuilder &b) : IRValueBuilder(b) {}

  std::pair<Value, Value> mulWide(Value a, Value b) {
    if (matchPattern(a, m_Zero()) || matchPattern(b, m_Zero()))
      return {i32(0), i32(0)};
    ThreadCode t(getBuilder(), getLoc());
    SmallVector<Value> low, high;
    for (Value lane : t.unpack(a)) {
      Value product = multiply(t, lane, b);
      low.push_back(LLVM::ExtractValueOp::create(t.builder, t.loc, product, 0));
      high.push_back(
          LLVM::ExtractValueOp::create(t.builder, t.loc, product, 1));
    }
    return {t.pack(low), t.pack(high)};
  }

private:
  static Value multiply(ThreadCode &t, Value a, Value b) {
    auto words = LLVM::LLVMStructType::getLiteral(t.builder.getContext(),
                                                  {t.i32(), t.i32()});
    return instruction(
        t, "{ .reg .b64 p; mul.wide.u32 p, $2, $3; mov.b64 {$0, $1}, p; }",
        "=r,=r,r,r", words, {a, b}, /*stays=*/false);
  }
};
} // namespace

Value GPUThreadOps::randomBits(IRValueBuilder &b, Value indexLow,
                               Value indexHigh, int64_t count, Value seedLow,
                               Value seedHigh) const {
  WideMultiplies wide(b);
  return randomLanes(wide, indexLow, indexHigh, count, seedLow, seedHigh);
}

namespace {
/// Encodes scales by the chip's conversions.
class ScaleConversions : public IRValueBuilder {
public:
  ScaleConversions(const IRValueBuilder &b, const Chip &chip)
      : IRValueBuilder(b), chip(chip) {}

  /// One code of 8 bits as i32.
  Value convert(Value x, Type type, NVVM::FPRoundingMode mode,
                NVVM::SaturationMode saturation) {
    OpBuilder &builder = getBuilder();
    Value code = NVVM::ConvertF32x2ToF8x2Op::create(
        builder, getLoc(), builder.getI16Type(), f32(0), x, mode, saturation,
        /*relu=*/false, type);
    return arith::ExtUIOp::create(builder, getLoc(), builder.getI32Type(),
                                  code);
  }

  const Chip &chip;
};

/// Hides the template (scale_c2): where only a NaN and what is above 2^127 give
/// more than 254.
Value roundedExponent(ScaleConversions &b, Value magnitude, Rounding rounding) {
  if (!b.chip.convertsFP4 || rounding != Rounding::Up)
    return blockscale::roundedExponent<IRValueBuilder>(b, magnitude, rounding);
  return b.convert(b.asFloat(magnitude),
                   Float8E8M0FNUType::get(b.getBuilder().getContext()),
                   NVVM::FPRoundingMode::RP, NVVM::SaturationMode::NONE);
}

/// Hides the template (scale_c1, scale_c3).
Value encodeScale(ScaleConversions &b, const ScaleType &type, Value value,
                  Rounding rounding) {
  FloatLayout e4m3 = ElementType::floating(4, 3).layout;
  e4m3.hasSign = false;
  if (!b.chip.convertsFP8 || rounding != Rounding::NearestEven ||
      type.kind != ScaleType::Kind::Float || !(type.layout == e4m3))
    return blockscale::encodeScale<IRValueBuilder>(b, type, value, rounding);
  return b.convert(magnitude(b, value),
                   Float8E4M3FNType::get(b.getBuilder().getContext()),
                   NVVM::FPRoundingMode::RN, NVVM::SaturationMode::SATFINITE);
}
} // namespace

std::vector<Candidate<Value>> GPUThreadOps::scaleCandidates(
    IRValueBuilder &b, const Format &format, const ScaleRule &rule,
    const Measure<Value> &measure, const TensorLevel<Value> &level) const {
  ScaleConversions conversions(b, chip);
  return candidates(conversions, format, rule, measure, level);
}

Value GPUThreadOps::butterfliesOfLanes(IRValueBuilder &b, Value x,
                                       int64_t size) const {
  ThreadCode t(b.getBuilder(), b.getLoc());
  std::vector<Value> lanes;
  for (Value lane : t.unpack(x))
    lanes.push_back(lane);
  butterfliesOfRows(b, lanes, size);
  return t.pack(lanes);
}

/// butterflyOfParts, one value after another. LLVM would move the sums behind
/// all shuffles, into the branch that stores, and then all that the shuffles
/// bring is alive at once.
Value GPUThreadOps::butterflyOfItems(IRValueBuilder &b, Value x, int64_t mask,
                                     Value sign) const {
  ThreadCode t(b.getBuilder(), b.getLoc());
  Value all = t.constant(-1), partner = t.constant(mask),
        lastLane = t.constant(31);
  SmallVector<Value> lanes;
  for (Value lane : t.unpack(x)) {
    Value other = NVVM::ShflOp::create(t.builder, t.loc, lane.getType(), all,
                                       lane, partner, lastLane,
                                       NVVM::ShflKind::bfly, UnitAttr());
    lanes.push_back(instruction(t, "fma.rn.f32 $0, $1, $2, $3;", "=f,f,f,f",
                                t.f32(), {lane, sign, other}, /*stays=*/true));
  }
  return t.pack(lanes);
}
