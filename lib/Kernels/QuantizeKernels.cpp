//===-- QuantizeKernels.cpp - quantize and dequantize ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RowWalk.h"
#include "blockscale/Kernels/Patterns.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Numerics/BlockScaling.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

namespace {

struct LowerQuantize : KernelPattern<QuantizeOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(QuantizeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

struct LowerDequantize : KernelPattern<DequantizeOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(DequantizeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

} // namespace

LogicalResult
LowerQuantize::matchAndRewrite(QuantizeOp op, OpAdaptor adaptor,
                               ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  const Format &format = op.getFormat().getValue();
  Rounding rounding = op.getRounding();
  auto type = op.getSource().getType();
  auto elementsType = op.getElements().getType();
  Value blockTensor = op.getScales() ? op.getScales() : op.getEncode();
  auto blockTensorType = cast<RankedTensorType>(blockTensor.getType());
  IndexMath math(rewriter, loc);
  Extents extents =
      blockExtents(math, getExtents(rewriter, loc, adaptor.getSource(), type),
                   format, blockTensorType);
  RowWalk walk = RowWalk::make(format, type, elementsType, blockTensorType,
                               kernelSet, isSingleBatch(extents));
  SmallVector<Value> sizes = getSizes(rewriter, loc, adaptor.getSource(), type);
  auto requireScales = [&](const char *what, Value original, Value scales) {
    if (scales)
      requireScalesOf(rewriter, loc, Twine("quantize: ") + what, format, sizes,
                      scales, cast<RankedTensorType>(original.getType()));
  };
  requireScales("scales", op.getScales(), adaptor.getScales());
  requireScales("zero points", op.getZeros(), adaptor.getZeros());
  requireScales("encode factors", op.getEncode(), adaptor.getEncode());
  ResultBuffer result =
      allocateResult(rewriter, loc, kernelSet, elementsType, sizes);
  KernelArgs args;
  size_t source = *args.add(inputBuffer(rewriter, loc, adaptor.getSource()));
  size_t elements = *args.add(result.flat);
  size_t rows = *args.add(extents.rows);
  auto scales = args.add(optionalBuffer(rewriter, loc, adaptor.getScales()));
  auto zeros = args.add(optionalBuffer(rewriter, loc, adaptor.getZeros()));
  auto factors = args.add(optionalBuffer(rewriter, loc, adaptor.getEncode()));
  auto tensorScale =
      args.add(optionalBuffer(rewriter, loc, adaptor.getTensorScale()));
  auto seed = args.add(optionalBuffer(rewriter, loc, adaptor.getSeed()));

  func::FuncOp kernel = kernelSet.getOrCreate(
      loc, "blockscale_quantize",
      kernelKey("quantize", args.values[source].getType(), walk.cols,
                format.text(), static_cast<int>(rounding),
                isTiled(op.getScales()), scales.has_value(), walk.singleBatch,
                tensorScale.has_value()),
      args.types(),
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        const ThreadOps &ops = kernelSet.threadOps();
        std::pair<Value, Value> seedWords;
        if (seed)
          seedWords = loadSeed(builder, loc, args[*seed]);
        walk.emit(
            builder, loc, begin, end, args[rows],
            [&](IRValueBuilder &b, const RowWalk::BlockPosition &at) {
              Value x = loadReals(b, args[source], at.real, format.blockCols,
                                  at.valid, walk.realAlignment);
              std::optional<Value> random;
              if (seed)
                random = randomLanesAt(b, ops, at.element, format.blockCols,
                                       seedWords);
              std::optional<Value> tensor, zero;
              Value by;
              if (factors) {
                by = loadReal(b, args[*factors], at.factor);
              } else {
                if (tensorScale)
                  tensor = firstReal(b, args[*tensorScale]);
                if (zeros)
                  zero = loadZero(b, format,
                                  loadScalarCode(b, args[*zeros], at.factor));
                by =
                    divisor(b, format,
                            loadScalarCode(b, args[*scales], at.scale), tensor);
              }
              Value y = scaledLanes(b, format, x, by, factors.has_value());
              unsigned width = format.element.width();
              if (Value packed =
                      ops.packedCodes(b, format.element, y, rounding, random))
                return storePackedCodes(b, packed, args[elements], at.element,
                                        width, walk.elementAlignment);
              Value codes = encodeScaled(b, format, y, zero ? *zero : b.i32(0),
                                         rounding, random);
              storeCodes(b, codes, args[elements], at.element, width,
                         walk.elementAlignment);
            });
      });
  walk.launch(rewriter, loc, kernelSet, kernel, extents, args.values);
  rewriter.replaceOp(op, result.asTensor(rewriter, loc));
  return success();
}

LogicalResult
LowerDequantize::matchAndRewrite(DequantizeOp op, OpAdaptor adaptor,
                                 ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  const Format &format = op.getFormat().getValue();
  auto elementsType = op.getElements().getType();
  auto resultType = op.getResult().getType();
  auto scalesType = cast<RankedTensorType>(op.getScales().getType());
  int64_t cols = elementsType.getShape().back();
  IndexMath math(rewriter, loc);
  Extents extents = blockExtents(
      math, getExtents(rewriter, loc, adaptor.getElements(), elementsType),
      format, scalesType);
  RowWalk walk = RowWalk::make(format, resultType, elementsType, scalesType,
                               kernelSet, isSingleBatch(extents));
  SmallVector<Value> sizes =
      getSizes(rewriter, loc, adaptor.getElements(), elementsType);
  requireScalesOf(rewriter, loc, "dequantize: scales", format, sizes,
                  adaptor.getScales(), scalesType);
  if (adaptor.getZeros())
    requireScalesOf(rewriter, loc, "dequantize: zero points", format, sizes,
                    adaptor.getZeros(),
                    cast<RankedTensorType>(op.getZeros().getType()));
  ResultBuffer result =
      allocateResult(rewriter, loc, kernelSet, resultType, sizes);
  KernelArgs args;
  size_t elements =
      *args.add(inputBuffer(rewriter, loc, adaptor.getElements()));
  size_t scales = *args.add(inputBuffer(rewriter, loc, adaptor.getScales()));
  size_t reals = *args.add(result.flat);
  size_t rows = *args.add(extents.rows);
  auto zeros = args.add(optionalBuffer(rewriter, loc, adaptor.getZeros()));
  auto tensorScale =
      args.add(optionalBuffer(rewriter, loc, adaptor.getTensorScale()));

  func::FuncOp kernel = kernelSet.getOrCreate(
      loc, "blockscale_dequantize",
      kernelKey("dequantize", resultType.getElementType(), cols, format.text(),
                isTiled(op.getScales()), walk.singleBatch),
      args.types(),
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        walk.emit(
            builder, loc, begin, end, args[rows],
            [&](IRValueBuilder &b, const RowWalk::BlockPosition &at) {
              Value codes =
                  loadCodes(b, args[elements], at.element, format.blockCols,
                            format.element.width(), walk.elementAlignment);
              std::optional<Value> zero, tensor;
              if (zeros)
                zero = loadZero(b, format,
                                loadScalarCode(b, args[*zeros], at.factor));
              if (tensorScale)
                tensor = firstReal(b, args[*tensorScale]);
              Value scale = decodeScale(
                  b, format.scale, loadScalarCode(b, args[scales], at.scale));
              Value x = decodeLanes(b, format, codes, scale, tensor, zero);
              storeReals(b, x, args[reals], at.real, format.blockCols,
                         walk.realAlignment);
            });
      });
  walk.launch(rewriter, loc, kernelSet, kernel, extents, args.values);
  rewriter.replaceOp(op, result.asTensor(rewriter, loc));
  return success();
}

void kernels::populateQuantizeKernels(RewritePatternSet &patterns,
                                      const TypeConverter &converter,
                                      KernelSet &kernelSet) {
  patterns.add<LowerQuantize, LowerDequantize>(converter, patterns.getContext(),
                                               kernelSet);
}
