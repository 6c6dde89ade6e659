//===-- GPUThreadOps.cpp - Steps of the kernels on a GPU ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GPUThreadOps.h"
#include "blockscale/Target/NVIDIA/ThreadCode.h"

#include "blockscale/Numerics/ElementCoding.h"
#include "blockscale/Numerics/Hadamard.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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

/// The sign bits of eight f32 as those of 4-bit elements of a word.
static Value signsOfWord(ThreadCode &t, ArrayRef<Value> y) {
  auto topBytes = [&](size_t first) {
    auto two = [&](Value low, Value high) {
      return t.permuteBytes(low, high, t.constant(0x0073));
    };
    return t.permuteBytes(two(y[first], y[first + 2]),
                          two(y[first + 4], y[first + 6]), t.constant(0x5410));
  };
  Value even = t.band(t.shr(topBytes(0), 4), 0x08080808);
  return t.bor(even, t.band(topBytes(1), int64_t(int32_t(0x80808080))));
}

/// Words of eight codes by the chip's conversion, which rounds to nearest even,
/// saturates, and makes a NaN the largest magnitude (PTX ISA, cvt; encode_c6).
static Value convertedToE2M1(ThreadCode &t, ArrayRef<Value> values) {
  auto type = TypeAttr::get(Float4E2M1FNType::get(t.builder.getContext()));
  SmallVector<Value> bytes;
  for (size_t i = 0; i < values.size(); i += 2)
    bytes.push_back(NVVM::ConvertF32x2ToF4x2Op::create(
        t.builder, t.loc, t.builder.getI8Type(), values[i + 1], values[i],
        t.builder.getBoolAttr(false), type));
  auto words = VectorType::get({int64_t(values.size()) / 8}, t.i32());
  return t.bitcast(t.pack(bytes), words);
}

Value GPUThreadOps::packedCodes(IRValueBuilder &b, const ElementType &type,
                                Value y, Rounding rounding,
                                const std::optional<Value> &random) const {
  const FloatLayout &layout = type.layout;
  if (type.kind != ElementType::Kind::Float || layout.width() != 4 ||
      !layout.hasSign || layout.nanCode() || b.lanes(y) % 8)
    return {};
  ThreadCode t(b.getBuilder(), b.getLoc());
  SmallVector<Value> values = t.unpack(y), words, randomBits;
  if (chip.convertsE2M1 && type == ElementType::floating(2, 1) &&
      rounding == Rounding::NearestEven)
    return convertedToE2M1(t, values);
  if (random)
    randomBits = t.unpack(*random);
  // A NaN is the largest magnitude here, as encode_c6 wants it, and has no
  // sign. One value after another, so that few are alive.
  auto codeOf = [&](size_t i) {
    Value u = LLVM::MinNumOp::create(t.builder, t.loc, magnitude(b, values[i]),
                                     b.f32(layout.maxFinite()));
    std::optional<Value> drawn;
    if (random)
      drawn = randomBits[i];
    return roundToGrid(b, gridOfFloat(layout), b.asInt(u), rounding, drawn);
  };
  for (size_t first = 0; first < values.size(); first += 8) {
    Value word = codeOf(first + 7);
    for (size_t i = 7; i-- > 0;)
      word = t.add(t.mul(word, 16), codeOf(first + i));
    SmallVector<Value> bits;
    for (size_t i = 0; i < 8; ++i)
      bits.push_back(b.asInt(values[first + i]));
    words.push_back(t.bor(word, signsOfWord(t, bits)));
  }
  return t.pack(words);
}

/// One value after another: shuffles stay in order, and of what they bring only
/// one is alive.
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
    lanes.push_back(butterflyOfParts(b, lane, other, sign));
  }
  return t.pack(lanes);
}
