//===-- ScaleResults.cpp - What scale and quantize leave behind -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Kernels/ScaleResults.h"
#include "ScaleKernel.h"

#include "blockscale/Conversion/StorageTypes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

bool kernels::isDefinedBefore(Value value, Operation *at) {
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != at->getBlock() ||
         definition->isBeforeInBlock(at);
}

SmallVector<QuantizeOp> kernels::fusableQuantizations(ScaleOp scale,
                                                      Operation *at) {
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
    if (quantize.getSeed() && !isDefinedBefore(quantize.getSeed(), at))
      continue;
    fusable.push_back(quantize);
  }
  return fusable;
}

ScaleResults::ScaleResults(ScaleOp scale, Operation *at) : scale(scale) {
  for (QuantizeOp quantize : fusableQuantizations(scale, at))
    fused.push_back({quantize});
}

bool ScaleResults::contains(Operation *op) const {
  return op == scale || llvm::any_of(fused, [&](const Fused &entry) {
           return entry.op == op;
         });
}

Value kernels::emptyTensor(OpBuilder &builder, Location loc, Type type,
                           ArrayRef<Value> sizes) {
  auto ranked = cast<RankedTensorType>(type);
  SmallVector<Value> dynamicSizes;
  for (int64_t dim = 0; dim < ranked.getRank(); ++dim)
    if (ranked.isDynamicDim(dim))
      dynamicSizes.push_back(sizes[dim]);
  return tensor::EmptyOp::create(builder, loc, ranked, dynamicSizes);
}

/// Writes the level of the tensor that belongs to an amax, and its scale.
static void launchLevel(OpBuilder &builder, Location loc, KernelSet &kernelSet,
                        const Format &format, const ScaleRule &rule, Value amax,
                        Value level, Value tensorScale) {
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

void ScaleResults::allocate(ConversionPatternRewriter &rewriter, Location loc,
                            KernelSet &kernelSet, ArrayRef<Value> sizes,
                            Value amax) {
  IndexMath math(rewriter, loc);
  scaleSizes = getScaleSizes(math, format(), sizes);
  results.resize(scale->getNumResults());
  auto addResult = [&](Value result) -> std::optional<size_t> {
    if (!result)
      return std::nullopt;
    ResultBuffer buffer =
        allocateResult(rewriter, loc, kernelSet,
                       cast<RankedTensorType>(result.getType()), scaleSizes);
    results[cast<OpResult>(result).getResultNumber()] =
        buffer.asTensor(rewriter, loc);
    return args.add(buffer.flat);
  };
  scales = *addResult(scale.getScales());
  zeros = addResult(scale.getZeros());
  // Factors that only fused quantizations use stay in registers.
  auto isContained = [&](Operation *user) { return contains(user); };
  if (scale.getEncode() &&
      !llvm::all_of(scale.getEncode().getUsers(), isContained))
    factors = addResult(scale.getEncode());
  if (Value tensorScale = scale.getTensorScale()) {
    ResultBuffer buffer =
        allocateResult(rewriter, loc, kernelSet,
                       cast<RankedTensorType>(tensorScale.getType()), {});
    Value levelBuffer = allocateFlat(rewriter, loc, rewriter.getF32Type(),
                                     math.constant(kLevelSize));
    launchLevel(rewriter, loc, kernelSet, format(), scale.getRule().getValue(),
                amax, levelBuffer, buffer.flat);
    level = args.add(levelBuffer);
    results[cast<OpResult>(tensorScale).getResultNumber()] =
        buffer.asTensor(rewriter, loc);
  }
  for (Fused &entry : fused) {
    ResultBuffer buffer = allocateResult(
        rewriter, loc, kernelSet, entry.op.getElements().getType(), sizes);
    entry.elements = *args.add(buffer.flat);
    entry.result = buffer.asTensor(rewriter, loc);
    if (entry.op.getSeed())
      entry.seed = args.add(inputBuffer(
          rewriter, loc, rewriter.getRemappedValue(entry.op.getSeed())));
  }
}

std::string ScaleResults::key() const {
  auto scalesType = cast<RankedTensorType>(getScale().getScales().getType());
  std::string text =
      kernelKey(format().text(), getScale().getRule().getValue().text(),
                ScaleAddress(scalesType).isTiled(), factors.has_value());
  for (const Fused &entry : fused) {
    QuantizeOp op = entry.op;
    text += kernelKey(static_cast<int>(op.getRounding()),
                      op.getEncode() != nullptr);
  }
  return text;
}

ScaleKernel ScaleResults::makeKernel(const KernelSet &kernelSet,
                                     ValueRange args, const BlockChoice &choice,
                                     const ScaleItems &items,
                                     const std::optional<Rotation> &rotation,
                                     Value rows) const {
  auto optional = [&](std::optional<size_t> index) {
    return index ? args[*index] : Value();
  };
  auto scalesType = cast<RankedTensorType>(getScale().getScales().getType());
  ScaleAddress linear(RankedTensorType::get(scalesType.getShape(),
                                            scalesType.getElementType()));
  ScaleKernel kernel{choice,          items,
                     rotation,        ScaleAddress(scalesType),
                     linear,          rows,
                     args[scales],    optional(level),
                     optional(zeros), optional(factors)};
  for (const Fused &entry : fused) {
    QuantizeOp op = entry.op;
    auto elementsType = op.getElements().getType();
    int64_t paddedCols = elementsType.getShape().back();
    auto alignmentOfCols = [&](int64_t cols) {
      return alignmentOf(kernelSet.bufferAlignment(), paddedCols, cols,
                         getStorageWidth(elementsType.getElementType()));
    };
    kernel.fused.push_back({op.getRounding(), op.getEncode() != nullptr,
                            paddedCols, alignmentOfCols(items.groupCols),
                            alignmentOfCols(format().blockCols),
                            args[entry.elements], optional(entry.seed)});
  }
  return kernel;
}

void ScaleResults::emitBlock(OpBuilder &builder, Location loc,
                             const KernelSet &kernelSet, ValueRange args,
                             Value x, Value batch, Value rows, Value row,
                             Value blockCol) const {
  IndexMath math(builder, loc);
  BlockChoice choice{format(),           getScale().getRule().getValue(),
                     /*cols=*/0,
                     /*alignment=*/0,
                     /*source=*/Value(), kernelSet.threadOps()};
  BlockRows block{batch,
                  row,
                  rows,
                  math.add(math.mul(batch, rows), row),
                  Value(),
                  math.constant(1),
                  format().blockCols,
                  x};
  ScaleItems items{kernelSet.itemSize(), format().blockCols};
  ScaleKernel kernel =
      makeKernel(kernelSet, args, choice, items, std::nullopt, rows);
  kernel.emitLevel(builder, loc);
  kernel.emitBlock(builder, loc, block, blockCol);
}

void ScaleResults::replace(ConversionPatternRewriter &rewriter) {
  for (Fused &entry : fused)
    rewriter.replaceOp(entry.op, entry.result);
  for (auto [original, result] : llvm::zip_equal(scale->getResults(), results))
    if (!result) // Unused by now, but a result must become something.
      result =
          emptyTensor(rewriter, scale.getLoc(), original.getType(), scaleSizes);
  rewriter.replaceOp(scale, results);
}
