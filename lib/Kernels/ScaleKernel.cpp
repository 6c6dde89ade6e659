//===-- ScaleKernel.cpp - Block scales by a scale rule --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AmaxKernel.h"
#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/Patterns.h"
#include "blockscale/Kernels/LaneAccess.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Numerics/BlockScaling.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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
  /// Writes the tensor scale that belongs to an amax.
  void storeTensorScale(OpBuilder &builder, Location loc, const Format &format,
                        const ScaleRule &rule, Value amax,
                        Value tensorScale) const;
};

/// The level of the tensor whose amax, as f32 or its bits, lies in a buffer.
TensorLevel<Value> levelOf(IRValueBuilder &b, const Format &format,
                           const ScaleRule &rule, Value amaxBuffer) {
  if (!amaxBuffer)
    return tensorLevel(b, format, rule, b.f32(0));
  Value zero =
      arith::ConstantIndexOp::create(b.getBuilder(), b.getLoc(), 0);
  Value bits = loadScalarCode(b, amaxBuffer, zero);
  return tensorLevel(b, format, rule, b.asFloat(bits));
}

/// The code of a scale kernel.
struct ScaleKernel {
  Format format;
  ScaleRule rule;
  int64_t cols;
  ItemSize itemSize;
  int64_t alignment;
  ScaleAddress scaleAddress;
  /// Zero points and encode factors are linear.
  ScaleAddress factorAddress;
  /// Buffers; amax, zeros and factors may be null. `rows` are those of a batch.
  Value source, rows, scales, amax, zeros, factors;
  TensorLevel<Value> level;

  /// Loops over the rows of a block with lanewise state.
  SmallVector<Value>
  overRows(OpBuilder &builder, Location loc, Value firstIndex, Value count,
           int64_t valid, ValueRange initial,
           llvm::function_ref<SmallVector<Value>(IRValueBuilder &, Value x,
                                                 ValueRange state)>
               body) const;
  /// The scale of the block whose first element is at `index`.
  void emitBlock(OpBuilder &builder, Location loc, Value batch, Value blockRow,
                 Value blockCol, Value index, Value rowCount,
                 int64_t valid) const;
  void emit(OpBuilder &builder, Location loc, Value begin, Value end);
};

} // namespace

SmallVector<Value> ScaleKernel::overRows(
    OpBuilder &builder, Location loc, Value firstIndex, Value count,
    int64_t valid, ValueRange initial,
    llvm::function_ref<SmallVector<Value>(IRValueBuilder &, Value, ValueRange)>
        body) const {
  if (format.blockRows == 1) {
    IRValueBuilder b(builder, loc);
    Value x = loadReals(b, source, firstIndex, format.blockCols, valid,
                        alignment);
    return body(b, x, initial);
  }
  // The first trip makes the state lanewise.
  IRValueBuilder outside(builder, loc);
  IndexMath math(builder, loc);
  SmallVector<Value> lanes;
  for (Value value : initial)
    lanes.push_back(
        outside.lanes(value) > 1
            ? value
            : vector::BroadcastOp::create(
                  builder, loc,
                  VectorType::get({format.blockCols}, value.getType()), value)
                  .getResult());
  auto loop = scf::ForOp::create(
      builder, loc, math.constant(0), count, math.constant(1), lanes,
      [&](OpBuilder &inner, Location, Value row, ValueRange state) {
        IRValueBuilder b(inner, loc);
        IndexMath at(inner, loc);
        Value index = at.add(firstIndex, at.mul(row, cols));
        Value x = loadReals(b, source, index, format.blockCols, valid,
                            alignment);
        scf::YieldOp::create(inner, loc, body(b, x, state));
      });
  return SmallVector<Value>(loop.getResults());
}

void ScaleKernel::emitBlock(OpBuilder &builder, Location loc, Value batch,
                            Value blockRow, Value blockCol, Value index,
                            Value rowCount, int64_t valid) const {
  IRValueBuilder b(builder, loc);
  IndexMath math(builder, loc);
  Measure<Value> initial = measureInit(b, format, rule);
  SmallVector<Value> lanes = overRows(
      builder, loc, index, rowCount, valid, {initial.a, initial.b},
      [&](IRValueBuilder &b, Value x, ValueRange state) -> SmallVector<Value> {
        Measure<Value> next =
            measureRow(b, format, rule, {state[0], state[1]}, x);
        return {next.a, next.b};
      });
  Value count = arith::IndexCastOp::create(
      builder, loc, builder.getI32Type(), math.mul(rowCount, valid));
  Measure<Value> measure = measureReduce(b, format, rule, {lanes[0], lanes[1]},
                                         b.toFloat(count));
  std::vector<Candidate<Value>> choices =
      candidates(b, format, rule, measure, level);
  Candidate<Value> chosen = choices[0];
  if (choices.size() == 2) {
    SmallVector<Value> errors = overRows(
        builder, loc, index, rowCount, valid, {b.f32(0), b.f32(0)},
        [&](IRValueBuilder &b, Value x, ValueRange sums) {
          SmallVector<Value> next;
          for (auto [choice, sum] : llvm::zip_equal(choices, sums))
            next.push_back(b.fadd(
                sum, candidateErrorRow(b, format, rule, x, choice, level)));
          return next;
        });
    chosen = pick(b, choices[0], b.reduceFAdd(errors[0]), choices[1],
                  b.reduceFAdd(errors[1]));
  }
  Value blockRows = math.ceilDiv(rows, format.blockRows);
  storeScalarCode(b, chosen.scaleCode, scales,
                  scaleAddress.offset(builder, loc, batch, blockRows, blockRow,
                                      blockCol));
  Value factorIndex = factorAddress.offset(builder, loc, batch, blockRows,
                                           blockRow, blockCol);
  if (zeros)
    storeScalarCode(b, storeZero(b, format, chosen.zero), zeros, factorIndex);
  if (factors)
    storeScalarCode(b, b.asInt(chosen.encode), factors, factorIndex);
}

void ScaleKernel::emit(OpBuilder &builder, Location loc, Value begin,
                       Value end) {
  IRValueBuilder outside(builder, loc);
  level = levelOf(outside, format, rule, amax);
  forEachBlock(
      builder, loc, itemSize, begin, end, cols, format.blockCols,
      [&](OpBuilder &inner, Value item, Value blockCol, int64_t valid) {
        IndexMath at(inner, loc);
        Value blockRows = at.ceilDiv(rows, format.blockRows);
        Value batch = at.div(item, blockRows);
        Value blockRow = at.rem(item, blockRows);
        Value row = at.mul(blockRow, format.blockRows);
        Value rowCount =
            at.min(at.sub(rows, row), at.constant(format.blockRows));
        Value rowIndex = at.mul(at.add(at.mul(batch, rows), row), cols);
        emitBlock(inner, loc, batch, blockRow, blockCol,
                  at.add(rowIndex, at.mul(blockCol, format.blockCols)),
                  rowCount, valid);
      });
}

LogicalResult
LowerScale::matchAndRewrite(ScaleOp op, OpAdaptor adaptor,
                            ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  const Format &format = op.getFormat().getValue();
  const ScaleRule &rule = op.getRule().getValue();
  auto type = op.getSource().getType();
  IndexMath math(rewriter, loc);
  Extents extents = getExtents(rewriter, loc, adaptor.getSource(), type);
  Value source = inputBuffer(rewriter, loc, adaptor.getSource());

  KernelArgs args;
  size_t sourceArg = *args.add(source);
  size_t rowsArg = *args.add(extents.rows);
  std::optional<size_t> amaxArg;
  if (adaptor.getAmax())
    amaxArg = args.add(inputBuffer(rewriter, loc, adaptor.getAmax()));
  else if (format.hasTensorScale)
    amaxArg = args.add(
        launchAmax(rewriter, loc, kernelSet, source,
                   math.mul(extents.allRows(math), extents.cols)));

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
  std::optional<size_t> factorsArg = addResult(op.getEncode());
  if (Value tensorScale = op.getTensorScale()) {
    ResultBuffer buffer =
        allocateResult(rewriter, loc, kernelSet,
                       cast<RankedTensorType>(tensorScale.getType()), {});
    storeTensorScale(rewriter, loc, format, rule, args.values[*amaxArg],
                     buffer.flat);
    results[cast<OpResult>(tensorScale).getResultNumber()] =
        buffer.asTensor(rewriter, loc);
  }

  auto scalesType = cast<RankedTensorType>(op.getScales().getType());
  ScaleAddress scaleAddress(scalesType);
  ScaleAddress linear(RankedTensorType::get(scalesType.getShape(),
                                            scalesType.getElementType()));
  std::string key =
      kernelKey("scale", source.getType(), extents.cols, format.text(),
                rule.text(), scaleAddress.isTiled(),
                amaxArg ? args.values[*amaxArg].getType() : Type());
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
        ScaleKernel{format,
                    rule,
                    extents.cols,
                    kernelSet.itemSize(),
                    alignment,
                    scaleAddress,
                    linear,
                    args[sourceArg],
                    args[rowsArg],
                    args[scalesArg],
                    optional(amaxArg),
                    optional(zerosArg),
                    optional(factorsArg),
                    {}}
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
  rewriter.replaceOp(op, results);
  return success();
}

void LowerScale::storeTensorScale(OpBuilder &builder, Location loc,
                                  const Format &format, const ScaleRule &rule,
                                  Value amax, Value tensorScale) const {
  IndexMath math(builder, loc);
  func::FuncOp kernel = kernelSet.getOrCreate(
      loc, "blockscale_tensor_scale",
      kernelKey("tensor_scale", format.text(), rule.text(), amax.getType()),
      {amax.getType(), tensorScale.getType()},
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        forRange(builder, loc, begin, end, 1, [&](OpBuilder &inner, Value i) {
          IRValueBuilder b(inner, loc);
          Value decode = levelOf(b, format, rule, args[0]).decode;
          storeScalarCode(b, b.asInt(decode), args[1], i);
        });
      });
  kernelSet.launch(builder, loc, kernel, math.constant(1), math.constant(1),
                   {amax, tensorScale});
}

void kernels::populateScaleKernel(RewritePatternSet &patterns,
                              const TypeConverter &converter,
                              KernelSet &kernelSet) {
  patterns.add<LowerScale>(converter, patterns.getContext(), kernelSet);
}
