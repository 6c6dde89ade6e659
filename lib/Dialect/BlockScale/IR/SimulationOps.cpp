//===-- SimulationOps.cpp - fake_quantize, errors, masks ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Verification.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace blockscale;

/// What fake_quantize and quantization_error share (op_c1 to op_c3, op_c5,
/// op_c8, op_c9).
template <typename OpTy> static LogicalResult verifyQuantizer(OpTy op) {
  FormatAttr format = op.getFormat();
  if (failed(verifyBlocks(op, "source", op.getSource().getType(), format,
                          Padding::Added)))
    return failure();
  std::string error = op.getRule().getValue().check(format.getValue());
  if (!error.empty())
    return op.emitOpError(error);
  if (op.getAmax() && !format.hasTensorScale())
    return op.emitOpError("expects no amax, because ")
           << format << " has no tensor scale; add `tensor = f32` to the "
           << "format or drop the operand";
  if (op.getRounding() == Rounding::Up)
    return op.emitOpError("expects a rounding of elements, but got up, which "
                          "rounds scales");
  return verifyPresence(op, "a seed", op.getSeed(),
                        op.getRounding() == Rounding::Stochastic,
                        "rounding is " + stringifyRounding(op.getRounding()));
}

LogicalResult FakeQuantizeOp::verify() { return verifyQuantizer(*this); }

LogicalResult QuantizationErrorOp::verify() { return verifyQuantizer(*this); }

LogicalResult MaskClippedOp::verify() {
  RankedTensorType source = getSource().getType();
  if (failed(verifyBlocks(*this, "source", source, getFormat(),
                          Padding::Possible)))
    return failure();
  if (getFormat().hasZeroPoints())
    return emitOpError("expects a format without zero points, but got ")
           << getFormat();
  if (failed(verifyCompatibleShape(getGradient().getType(), source)))
    return emitOpError("expects a gradient of the shape of the source, ")
           << source << ", but got " << getGradient().getType();
  if (!(getLimit().convertToFloat() > 0))
    return emitOpError("expects a positive limit, but got ") << getLimitAttr();
  return verifyScaled(*this, "", source, getFormat(), getScales(),
                      getTensorScale(), {});
}
