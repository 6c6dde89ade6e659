//===-- ScaleKernel.cpp - Block scales by a scale rule --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AmaxKernel.h"
#include "HostSide.h"
#include "Kernels.h"
#include "LaneAccess.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Numerics/BlockScaling.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::cpu;

namespace {

struct LowerScale : KernelPattern<ScaleOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(ScaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

/// The code of a scale kernel. Its arguments: source, rows of a batch, amax,
/// scales, then zero points and encode factors where they exist.
struct ScaleKernel {
  Format format;
  ScaleRule rule;
  int64_t cols;
  ScaleAddress scaleAddress;
  /// Zero points and encode factors are linear.
  ScaleAddress factorAddress;
  bool hasZeros, hasFactors;
  ValueRange args;
  TensorLevel<Value> level;

  Value source() const { return args[0]; }
  Value rows() const { return args[1]; }
  Value amax() const { return args[2]; }

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
    Value x = loadReals(b, source(), firstIndex, format.blockCols, valid);
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
        Value x = loadReals(b, source(), index, format.blockCols, valid);
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
  Value blockRows = math.ceilDiv(rows(), format.blockRows);
  storeScalarCode(b, chosen.scaleCode, args[3],
                  scaleAddress.offset(builder, loc, batch, blockRows, blockRow,
                                      blockCol));
  Value factorIndex = factorAddress.offset(builder, loc, batch, blockRows,
                                           blockRow, blockCol);
  if (hasZeros)
    storeScalarCode(b, storeZero(b, format, chosen.zero), args[4], factorIndex);
  if (hasFactors)
    storeScalarCode(b, b.asInt(chosen.encode), args[4 + hasZeros], factorIndex);
}

void ScaleKernel::emit(OpBuilder &builder, Location loc, Value begin,
                       Value end) {
  IRValueBuilder outside(builder, loc);
  level = tensorLevel(outside, format, rule, amax());
  forRange(builder, loc, begin, end, 1, [&](OpBuilder &itemLoop, Value item) {
    IndexMath at(itemLoop, loc);
    Value blockRows = at.ceilDiv(rows(), format.blockRows);
    Value batch = at.div(item, blockRows);
    Value blockRow = at.rem(item, blockRows);
    Value row = at.mul(blockRow, format.blockRows);
    Value rowCount =
        at.min(at.sub(rows(), row), at.constant(format.blockRows));
    Value rowIndex = at.mul(at.add(at.mul(batch, rows()), row), cols);
    int64_t fullBlocks = cols / format.blockCols;
    forRange(itemLoop, loc, at.constant(0), at.constant(fullBlocks), 1,
             [&](OpBuilder &inner, Value blockCol) {
               IndexMath in(inner, loc);
               emitBlock(inner, loc, batch, blockRow, blockCol,
                         in.add(rowIndex, in.mul(blockCol, format.blockCols)),
                         rowCount, format.blockCols);
             });
    if (int64_t rest = cols % format.blockCols)
      emitBlock(itemLoop, loc, batch, blockRow, at.constant(fullBlocks),
                at.add(rowIndex, fullBlocks * format.blockCols), rowCount,
                rest);
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
  IRValueBuilder b(rewriter, loc);
  Extents extents = getExtents(rewriter, loc, adaptor.getSource(), type);
  Value source = inputBuffer(rewriter, loc, adaptor.getSource());

  Value amax;
  if (adaptor.getAmax())
    amax = tensor::ExtractOp::create(rewriter, loc, adaptor.getAmax(),
                                     ValueRange());
  else if (format.hasTensorScale)
    amax = launchAmax(rewriter, loc, kernels, source,
                      math.mul(extents.allRows(math), extents.cols));
  else
    amax = b.f32(0);

  Value blockRows = math.ceilDiv(extents.rows, format.blockRows);
  SmallVector<Value> sizes = getScaleSizes(
      math, format, getSizes(rewriter, loc, adaptor.getSource(), type));
  SmallVector<Value> args{source, extents.rows, amax};
  SmallVector<Value> results(op->getNumResults());
  auto addResult = [&](Value result) {
    if (!result)
      return;
    ResultBuffer buffer = allocateResult(
        rewriter, loc, cast<RankedTensorType>(result.getType()), sizes);
    args.push_back(buffer.flat);
    results[cast<OpResult>(result).getResultNumber()] =
        buffer.asTensor(rewriter, loc);
  };
  addResult(op.getScales());
  addResult(op.getZeros());
  addResult(op.getEncode());
  if (Value tensorScale = op.getTensorScale()) {
    ResultBuffer buffer = allocateResult(
        rewriter, loc, cast<RankedTensorType>(tensorScale.getType()), {});
    Value decode = tensorLevel(b, format, rule, amax).decode;
    memref::StoreOp::create(rewriter, loc, decode, buffer.memref, ValueRange());
    results[cast<OpResult>(tensorScale).getResultNumber()] =
        buffer.asTensor(rewriter, loc);
  }

  SmallVector<Type> argTypes;
  for (Value arg : args)
    argTypes.push_back(arg.getType());
  auto scalesType = cast<RankedTensorType>(op.getScales().getType());
  ScaleAddress scaleAddress(scalesType);
  ScaleAddress linear(RankedTensorType::get(scalesType.getShape(),
                                            scalesType.getElementType()));
  func::FuncOp kernel = kernels.getOrCreate(
      loc, "blockscale_scale",
      kernelKey("scale", source.getType(), extents.cols, format.text(),
                rule.text(), scaleAddress.isTiled()),
      argTypes,
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        ScaleKernel{format, rule, extents.cols, scaleAddress, linear,
                    op.getZeros() != nullptr, op.getEncode() != nullptr, args,
                    {}}
            .emit(builder, loc, begin, end);
      });
  kernels.launch(rewriter, loc, kernel, math.mul(extents.batch, blockRows),
                 grainFor(math, math.constant(extents.cols * format.blockRows)),
                 args);
  rewriter.replaceOp(op, results);
  return success();
}

void cpu::populateScaleKernel(RewritePatternSet &patterns,
                              const TypeConverter &converter,
                              KernelSet &kernels) {
  patterns.add<LowerScale>(converter, patterns.getContext(), kernels);
}
