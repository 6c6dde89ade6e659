//===-- ScaleLowering.cpp - Launches of the scale kernel ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AmaxKernel.h"
#include "ScaleKernel.h"
#include "blockscale/Kernels/ScaleResults.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

namespace {

struct LowerScale : KernelPattern<ScaleOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(ScaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

} // namespace

LogicalResult
LowerScale::matchAndRewrite(ScaleOp op, OpAdaptor adaptor,
                            ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  const Format &format = op.getFormat().getValue();
  auto type = op.getSource().getType();
  IndexMath math(rewriter, loc);
  Extents extents =
      blockExtents(math, getExtents(rewriter, loc, adaptor.getSource(), type),
                   format, cast<RankedTensorType>(op.getScales().getType()));
  Value source = inputBuffer(rewriter, loc, adaptor.getSource());

  Value amax;
  if (adaptor.getAmax())
    amax = inputBuffer(rewriter, loc, adaptor.getAmax());
  else if (format.hasTensorScale)
    amax = launchAmax(rewriter, loc, kernelSet, source,
                      math.mul(extents.allRows(math), extents.cols));
  ScaleResults results(op, op);
  results.allocate(rewriter, loc, kernelSet,
                   getSizes(rewriter, loc, adaptor.getSource(), type), amax);

  KernelArgs args;
  args.add(source);
  args.add(extents.rows);
  llvm::append_range(args.values, results.buffers());
  func::FuncOp kernel = kernelSet.getOrCreate(
      loc, "blockscale_scale",
      kernelKey("scale", source.getType(), extents.cols, results.key(),
                isSingleBatch(extents)),
      args.types(),
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        int64_t alignment = alignmentOf(
            kernelSet.bufferAlignment(), extents.cols, format.blockCols,
            type.getElementType().getIntOrFloatBitWidth());
        BlockChoice choice{format,       op.getRule().getValue(),
                           extents.cols, alignment,
                           args[0],      isSingleBatch(extents)};
        results.makeKernel(kernelSet, args.drop_front(2), choice, args[1])
            .emit(builder, loc, begin, end);
      });
  Value blockRows =
      math.mul(extents.batch, math.ceilDiv(extents.rows, format.blockRows));
  kernelSet.launch(
      rewriter, loc, kernel,
      itemsOf(math, kernelSet.itemSize(), blockRows, extents.cols,
              format.blockCols),
      grainFor(math, math.constant(extents.cols * format.blockRows)),
      args.values);
  results.replace(rewriter);
  return success();
}

void kernels::populateScaleKernel(RewritePatternSet &patterns,
                                  const TypeConverter &converter,
                                  KernelSet &kernelSet) {
  patterns.add<LowerScale>(converter, patterns.getContext(), kernelSet);
}
