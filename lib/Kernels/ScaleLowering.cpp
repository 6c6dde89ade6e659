//===-- ScaleLowering.cpp - Launches of the scale kernel ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AmaxKernel.h"
#include "ScaleKernel.h"
#include "blockscale/Kernels/Patterns.h"

#include "blockscale/Conversion/StorageTypes.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

namespace {

struct LowerScale : KernelPattern<ScaleOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(ScaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  /// Writes the level of the tensor that belongs to an amax, and its scale.
  void launchLevel(OpBuilder &builder, Location loc, const Format &format,
                   const ScaleRule &rule, Value amax, Value level,
                   Value tensorScale) const;
};

} // namespace

/// The quantizations of the same source by the results of `scale` that can
/// happen where `scale` stands: what else they read is there already.
static SmallVector<QuantizeOp> fusableQuantizations(ScaleOp scale) {
  SmallVector<QuantizeOp> fusable;
  for (Operation *user : scale->getUsers()) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    if (!quantize || llvm::is_contained(fusable, quantize) ||
        quantize->getBlock() != scale->getBlock() ||
        quantize.getSource() != scale.getSource() ||
        quantize.getFormat() != scale.getFormat() ||
        quantize.getPad() != scale.getPad())
      continue;
    auto is = [](Value used, Value result) { return !used || used == result; };
    if (!is(quantize.getScales(), scale.getScales()) ||
        !is(quantize.getTensorScale(), scale.getTensorScale()) ||
        !is(quantize.getZeros(), scale.getZeros()) ||
        !is(quantize.getEncode(), scale.getEncode()))
      continue;
    if (Value seed = quantize.getSeed())
      if (Operation *definition = seed.getDefiningOp())
        if (definition->getBlock() == scale->getBlock() &&
            !definition->isBeforeInBlock(scale))
          continue;
    fusable.push_back(quantize);
  }
  return fusable;
}

/// Whether every use of `factors` is one of `quantizations`.
static bool onlyFused(Value factors, ArrayRef<QuantizeOp> quantizations) {
  return llvm::all_of(factors.getUsers(), [&](Operation *user) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    return quantize && llvm::is_contained(quantizations, quantize);
  });
}

/// A tensor in place of a result that nothing reads.
static Value emptyLike(OpBuilder &builder, Location loc, Value result,
                       ArrayRef<Value> sizes) {
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<Value> dynamicSizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      dynamicSizes.push_back(sizes[dim]);
  return tensor::EmptyOp::create(builder, loc, type, dynamicSizes);
}

LogicalResult
LowerScale::matchAndRewrite(ScaleOp op, OpAdaptor adaptor,
                            ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  const Format &format = op.getFormat().getValue();
  const ScaleRule &rule = op.getRule().getValue();
  auto type = op.getSource().getType();
  IndexMath math(rewriter, loc);
  Extents extents =
      blockExtents(math, getExtents(rewriter, loc, adaptor.getSource(), type),
                   format, cast<RankedTensorType>(op.getScales().getType()));
  Value source = inputBuffer(rewriter, loc, adaptor.getSource());

  KernelArgs args;
  size_t sourceArg = *args.add(source);
  size_t rowsArg = *args.add(extents.rows);
  Value amax;
  if (adaptor.getAmax())
    amax = inputBuffer(rewriter, loc, adaptor.getAmax());
  else if (format.hasTensorScale)
    amax = launchAmax(rewriter, loc, kernelSet, source,
                      math.mul(extents.allRows(math), extents.cols));

  SmallVector<Value> sizes = getScaleSizes(
      math, format, getSizes(rewriter, loc, adaptor.getSource(), type));
  SmallVector<Value> results(op->getNumResults());
  auto addResult = [&](Value result) -> std::optional<size_t> {
    if (!result)
      return std::nullopt;
    ResultBuffer buffer =
        allocateResult(rewriter, loc, kernelSet,
                       cast<RankedTensorType>(result.getType()), sizes);
    results[cast<OpResult>(result).getResultNumber()] =
        buffer.asTensor(rewriter, loc);
    return args.add(buffer.flat);
  };
  size_t scalesArg = *addResult(op.getScales());
  std::optional<size_t> zerosArg = addResult(op.getZeros());
  // Factors that only fused quantizations use stay in registers.
  std::optional<size_t> factorsArg;
  if (op.getEncode() && !onlyFused(op.getEncode(), fusableQuantizations(op)))
    factorsArg = addResult(op.getEncode());
  std::optional<size_t> levelArg;
  if (Value tensorScale = op.getTensorScale()) {
    ResultBuffer buffer =
        allocateResult(rewriter, loc, kernelSet,
                       cast<RankedTensorType>(tensorScale.getType()), {});
    Value level = allocateFlat(rewriter, loc, rewriter.getF32Type(),
                               math.constant(kLevelSize));
    launchLevel(rewriter, loc, format, rule, amax, level, buffer.flat);
    levelArg = args.add(level);
    results[cast<OpResult>(tensorScale).getResultNumber()] =
        buffer.asTensor(rewriter, loc);
  }

  // Elements that this block-by-block pass can write as well.
  struct Fused {
    QuantizeOp op;
    size_t elements;
    std::optional<size_t> seed;
    Value result;
  };
  SmallVector<Fused> fused;
  for (QuantizeOp quantize : fusableQuantizations(op)) {
    auto elementsType = quantize.getElements().getType();
    ResultBuffer buffer =
        allocateResult(rewriter, loc, kernelSet, elementsType,
                       getSizes(rewriter, loc, adaptor.getSource(), type));
    Fused entry{quantize, *args.add(buffer.flat), std::nullopt,
                buffer.asTensor(rewriter, loc)};
    if (quantize.getSeed())
      entry.seed = args.add(inputBuffer(
          rewriter, loc, rewriter.getRemappedValue(quantize.getSeed())));
    fused.push_back(entry);
  }
  std::string fusedKey;
  for (Fused &entry : fused)
    fusedKey += kernelKey(static_cast<int>(entry.op.getRounding()),
                          entry.op.getEncode() != nullptr);

  auto scalesType = cast<RankedTensorType>(op.getScales().getType());
  ScaleAddress scaleAddress(scalesType);
  ScaleAddress linear(RankedTensorType::get(scalesType.getShape(),
                                            scalesType.getElementType()));
  std::string key =
      kernelKey("scale", source.getType(), extents.cols, format.text(),
                rule.text(), scaleAddress.isTiled(), factorsArg.has_value(),
                fusedKey, isSingleBatch(extents));
  func::FuncOp kernel = kernelSet.getOrCreate(
      loc, "blockscale_scale", key, args.types(),
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        auto optional = [&](std::optional<size_t> index) {
          return index ? args[*index] : Value();
        };
        int64_t alignment = alignmentOf(
            kernelSet.bufferAlignment(), extents.cols, format.blockCols,
            type.getElementType().getIntOrFloatBitWidth());
        ScaleKernel kernel{BlockChoice{format, rule, extents.cols, alignment,
                                       args[sourceArg], isSingleBatch(extents)},
                           kernelSet.itemSize(),
                           scaleAddress,
                           linear,
                           args[rowsArg],
                           args[scalesArg],
                           optional(levelArg),
                           optional(zerosArg),
                           optional(factorsArg)};
        for (Fused &entry : fused) {
          auto elementsType = entry.op.getElements().getType();
          int64_t paddedCols = elementsType.getShape().back();
          kernel.fused.push_back(
              {entry.op.getRounding(), entry.op.getEncode() != nullptr,
               paddedCols,
               alignmentOf(kernelSet.bufferAlignment(), paddedCols,
                           format.blockCols,
                           getStorageWidth(elementsType.getElementType())),
               args[entry.elements], optional(entry.seed)});
        }
        kernel.emit(builder, loc, begin, end);
      });
  Value blockRows =
      math.mul(extents.batch, math.ceilDiv(extents.rows, format.blockRows));
  kernelSet.launch(
      rewriter, loc, kernel,
      itemsOf(math, kernelSet.itemSize(), blockRows, extents.cols,
              format.blockCols),
      grainFor(math, math.constant(extents.cols * format.blockRows)),
      args.values);
  for (Fused &entry : fused)
    rewriter.replaceOp(entry.op, entry.result);
  for (auto [original, result] : llvm::zip_equal(op->getResults(), results))
    if (!result) // Unused by now, but a result must become something.
      result = emptyLike(rewriter, loc, original, sizes);
  rewriter.replaceOp(op, results);
  return success();
}

void LowerScale::launchLevel(OpBuilder &builder, Location loc,
                             const Format &format, const ScaleRule &rule,
                             Value amax, Value level, Value tensorScale) const {
  IndexMath math(builder, loc);
  func::FuncOp kernel = kernelSet.getOrCreate(
      loc, "blockscale_level",
      kernelKey("level", format.text(), rule.text(), amax.getType()),
      {amax.getType(), level.getType(), tensorScale.getType()},
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        forRange(builder, loc, begin, end, 1, [&](OpBuilder &inner, Value i) {
          IRValueBuilder b(inner, loc);
          TensorLevel<Value> level = loadLevel(b, format, rule, args[0]);
          storeLevel(b, level, args[1]);
          storeScalarCode(b, b.asInt(level.decode), args[2], i);
        });
      });
  kernelSet.launch(builder, loc, kernel, math.constant(1), math.constant(1),
                   {amax, level, tensorScale});
}

void kernels::populateScaleKernel(RewritePatternSet &patterns,
                                  const TypeConverter &converter,
                                  KernelSet &kernelSet) {
  patterns.add<LowerScale>(converter, patterns.getContext(), kernelSet);
}
