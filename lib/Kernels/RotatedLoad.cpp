//===-- RotatedLoad.cpp - Values rotated while they are loaded ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RotatedLoad.h"
#include "RotateSigns.h"
#include "blockscale/Kernels/LaneAccess.h"
#include "blockscale/Kernels/ScaleResults.h"

#include "blockscale/Numerics/Hadamard.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

/// Rotations of fewer values are not worth a kernel with wide loads.
static constexpr int64_t kSmallestInside = 16;

RotateOp kernels::rotationInside(ScaleOp scale) {
  auto rotate = scale.getSource().getDefiningOp<RotateOp>();
  if (!rotate || rotate.getMatrix() || rotate->getBlock() != scale->getBlock())
    return {};
  auto type = rotate.getSource().getType();
  const Format &format = scale.getFormat().getValue();
  int64_t size = rotate.getSize(), cols = type.getShape().back();
  // Whole groups and whole blocks, one inside the other.
  if (rotate.getRotationAxis() != type.getRank() - 1 ||
      size < kSmallestInside || ShapedType::isDynamic(cols) ||
      format.blockRows != 1 || !llvm::isPowerOf2_64(format.blockCols) ||
      cols % std::max<int64_t>(size, format.blockCols) != 0)
    return {};
  SmallVector<QuantizeOp> quantizations = fusableQuantizations(scale, scale);
  for (Operation *user : rotate->getUsers()) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    if (user != scale &&
        !(quantize && llvm::is_contained(quantizations, quantize)))
      return {};
  }
  return rotate;
}

bool kernels::isInsideQuantizer(RotateOp rotate) {
  for (Operation *user : rotate->getUsers())
    if (auto scale = dyn_cast<ScaleOp>(user))
      return rotationInside(scale) == rotate;
  return false;
}

Rotation Rotation::of(RotateOp op) {
  return {static_cast<int64_t>(op.getSize()), op.getInverse(),
          SmallVector<int8_t>(op.getSigns().value_or(ArrayRef<int8_t>())),
          /*signBuffer=*/{}};
}

std::string Rotation::key() const {
  std::string key = kernelKey("rotated", size, inverse, bool(signBuffer));
  for (int8_t sign : signs)
    key += sign < 0 ? '-' : '+';
  return key;
}

/// The sign bits of part `part` of a group, as lanes; null if all are +.
static Value signsOfPart(IRValueBuilder &b, const Rotation &rotation,
                         Value part, int64_t lanes) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  if (lanes >= rotation.size) {
    Signs signs{rotation.signs, rotation.signBuffer};
    Value bits = signs.lanes(b, rotation.size);
    if (!bits || lanes == rotation.size)
      return bits;
    std::vector<int> repeated;
    for (int64_t i = 0; i < lanes; ++i)
      repeated.push_back(i % rotation.size);
    return b.shuffle(bits, repeated);
  }
  if (rotation.signBuffer) {
    Value first = IndexMath(builder, loc).mul(part, lanes);
    Value bytes = vector::LoadOp::create(
        builder, loc, VectorType::get({lanes}, builder.getI8Type()),
        rotation.signBuffer, ValueRange{first});
    Value wide = arith::ExtSIOp::create(
        builder, loc, VectorType::get({lanes}, builder.getI32Type()), bytes);
    return b.band(wide, b.i32(0x80000000u));
  }
  if (llvm::all_of(rotation.signs, [](int8_t sign) { return sign > 0; }))
    return {};
  // A word of bits for every 32 lanes, chosen by the part.
  Value part32 =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), part);
  Value result;
  for (int64_t first = 0; first < lanes; first += 32) {
    int64_t count = std::min<int64_t>(32, lanes - first);
    Value word;
    for (int64_t p = 0; p < rotation.size / lanes; ++p) {
      uint32_t bits = 0;
      for (int64_t i = 0; i < count; ++i)
        bits |= uint32_t(rotation.signs[p * lanes + first + i] < 0) << i;
      word = word ? b.select(b.eq(part32, b.i32(p)), b.i32(bits), word)
                  : b.i32(bits);
    }
    std::vector<uint32_t> shifts;
    for (int64_t i = 0; i < count; ++i)
      shifts.push_back(31 - i);
    Value bits =
        b.band(b.shl(word, b.laneConstants(shifts)), b.i32(0x80000000u));
    if (!result) {
      result = bits;
      continue;
    }
    std::vector<int64_t> both;
    for (int64_t i = 0; i < first + count; ++i)
      both.push_back(i);
    result = vector::ShuffleOp::create(builder, loc, result, bits, both);
  }
  return result;
}

/// The butterflies of `loaded`, whose part of the group has these sign bits.
static Value butterfliesOf(IRValueBuilder &b, const ThreadOps &ops,
                           const Rotation &rotation, Value loaded, Value part,
                           Value signBits) {
  IndexMath math(b.getBuilder(), b.getLoc());
  int64_t size = rotation.size, lanes = b.lanes(loaded);
  Value x = ops.widened(b, loaded);
  if (!rotation.inverse)
    x = flip(b, x, signBits);
  x = ops.butterfliesOfLanes(b, x, std::min(size, lanes));
  for (int64_t h = lanes; h < size; h *= 2) {
    Value isSecond = arith::CmpIOp::create(
        b.getBuilder(), b.getLoc(), arith::CmpIPredicate::ne,
        math.rem(math.div(part, h / lanes), 2), math.constant(0));
    x = ops.butterflyOfItems(b, x, h / lanes,
                             b.select(isSecond, b.f32(-1.0f), b.f32(1.0f)));
  }
  return x;
}

/// Which part of its group the `lanes` values at `index` are.
static Value partOf(IRValueBuilder &b, const Rotation &rotation, Value index,
                    int64_t lanes) {
  IndexMath math(b.getBuilder(), b.getLoc());
  int64_t parts = rotation.size / lanes;
  return parts > 1 ? math.rem(math.div(index, lanes), parts) : math.constant(0);
}

Value kernels::loadRotated(IRValueBuilder &b, const ThreadOps &ops,
                           const std::optional<Rotation> &rotation,
                           Value buffer, Value index, int64_t lanes,
                           int64_t valid, int64_t alignment) {
  Value loaded = loadNarrow(b, buffer, index, lanes, valid, alignment);
  if (!rotation)
    return loaded;
  Value part = partOf(b, *rotation, index, lanes);
  Value signBits = signsOfPart(b, *rotation, part, lanes);
  Value x = butterfliesOf(b, ops, *rotation, loaded, part, signBits);
  x = b.fmul(x, b.f32(rotationFactor(rotation->size)));
  if (rotation->inverse)
    x = flip(b, x, signBits);
  return ops.rounded(b, x, cast<MemRefType>(buffer.getType()).getElementType());
}

Value kernels::loadUnfinished(IRValueBuilder &b, const ThreadOps &ops,
                              const std::optional<Rotation> &rotation,
                              Value buffer, Value index, int64_t lanes,
                              int64_t alignment) {
  Value loaded = loadNarrow(b, buffer, index, lanes, lanes, alignment);
  if (!rotation)
    return ops.widened(b, loaded);
  Value part = partOf(b, *rotation, index, lanes);
  Value signBits;
  if (!rotation->inverse)
    signBits = signsOfPart(b, *rotation, part, lanes);
  return butterfliesOf(b, ops, *rotation, loaded, part, signBits);
}

Value kernels::finishMagnitude(IRValueBuilder &b, const Rotation &rotation,
                               Value magnitude, Type element) {
  Value scaled = b.fmul(magnitude, b.f32(rotationFactor(rotation.size)));
  return widenReals(b, roundReals(b, scaled, element));
}
