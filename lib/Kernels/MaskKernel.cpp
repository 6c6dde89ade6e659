//===-- MaskKernel.cpp - mask_clipped -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RowWalk.h"
#include "blockscale/Kernels/Patterns.h"
#include "blockscale/Kernels/SizeChecks.h"
#include "blockscale/Numerics/BlockCoding.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

namespace {

struct LowerMaskClipped : KernelPattern<MaskClippedOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(MaskClippedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const Format &format = op.getFormat().getValue();
    auto type = op.getSource().getType();
    auto gradientType = op.getGradient().getType();
    int64_t cols = type.getShape().back();
    SmallVector<Value> sizes =
        getSizes(rewriter, loc, adaptor.getSource(), type);
    auto scalesType = cast<RankedTensorType>(op.getScales().getType());
    requireScalesOf(rewriter, loc, "mask_clipped: scales", format, sizes,
                    adaptor.getScales(), scalesType);
    requireSizes(rewriter, loc, "mask_clipped: gradient",
                 getSizes(rewriter, loc, adaptor.getGradient(), gradientType),
                 sizes);
    Extents extents = getExtents(rewriter, loc, adaptor.getSource(), type);
    ResultBuffer result =
        allocateResult(rewriter, loc, kernelSet, gradientType, sizes);
    KernelArgs args;
    size_t gradient =
        *args.add(inputBuffer(rewriter, loc, adaptor.getGradient()));
    size_t source = *args.add(inputBuffer(rewriter, loc, adaptor.getSource()));
    size_t scales = *args.add(inputBuffer(rewriter, loc, adaptor.getScales()));
    size_t out = *args.add(result.flat);
    size_t rows = *args.add(extents.rows);
    auto tensorScale =
        args.add(optionalBuffer(rewriter, loc, adaptor.getTensorScale()));
    RowWalk walk = RowWalk::make(format, type, type, scalesType, kernelSet,
                                 isSingleBatch(extents));
    float limit = op.getLimit().convertToFloat();
    func::FuncOp kernel = kernelSet.getOrCreate(
        loc, "blockscale_mask_clipped",
        kernelKey("mask_clipped", args.values[source].getType(),
                  args.values[gradient].getType(), cols, format.text(),
                  isTiled(op.getScales()), limit, walk.singleBatch),
        args.types(),
        [&](OpBuilder &builder, Location loc, Value begin, Value end,
            ValueRange args) {
          walk.emit(builder, loc, begin, end, args[rows],
                    [&](IRValueBuilder &b, const RowWalk::BlockPosition &at) {
                      std::optional<Value> tensor;
                      if (tensorScale)
                        tensor = firstReal(b, args[*tensorScale]);
                      Value code = loadScalarCode(b, args[scales], at.scale);
                      Value x = loadReals(b, args[source], at.real,
                                          format.blockCols, at.valid);
                      Value g = loadReals(b, args[gradient], at.real,
                                          format.blockCols, at.valid);
                      Value kept = isWithin(b, format, x, code, tensor, limit);
                      storeReals(b, b.select(kept, g, b.f32(0)), args[out],
                                 at.real, at.valid);
                    });
        });
    walk.launch(rewriter, loc, kernelSet, kernel, extents, args.values);
    rewriter.replaceOp(op, result.asTensor(rewriter, loc));
    return success();
  }
};

} // namespace

void kernels::populateMaskKernels(RewritePatternSet &patterns,
                                  const TypeConverter &converter,
                                  KernelSet &kernelSet) {
  patterns.add<LowerMaskClipped>(converter, patterns.getContext(), kernelSet);
}
