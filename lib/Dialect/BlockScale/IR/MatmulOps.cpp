//===-- MatmulOps.cpp - scaled_matmul and its epilogue --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Verification.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace blockscale;

/// A side of the product: its elements and what belongs to them (op_c1 to
/// op_c6, op_c12).
static LogicalResult verifySide(ScaledMatmulOp op, StringRef name,
                                RankedTensorType values, FormatAttr format,
                                Value scales, Value tensorScale, Value zeros) {
  if (values.getRank() < 2)
    return op.emitOpError("expects ")
           << name << " of rank 2 or more, but got " << values;
  if (!format) {
    if (scales || tensorScale || zeros)
      return op.emitOpError("expects no scales of a plain ")
             << name << ", but got some; name the format of its elements";
    Type element = values.getElementType();
    if (!element.isF32() && !element.isBF16() && !element.isF16())
      return op.emitOpError("expects a plain ")
             << name << " of f32, bf16 or f16, but got " << element
             << "; name the format of its elements";
    return verifyInnermost(op, name, values);
  }
  if (values.getElementType() != format.getElementType())
    return op.emitOpError("expects ")
           << name << " elements of " << format.getElementType()
           << ", the element type of " << format << ", but got "
           << values.getElementType();
  if (!scales)
    return op.emitOpError("expects ")
           << "scales of " << name << ", because it has the format " << format
           << ", but got none";
  if (failed(verifyBlocks(op, name, values, format, Padding::Done)))
    return failure();
  return verifyScaled(op, name, values, format, scales, tensorScale, zeros);
}

/// NumPy's rule, from the right (op_c13). Dynamic extents are those of the
/// result: an extent that is broadcast is statically 1.
static bool broadcastsTo(ArrayRef<int64_t> shape, ArrayRef<int64_t> result) {
  if (shape.size() > result.size())
    return false;
  for (auto [extent, target] : llvm::zip(shape, result.take_back(shape.size())))
    if (extent != 1 && extent != target && !ShapedType::isDynamic(extent) &&
        !ShapedType::isDynamic(target))
      return false;
  return true;
}

LogicalResult ScaledMatmulOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  if (failed(verifySide(*this, "lhs", lhs, getLhsFormatAttr(), getLhsScales(),
                        getLhsTensorScale(), getLhsZeros())) ||
      failed(verifySide(*this, "rhs", rhs, getRhsFormatAttr(), getRhsScales(),
                        getRhsTensorScale(), getRhsZeros())))
    return failure();

  // op_c12
  int64_t lhsK = lhs.getShape().back(), rhsK = rhs.getShape().back();
  if (lhsK != rhsK)
    return emitOpError("expects sides of equal innermost extent, but got ")
           << lhsK << " in lhs and " << rhsK << " in rhs";
  ArrayRef<int64_t> lhsBatch = lhs.getShape().drop_back(2);
  ArrayRef<int64_t> rhsBatch = rhs.getShape().drop_back(2);
  if (!rhsBatch.empty() && failed(verifyCompatibleShape(lhsBatch, rhsBatch)))
    return emitOpError("expects rhs of rank 2 or with the batch of lhs, ")
           << lhs << ", but got " << rhs;

  SmallVector<int64_t> shape(lhs.getShape().drop_back());
  shape.push_back(rhs.getDimSize(rhs.getRank() - 2));
  RankedTensorType result = getResult().getType();
  if (result.getShape() != ArrayRef(shape))
    return emitOpError("expects a result of type ")
           << RankedTensorType::get(shape, result.getElementType())
           << ", but got " << result;
  if (getAcc() && failed(verifyCompatibleShape(getAcc().getType(), result)))
    return emitOpError("expects acc of the shape of the result, ")
           << result << ", but got " << getAcc().getType();

  if (!hasEpilogue() && !getEpilogueOperands().empty())
    return emitOpError("expects no epilogue operands without an epilogue, but "
                       "got ")
           << getEpilogueOperands().size();
  for (Value operand : getEpilogueOperands()) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (!broadcastsTo(type.getShape(), result.getShape()))
      return emitOpError("expects epilogue operands that broadcast to ")
             << result << ", but got " << type;
  }
  return success();
}

/// After the ops of the region were verified (op_c14).
LogicalResult ScaledMatmulOp::verifyRegions() {
  if (!hasEpilogue())
    return success();
  Block &block = getEpilogue().front();
  if (block.getNumArguments() != 1 + getEpilogueOperands().size())
    return emitOpError("expects an epilogue with ")
           << 1 + getEpilogueOperands().size()
           << " arguments (accumulator, then one for each operand), but got "
           << block.getNumArguments();
  for (BlockArgument argument : block.getArguments()) {
    unsigned index = argument.getArgNumber();
    Type expected = Float32Type::get(getContext());
    if (index != 0)
      expected =
          getElementTypeOrSelf(getEpilogueOperands()[index - 1].getType());
    if (argument.getType() != expected)
      return emitOpError("expects epilogue argument ")
             << index << " of type " << expected << ", but got "
             << argument.getType();
  }
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield)
    return emitOpError("expects an epilogue that ends in blockscale.yield, but "
                       "got ")
           << block.back().getName();
  Type element = getResult().getType().getElementType();
  if (yield.getValue().getType() != element)
    return yield.emitOpError("expects a value of type ")
           << element << ", the element of the result, but got "
           << yield.getValue().getType();
  for (Operation &op : block.without_terminator())
    if (!isMemoryEffectFree(&op))
      return op.emitOpError("expects an epilogue free of side effects, but "
                            "this operation may have some");
  return success();
}

LogicalResult
ScaledMatmulOp::reifyResultShapes(OpBuilder &builder,
                                  ReifiedRankedShapedTypeDims &shapes) {
  RankedTensorType type = getResult().getType();
  SmallVector<OpFoldResult> extents =
      tensor::getMixedSizes(builder, getLoc(), getLhs());
  extents.back() = tensor::getMixedSize(builder, getLoc(), getRhs(),
                                        getRhs().getType().getRank() - 2);
  for (auto [extent, size] : llvm::zip(extents, type.getShape()))
    if (!ShapedType::isDynamic(size))
      extent = builder.getIndexAttr(size);
  shapes.push_back(extents);
  return success();
}
