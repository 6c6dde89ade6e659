//===-- MatmulOperands.cpp - The sides of a scaled_matmul -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Kernels/MatmulOperands.h"
#include "blockscale/Dialect/BlockScale/IR/Annotations.h"
#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/SizeChecks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

namespace {
/// An operand of the op and what it was converted to; both may be null.
struct Operand {
  Value original, converted;
};
} // namespace

bool kernels::isInvariant(Value tensor) {
  while (auto cast = tensor.getDefiningOp<UnrealizedConversionCastOp>())
    tensor = cast.getOperand(0);
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto function = argument ? dyn_cast_or_null<FunctionOpInterface>(
                                 argument.getOwner()->getParentOp())
                           : FunctionOpInterface();
  // An argument of another block is something else.
  return function && argument.getOwner()->isEntryBlock() &&
         function.getArgAttr(argument.getArgNumber(), kInvariantAttr);
}

static MatmulOperand makeOperand(OpBuilder &builder, Location loc,
                                 StringRef name, FormatAttr format,
                                 Operand data, Operand scales, Operand zeros,
                                 BufferOf bufferOf) {
  auto typeOf = [](const Operand &operand) {
    return cast<RankedTensorType>(operand.original.getType());
  };
  MatmulOperand side;
  side.type = typeOf(data);
  side.buffers.push_back(bufferOf(data.converted));
  side.invariant = isInvariant(data.converted);
  if (!format)
    return side;
  side.format = format.getValue();
  SmallVector<Value> sizes = getSizes(builder, loc, data.converted, side.type);
  auto add = [&](StringRef what, const Operand &operand) {
    requireScalesOf(builder, loc, "scaled_matmul: " + what + " of " + name,
                    *side.format, sizes, operand.converted, typeOf(operand));
    side.buffers.push_back(bufferOf(operand.converted));
    side.invariant &= isInvariant(operand.converted);
    return typeOf(operand);
  };
  side.scalesType = add("scales", scales);
  if (zeros.converted)
    side.zerosType = add("zero points", zeros);
  return side;
}

MatmulOperand kernels::lhsOperand(OpBuilder &builder, ScaledMatmulOp op,
                                  ScaledMatmulOp::Adaptor adaptor,
                                  BufferOf bufferOf) {
  return makeOperand(builder, op.getLoc(), "lhs", op.getLhsFormatAttr(),
                     {op.getLhs(), adaptor.getLhs()},
                     {op.getLhsScales(), adaptor.getLhsScales()},
                     {op.getLhsZeros(), adaptor.getLhsZeros()}, bufferOf);
}

MatmulOperand kernels::rhsOperand(OpBuilder &builder, ScaledMatmulOp op,
                                  ScaledMatmulOp::Adaptor adaptor,
                                  BufferOf bufferOf) {
  return makeOperand(builder, op.getLoc(), "rhs", op.getRhsFormatAttr(),
                     {op.getRhs(), adaptor.getRhs()},
                     {op.getRhsScales(), adaptor.getRhsScales()},
                     {op.getRhsZeros(), adaptor.getRhsZeros()}, bufferOf);
}

SmallVector<Value> kernels::productSizes(OpBuilder &builder, ScaledMatmulOp op,
                                         ScaledMatmulOp::Adaptor adaptor) {
  Location loc = op.getLoc();
  SmallVector<Value> sizes =
      getSizes(builder, loc, adaptor.getLhs(), op.getLhs().getType());
  SmallVector<Value> rhsSizes =
      getSizes(builder, loc, adaptor.getRhs(), op.getRhs().getType());
  size_t batchDims = sizes.size() - 2;
  if (!op.isRhsShared())
    requireSizes(builder, loc, "scaled_matmul: batch of rhs",
                 ArrayRef(rhsSizes).take_front(batchDims),
                 ArrayRef(sizes).take_front(batchDims));
  sizes.back() = rhsSizes[rhsSizes.size() - 2];
  return sizes;
}
