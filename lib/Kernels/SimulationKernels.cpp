//===-- SimulationKernels.cpp - fake_quantize, quantization_error ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AmaxKernel.h"
#include "BlockChoice.h"
#include "RowWalk.h"
#include "blockscale/Kernels/Patterns.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

namespace {

/// What fake_quantize and quantization_error share: choosing the scale of a
/// block, and Q(x) of its rows without a tensor in between.
struct Simulation {
  BlockChoice choice;
  Rounding rounding;
  ItemSize itemSize;
  /// Buffers; amax and seed may be null. `rows` are those of a batch.
  Value rows, amax, seed;

  /// A row of a block: its lanes and Q of them.
  struct Row {
    const BlockRows &block;
    Value blockCol;
    Value index; ///< In the block.
    Value x, quantized;
  };
  using RowBody = llvm::function_ref<void(IRValueBuilder &, const Row &)>;
  /// Calls `body` for each row of a block.
  void overRows(OpBuilder &builder, Location loc, const BlockRows &block,
                Value blockCol, std::pair<Value, Value> seedWords,
                RowBody body) const;
  /// Calls `body` for each row of each block of the items.
  void emit(OpBuilder &builder, Location loc, Value begin, Value end,
            RowBody body);
};

/// The buffers of the operands that both ops have, as kernel arguments, and the
/// kernel that walks them.
struct SimulationArgs {
  KernelArgs args;
  size_t source, rows;
  std::optional<size_t> amax, seed;
  Value rowsOfBlocks;

  template <typename OpTy, typename Adaptor>
  SimulationArgs(OpBuilder &builder, Location loc, KernelSet &kernelSet,
                 OpTy op, Adaptor adaptor) {
    const Format &format = op.getFormat().getValue();
    IndexMath math(builder, loc);
    Extents extents =
        getExtents(builder, loc, adaptor.getSource(), op.getSource().getType());
    Value buffer = inputBuffer(builder, loc, adaptor.getSource());
    source = *args.add(buffer);
    rows = *args.add(extents.rows);
    if (adaptor.getAmax())
      amax = args.add(inputBuffer(builder, loc, adaptor.getAmax()));
    else if (format.hasTensorScale)
      amax =
          args.add(launchAmax(builder, loc, kernelSet, buffer,
                              math.mul(extents.allRows(math), extents.cols)));
    seed = args.add(optionalBuffer(builder, loc, adaptor.getSeed()));
    rowsOfBlocks =
        math.mul(extents.batch, math.ceilDiv(extents.rows, format.blockRows));
  }

  template <typename OpTy>
  Simulation simulationOf(OpTy op, const KernelSet &kernelSet,
                          ValueRange args) const {
    const Format &format = op.getFormat().getValue();
    auto type = op.getSource().getType();
    int64_t cols = type.getShape().back();
    auto optional = [&](std::optional<size_t> index) {
      return index ? args[*index] : Value();
    };
    int64_t alignment =
        alignmentOf(kernelSet.bufferAlignment(), cols, format.blockCols,
                    type.getElementType().getIntOrFloatBitWidth());
    return {{format, op.getRule().getValue(), cols, alignment, args[source],
             kernelSet.threadOps()},
            op.getRounding(),
            kernelSet.itemSize(),
            args[rows],
            optional(amax),
            optional(seed)};
  }

  template <typename OpTy> std::string keyOf(StringRef name, OpTy op) const {
    return kernelKey(name, args.values[source].getType(),
                     op.getSource().getType().getShape().back(),
                     op.getFormat().getValue().text(),
                     op.getRule().getValue().text(),
                     static_cast<int>(op.getRounding()),
                     amax ? args.values[*amax].getType() : Type());
  }

  /// Runs a kernel that calls `body` for each row of each block.
  using Body = llvm::function_ref<void(IRValueBuilder &, const Simulation &,
                                       const Simulation::Row &, ValueRange)>;
  template <typename OpTy>
  void launch(OpBuilder &builder, Location loc, KernelSet &kernelSet, OpTy op,
              StringRef name, StringRef key, Body body) const {
    const Format &format = op.getFormat().getValue();
    int64_t cols = op.getSource().getType().getShape().back();
    func::FuncOp kernel = kernelSet.getOrCreate(
        loc, name, keyOf(key, op), args.types(),
        [&](OpBuilder &inner, Location loc, Value begin, Value end,
            ValueRange args) {
          Simulation simulation = simulationOf(op, kernelSet, args);
          simulation.emit(inner, loc, begin, end,
                          [&](IRValueBuilder &b, const Simulation::Row &row) {
                            body(b, simulation, row, args);
                          });
        });
    IndexMath math(builder, loc);
    kernelSet.launch(builder, loc, kernel,
                     itemsOf(math, kernelSet.itemSize(), rowsOfBlocks, cols,
                             format.blockCols),
                     grainFor(math, math.constant(cols * format.blockRows)),
                     args.values);
  }
};

} // namespace

void Simulation::overRows(OpBuilder &builder, Location loc,
                          const BlockRows &block, Value blockCol,
                          std::pair<Value, Value> seedWords,
                          RowBody body) const {
  const Format &format = choice.format;
  IRValueBuilder outside(builder, loc);
  Candidate<Value> chosen = choice.choose(builder, loc, block);
  std::optional<Value> tensor, zero;
  if (format.hasTensorScale)
    tensor = choice.level.decode;
  // What memory would hold of it (scale_c6).
  if (format.zero != ZeroPoint::None)
    zero = loadZero(outside, format, storeZero(outside, format, chosen.zero));
  Value scale = decodeScale(outside, format.scale, chosen.scaleCode);
  bool byFactor = choice.rule.hasEncodeFactor();
  Value encode = byFactor ? chosen.encode
                          : divisor(outside, format, chosen.scaleCode, tensor);
  int64_t paddedCols = (choice.cols + format.blockCols - 1) / format.blockCols *
                       format.blockCols;
  choice.overRows(
      builder, loc, block, ValueRange(),
      [&](IRValueBuilder &b, Value row, Value x,
          ValueRange) -> SmallVector<Value> {
        std::optional<Value> random;
        if (seed) {
          IndexMath at(b.getBuilder(), loc);
          Value element =
              at.add(at.mul(at.add(block.firstRow, row), paddedCols),
                     at.mul(blockCol, format.blockCols));
          random = randomLanesAt(b, choice.ops, element, format.blockCols,
                                 seedWords);
        }
        Value codes =
            byFactor
                ? encodeByFactor(b, format, x, encode, rounding, random)
                : encodeByScale(b, format, x, encode, zero, rounding, random);
        Value quantized = decodeLanes(b, format, codes, scale, tensor, zero);
        body(b, {block, blockCol, row, x, quantized});
        return {};
      });
}

void Simulation::emit(OpBuilder &builder, Location loc, Value begin, Value end,
                      RowBody body) {
  choice.setLevel(builder, loc, amax);
  std::pair<Value, Value> seedWords;
  if (seed)
    seedWords = loadSeed(builder, loc, seed);
  forEachBlock(
      builder, loc, itemSize, begin, end, choice.cols, choice.format.blockCols,
      [&](OpBuilder &inner, Value item, Value blockCol, int64_t valid) {
        BlockRows block =
            choice.rowsOf(inner, loc, rows, item, blockCol, valid);
        overRows(inner, loc, block, blockCol, seedWords, body);
      });
}

namespace {

struct LowerFakeQuantize : KernelPattern<FakeQuantizeOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(FakeQuantizeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = op.getSource().getType();
    SimulationArgs shared(rewriter, loc, kernelSet, op, adaptor);
    ResultBuffer result =
        allocateResult(rewriter, loc, kernelSet, type,
                       getSizes(rewriter, loc, adaptor.getSource(), type));
    size_t out = *shared.args.add(result.flat);
    bool residual = op.getResidual();
    shared.launch(
        rewriter, loc, kernelSet, op, "blockscale_fake_quantize",
        residual ? "residual" : "fake_quantize",
        [&](IRValueBuilder &b, const Simulation &simulation,
            const Simulation::Row &row, ValueRange args) {
          IndexMath at(b.getBuilder(), loc);
          Value y = residual ? b.fsub(row.x, row.quantized) : row.quantized;
          storeReals(b, y, args[out],
                     at.add(row.block.index,
                            at.mul(row.index, simulation.choice.cols)),
                     row.block.valid, simulation.choice.alignment);
        });
    rewriter.replaceOp(op, result.asTensor(rewriter, loc));
    return success();
  }
};

struct LowerQuantizationError : KernelPattern<QuantizationErrorOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(QuantizationErrorOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  /// Adds the partial sums in order.
  void sumPartials(OpBuilder &builder, Location loc, Value partials,
                   Value blocks, Value sums) const;
};

} // namespace

/// The sum of the squares of the first `valid` f32 lanes, as f64, in ascending
/// order (error_c2).
static Value sumOfSquares(IRValueBuilder &b, Value lanes, int64_t valid) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  lanes = sliceLanes(b, lanes, 0, valid);
  Type wideType = withLanesOf(builder.getF64Type(), lanes.getType());
  Value wide = arith::ExtFOp::create(builder, loc, wideType, lanes);
  Value squares = arith::MulFOp::create(builder, loc, wide, wide);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(0.0));
  return vector::ReductionOp::create(builder, loc, vector::CombiningKind::ADD,
                                     squares, zero);
}

LogicalResult LowerQuantizationError::matchAndRewrite(
    QuantizationErrorOp op, OpAdaptor adaptor,
    ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  const Format &format = op.getFormat().getValue();
  int64_t cols = op.getSource().getType().getShape().back();
  int64_t blockCols = (cols + format.blockCols - 1) / format.blockCols;
  IndexMath math(rewriter, loc);
  SimulationArgs shared(rewriter, loc, kernelSet, op, adaptor);
  Value blocks = math.mul(shared.rowsOfBlocks, blockCols);
  Type f64 = rewriter.getF64Type();
  // Two sums for each row of each block.
  int64_t slots = 2 * format.blockRows;
  Value partials = allocateFlat(rewriter, loc, f64, math.mul(blocks, slots));
  if (format.blockRows != 1)
    kernelSet.fillZero(rewriter, loc, partials);
  size_t out = *shared.args.add(partials);
  shared.launch(
      rewriter, loc, kernelSet, op, "blockscale_quantization_error",
      "quantization_error",
      [&](IRValueBuilder &b, const Simulation &, const Simulation::Row &row,
          ValueRange args) {
        OpBuilder &body = b.getBuilder();
        const BlockRows &block = row.block;
        IndexMath at(body, loc);
        Value blockIndex = at.add(
            at.mul(at.add(at.mul(block.batch, block.blockRows), block.blockRow),
                   blockCols),
            row.blockCol);
        Value slot = at.add(at.mul(blockIndex, slots), at.mul(row.index, 2));
        Value error =
            sumOfSquares(b, b.fsub(row.x, row.quantized), block.valid);
        memref::StoreOp::create(body, loc, error, args[out], ValueRange{slot});
        memref::StoreOp::create(body, loc, sumOfSquares(b, row.x, block.valid),
                                args[out], ValueRange{at.add(slot, 1)});
      });
  ResultBuffer result = allocateResult(
      rewriter, loc, kernelSet, op.getResult().getType(), {math.constant(2)});
  sumPartials(rewriter, loc, partials, math.mul(blocks, format.blockRows),
              result.flat);
  rewriter.replaceOp(op, result.asTensor(rewriter, loc));
  return success();
}

void LowerQuantizationError::sumPartials(OpBuilder &builder, Location loc,
                                         Value partials, Value count,
                                         Value sums) const {
  IndexMath math(builder, loc);
  func::FuncOp kernel = kernelSet.getOrCreate(
      loc, "blockscale_sum_errors", "sum_errors",
      {partials.getType(), sums.getType(), builder.getIndexType()},
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        // Item 0 sums the errors, item 1 the squares of the tensor.
        forRange(
            builder, loc, begin, end, 1, [&](OpBuilder &body, Value which) {
              IndexMath bounds(body, loc);
              Value zero = arith::ConstantOp::create(body, loc,
                                                     body.getF64FloatAttr(0.0));
              auto loop = scf::ForOp::create(
                  body, loc, bounds.constant(0), args[2], bounds.constant(1),
                  zero,
                  [&](OpBuilder &inner, Location, Value i, ValueRange sofar) {
                    IndexMath at(inner, loc);
                    Value term = memref::LoadOp::create(
                        inner, loc, args[0],
                        ValueRange{at.add(at.mul(i, 2), which)});
                    Value next =
                        arith::AddFOp::create(inner, loc, sofar[0], term);
                    scf::YieldOp::create(inner, loc, next);
                  });
              memref::StoreOp::create(body, loc, loop.getResult(0), args[1],
                                      ValueRange{which});
            });
      });
  kernelSet.launch(builder, loc, kernel, math.constant(2), math.constant(1),
                   {partials, sums, count});
}

void kernels::populateSimulationKernels(RewritePatternSet &patterns,
                                        const TypeConverter &converter,
                                        KernelSet &kernelSet) {
  patterns.add<LowerFakeQuantize, LowerQuantizationError>(
      converter, patterns.getContext(), kernelSet);
}
