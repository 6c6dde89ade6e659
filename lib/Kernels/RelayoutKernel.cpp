//===-- RelayoutKernel.cpp - Scales from one layout to another ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/Patterns.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

namespace {

struct LowerRelayout : KernelPattern<RelayoutOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(RelayoutOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

} // namespace

LogicalResult
LowerRelayout::matchAndRewrite(RelayoutOp op, OpAdaptor adaptor,
                               ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  auto fromType = cast<RankedTensorType>(op.getSource().getType());
  auto toType = cast<RankedTensorType>(op.getResult().getType());
  ScaleAddress from(fromType), to(toType);
  if (from.isTiled() && fromType.getRank() >= 2 &&
      fromType.isDynamicDim(fromType.getRank() - 2))
    return op.emitOpError("expects a static number of rows to leave a tiled "
                          "layout, whose memory does not tell it, but got ")
           << fromType;
  SmallVector<Value> sizes =
      getSizes(rewriter, loc, adaptor.getSource(), fromType);
  Extents extents = getExtents(rewriter, loc, adaptor.getSource(), fromType);
  ResultBuffer result = allocateResult(rewriter, loc, kernelSet, toType, sizes);
  SmallVector<Value> args{inputBuffer(rewriter, loc, adaptor.getSource()),
                          result.flat, extents.rows};
  SmallVector<Type> argTypes{args[0].getType(), args[1].getType(),
                             rewriter.getIndexType()};
  func::FuncOp kernel = kernelSet.getOrCreate(
      loc, "blockscale_relayout",
      kernelKey("relayout", args[0].getType(), from.isTiled(), to.isTiled(),
                extents.cols),
      argTypes,
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        forRange(builder, loc, begin, end, 1, [&](OpBuilder &rowLoop, Value i) {
          IndexMath at(rowLoop, loc);
          Value batch = at.div(i, args[2]), row = at.rem(i, args[2]);
          forRange(rowLoop, loc, at.constant(0), at.constant(extents.cols), 1,
                   [&](OpBuilder &inner, Value col) {
                     Value scale = memref::LoadOp::create(
                         inner, loc, args[0],
                         from.offset(inner, loc, batch, args[2], row, col));
                     memref::StoreOp::create(
                         inner, loc, scale, args[1],
                         to.offset(inner, loc, batch, args[2], row, col));
                   });
        });
      });
  IndexMath math(rewriter, loc);
  kernelSet.launch(rewriter, loc, kernel, extents.allRows(math),
                   grainFor(math, math.constant(extents.cols)), args);
  rewriter.replaceOp(op, result.asTensor(rewriter, loc));
  return success();
}

void kernels::populateRelayoutKernel(RewritePatternSet &patterns,
                                     const TypeConverter &converter,
                                     KernelSet &kernelSet) {
  patterns.add<LowerRelayout>(converter, patterns.getContext(), kernelSet);
}
