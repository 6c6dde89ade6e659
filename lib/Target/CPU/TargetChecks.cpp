//===-- TargetChecks.cpp - What the CPU target does not compile -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looked for before anything is lowered, so that one error says what to do.
//
//===----------------------------------------------------------------------===//
#include "TargetChecks.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace blockscale;

/// Element types that the epilogue's vectors can have in memory.
static bool isOperandElement(Type element) {
  if (element.isF64() || element.isF32() || element.isF16() || element.isBF16())
    return true;
  for (unsigned bits : {1, 8, 16, 32, 64})
    if (element.isSignlessInteger(bits))
      return true;
  return false;
}

static LogicalResult verify(ScaledMatmulOp op) {
  for (Value operand : op.getEpilogueOperands())
    if (!isOperandElement(getElementTypeOrSelf(operand.getType())))
      return op.emitOpError("expects epilogue operands of f64, f32, f16, bf16 "
                            "or signless integers of 1, 8, 16, 32 or 64 bits, "
                            "but got ")
             << operand.getType() << "; dequantize it first";
  if (!op.hasEpilogue())
    return success();
  for (Operation &inner : op.getEpilogue().front().without_terminator())
    if (!inner.hasTrait<OpTrait::ConstantLike>() &&
        !OpTrait::hasElementwiseMappableTraits(&inner))
      return inner.emitOpError("expects elementwise operations in an epilogue, "
                               "which the CPU target computes many elements "
                               "at a time");
  return success();
}

static LogicalResult verify(RelayoutOp op) {
  auto from = cast<RankedTensorType>(op.getSource().getType());
  if (!isa_and_present<Tiled128x4Attr>(from.getEncoding()) ||
      from.getRank() < 2 || !from.isDynamicDim(from.getRank() - 2))
    return success();
  return op.emitOpError("expects a static number of rows to leave a tiled "
                        "layout, whose memory does not tell it, but got ")
         << from;
}

static LogicalResult verify(RotateOp op) {
  auto type = op.getSource().getType();
  for (int64_t dim = op.getRotationAxis() + 1; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      return op.emitOpError("expects static extents inside the rotated axis ")
             << op.getRotationAxis() << ", but dimension " << dim
             << " is dynamic; rotate an inner axis or give its extent";
  return success();
}

LogicalResult blockscale::cpu::verifyLowerable(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
    LogicalResult answer = success();
    if (auto matmul = dyn_cast<ScaledMatmulOp>(op))
      answer = verify(matmul);
    else if (auto relayout = dyn_cast<RelayoutOp>(op))
      answer = verify(relayout);
    else if (auto rotate = dyn_cast<RotateOp>(op))
      answer = verify(rotate);
    return failed(answer) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
