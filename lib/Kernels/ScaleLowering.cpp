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

  KernelArgs args;
  args.add(source);
  args.add(extents.rows);
  // A rotation that only this kernel and the next see is done in both.
  std::optional<Rotation> rotation;
  int64_t rotated = 0;
  std::optional<size_t> signsArg;
  if (RotateOp rotate = rotationInside(op)) {
    rotation = Rotation::of(rotate);
    rotated = rotation->size;
    if (rotate.getSignValues()) {
      rotation->signBuffer = inputBuffer(
          rewriter, loc, rewriter.getRemappedValue(rotate.getSignValues()));
      signsArg = args.add(rotation->signBuffer);
    }
  }
  Value amax;
  if (adaptor.getAmax())
    amax = inputBuffer(rewriter, loc, adaptor.getAmax());
  else if (format.hasTensorScale)
    amax = launchAmax(rewriter, loc, kernelSet, source,
                      math.mul(extents.allRows(math), extents.cols), rotation);
  ScaleResults results(op, op);
  results.allocate(rewriter, loc, kernelSet,
                   getSizes(rewriter, loc, adaptor.getSource(), type), amax);

  size_t numInputs = args.values.size();
  llvm::append_range(args.values, results.buffers());
  auto scalesType = cast<RankedTensorType>(op.getScales().getType());
  ScaleItems items =
      ScaleItems::make(kernelSet, format, extents.cols,
                       ScaleAddress(scalesType).isTiled(), rotated);
  func::FuncOp kernel = kernelSet.getOrCreate(
      loc, rotation ? "blockscale_rotate_scale" : "blockscale_scale",
      kernelKey("scale", source.getType(), extents.cols, results.key(),
                isSingleBatch(extents), rotation ? rotation->key() : ""),
      args.types(),
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        if (signsArg)
          rotation->signBuffer = args[*signsArg];
        int64_t alignment = alignmentOf(
            kernelSet.bufferAlignment(), extents.cols, items.groupCols,
            type.getElementType().getIntOrFloatBitWidth());
        BlockChoice choice{
            format,  op.getRule().getValue(), extents.cols,          alignment,
            args[0], kernelSet.threadOps(),   isSingleBatch(extents)};
        results
            .makeKernel(kernelSet, args.drop_front(numInputs), choice, items,
                        rotation, args[1])
            .emit(builder, loc, begin, end);
      });
  kernelSet.launch(
      rewriter, loc, kernel,
      items.count(math, extents.batch,
                  math.ceilDiv(extents.rows, format.blockRows), extents.cols),
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
