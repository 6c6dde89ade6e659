//===-- Verification.cpp - Checks shared by the ops' verifiers ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Verification.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace blockscale;

/// Extents above this one have no memory to be in, and their products could
/// overflow.
static constexpr int64_t largestExtent = int64_t(1) << 40;

LogicalResult blockscale::verifyInnermost(Operation *op, StringRef name,
                                          RankedTensorType type) {
  int64_t extent = type.getShape().back();
  if (ShapedType::isDynamic(extent))
    return op->emitOpError("expects a static innermost extent of its ")
           << name << ", but got " << type
           << "; use tensor.cast to say what it is";
  if (extent < 1 || extent > largestExtent)
    return op->emitOpError("expects an innermost extent of its ")
           << name << " from 1 to " << largestExtent << ", but got " << extent;
  return success();
}

LogicalResult blockscale::verifyBlocks(Operation *op, StringRef name,
                                       RankedTensorType type, FormatAttr format,
                                       Padding padding) {
  int64_t rows = format.getBlockRows(), cols = format.getBlockCols();
  if (rows > 1 && type.getRank() < 2)
    return op->emitOpError("expects ")
           << name << " of rank 2 or more for blocks of " << rows << "x" << cols
           << ", but got rank " << type.getRank();
  if (failed(verifyInnermost(op, name, type)))
    return failure();
  int64_t extent = type.getShape().back();
  if (extent % cols == 0 || padding == Padding::Added)
    return success();
  InFlightDiagnostic error =
      op->emitOpError("expects an innermost extent of its ")
      << name << " divisible by " << cols << ", the block of " << format
      << ", but got " << extent;
  if (padding == Padding::Possible)
    error << "; add `pad` to complete the last block with zeros";
  else
    error << "; padded elements have an extent of "
          << format.getPaddedExtent(extent);
  return error;
}

LogicalResult blockscale::verifyLayout(Operation *op, StringRef name,
                                       RankedTensorType type) {
  Attribute layout = type.getEncoding();
  if (layout && !isa<Tiled128x4Attr>(layout))
    return op->emitOpError("expects ")
           << name << " in row-major layout or #blockscale.tiled_128x4, but "
           << "got " << layout;
  return success();
}

LogicalResult blockscale::verifyOperand(Operation *op, StringRef name,
                                        Value operand,
                                        RankedTensorType expected) {
  auto type = cast<RankedTensorType>(operand.getType());
  if (failed(verifyLayout(op, name, type)))
    return failure();
  if (type.getElementType() != expected.getElementType() ||
      failed(verifyCompatibleShape(type, expected)))
    return op->emitOpError("expects ")
           << name << " of type " << expected << ", but got " << type;
  return success();
}

LogicalResult blockscale::verifyPresence(Operation *op, StringRef name,
                                         Value value, bool expected,
                                         const Twine &reason) {
  if (bool(value) == expected)
    return success();
  bool singular = name.consume_front("a ");
  StringRef article = expected ? (singular ? "a " : "") : "no ";
  StringRef found = expected ? "none" : (singular ? "one" : "some");
  return op->emitOpError("expects ")
         << article << name << ", because " << reason << ", but got " << found;
}

LogicalResult blockscale::verifyScaled(Operation *op, StringRef side,
                                       RankedTensorType values,
                                       FormatAttr format, Value scales,
                                       Value tensorScale, Value zeros) {
  std::string ofSide = side.empty() ? "" : (" of " + side).str();
  std::string text = textOf(format);
  bool hasTensor = format.hasTensorScale(), hasZeros = format.hasZeroPoints();
  if (scales) {
    if (failed(verifyOperand(op, "scales" + ofSide, scales,
                             format.getScalesTypeOf(values))) ||
        failed(verifyPresence(op, "a tensor scale" + ofSide, tensorScale,
                              hasTensor,
                              text + (hasTensor ? " has one" : " has none"))))
      return failure();
  }
  if (failed(verifyPresence(op, "zero points" + ofSide, zeros, hasZeros,
                            text + (hasZeros ? " has them" : " has none"))))
    return failure();
  if (!zeros)
    return success();
  return verifyOperand(op, "zero points" + ofSide, zeros,
                       format.getZeroPointsTypeOf(values));
}

std::string blockscale::textOf(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

SmallVector<OpFoldResult> blockscale::reifyLike(OpBuilder &builder,
                                                Location location,
                                                RankedTensorType type,
                                                Value source) {
  SmallVector<OpFoldResult> extents;
  for (auto [index, extent] : llvm::enumerate(type.getShape())) {
    if (ShapedType::isDynamic(extent))
      extents.push_back(tensor::getMixedSize(builder, location, source, index));
    else
      extents.push_back(builder.getIndexAttr(extent));
  }
  return extents;
}
