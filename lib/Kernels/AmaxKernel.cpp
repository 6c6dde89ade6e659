//===-- AmaxKernel.cpp - Largest magnitude of a tensor --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AmaxKernel.h"
#include "blockscale/Kernels/LaneAccess.h"
#include "blockscale/Kernels/Patterns.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Numerics/BlockScaling.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

/// Values of one work item where an item is a run: a quarter of an L1 cache.
static constexpr int64_t kAmaxRun = 4096;
/// Values looked at by one step of a run: four vectors of 512 bits.
static constexpr int64_t kAmaxLanes = 64;
/// Values of one step where neighbouring items take neighbouring values.
static constexpr int64_t kAmaxChunk = 8;
/// Most items of that kind: enough threads for the largest GPU.
static constexpr int64_t kAmaxItems = 1 << 18;

/// max(sofar, magnitudes of source[first, last) by steps of `lanes`).
static Value maxOfChunks(OpBuilder &builder, Location loc, Value source,
                         Value first, Value last, Value step, int64_t lanes,
                         int64_t alignment) {
  auto laneType = VectorType::get({lanes}, builder.getI32Type());
  Value zeros =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(laneType));
  auto loop = scf::ForOp::create(
      builder, loc, first, last, step, zeros,
      [&](OpBuilder &inner, Location, Value i, ValueRange sofar) {
        IRValueBuilder b(inner, loc);
        Value x = loadReals(b, source, i, lanes, lanes, alignment);
        scf::YieldOp::create(inner, loc, tensorAmaxRow(b, sofar[0], x));
      });
  return IRValueBuilder(builder, loc).reduceUMax(loop.getResult(0));
}

/// The same, value by value.
static Value maxOfValues(OpBuilder &builder, Location loc, Value source,
                         Value first, Value last, Value sofar) {
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(
      builder, loc, first, last, one, sofar,
      [&](OpBuilder &inner, Location, Value i, ValueRange sofar) {
        IRValueBuilder b(inner, loc);
        scf::YieldOp::create(
            inner, loc, tensorAmaxRow(b, sofar[0], loadReal(b, source, i)));
      });
  return loop.getResult(0);
}

static func::FuncOp amaxKernel(KernelSet &kernelSet, Location loc,
                               Value source) {
  OpBuilder types(loc.getContext());
  Type index = types.getIndexType();
  SmallVector<Type> argTypes{source.getType(), flatType(types.getI32Type()),
                             index, index};
  return kernelSet.getOrCreate(
      loc, "blockscale_amax", kernelKey("amax", source.getType()), argTypes,
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        Value source = args[0], maximum = args[1], size = args[2],
              items = args[3];
        IndexMath math(builder, loc);
        Value result;
        if (kernelSet.itemSize() == ItemSize::Row) {
          Value first = math.mul(begin, kAmaxRun);
          Value last = math.min(math.mul(end, kAmaxRun), size);
          Value lastFull = math.add(
              first, math.mul(math.div(math.sub(last, first), kAmaxLanes),
                              kAmaxLanes));
          result = maxOfChunks(builder, loc, source, first, lastFull,
                               math.constant(kAmaxLanes), kAmaxLanes, 0);
          result = maxOfValues(builder, loc, source, lastFull, last, result);
        } else {
          Value full = math.mul(math.div(size, kAmaxChunk), kAmaxChunk);
          unsigned bits = cast<MemRefType>(source.getType())
                              .getElementType()
                              .getIntOrFloatBitWidth();
          // A thread without an item has an empty range.
          Value first = arith::SelectOp::create(
              builder, loc,
              arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                    begin, end),
              math.mul(begin, kAmaxChunk), full);
          result = maxOfChunks(builder, loc, source, first, full,
                               math.mul(items, kAmaxChunk), kAmaxChunk,
                               alignmentOf(kernelSet.bufferAlignment(),
                                           kAmaxChunk, kAmaxChunk, bits));
          Value isFirst = arith::CmpIOp::create(
              builder, loc, arith::CmpIPredicate::eq, begin, math.constant(0));
          Value tail =
              arith::SelectOp::create(builder, loc, isFirst, full, size);
          result = maxOfValues(builder, loc, source, tail, size, result);
        }
        // The maximum of the bits does not depend on who comes first.
        kernelSet.atomicUMax(builder, loc, result, maximum);
      });
}

Value kernels::launchAmax(OpBuilder &builder, Location loc,
                          KernelSet &kernelSet, Value source, Value size) {
  IndexMath math(builder, loc);
  Value maximum =
      allocateFlat(builder, loc, builder.getI32Type(), math.constant(1));
  kernelSet.fillZero(builder, loc, maximum);
  func::FuncOp kernel = amaxKernel(kernelSet, loc, source);
  bool runs = kernelSet.itemSize() == ItemSize::Row;
  Value items = runs ? math.ceilDiv(size, kAmaxRun)
                     : math.min(math.ceilDiv(size, kAmaxChunk),
                                math.constant(kAmaxItems));
  kernelSet.launch(builder, loc, kernel, items,
                   grainFor(math, math.constant(kAmaxRun)),
                   {source, maximum, size, items});
  return maximum;
}

namespace {

struct LowerAmax : KernelPattern<AmaxOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(AmaxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexMath math(rewriter, loc);
    auto type = op.getSource().getType();
    Value size = math.constant(1);
    for (Value extent : getSizes(rewriter, loc, adaptor.getSource(), type))
      size = math.mul(size, extent);
    Value source = inputBuffer(rewriter, loc, adaptor.getSource());
    Value maximum = launchAmax(rewriter, loc, kernelSet, source, size);
    ResultBuffer result =
        allocateResult(rewriter, loc, kernelSet, op.getResult().getType(), {});
    func::FuncOp store = kernelSet.getOrCreate(
        loc, "blockscale_store_amax", "store_amax",
        {maximum.getType(), result.flat.getType()},
        [&](OpBuilder &builder, Location loc, Value begin, Value end,
            ValueRange args) {
          forRange(builder, loc, begin, end, 1, [&](OpBuilder &inner, Value i) {
            IRValueBuilder b(inner, loc);
            storeScalarCode(b, loadScalarCode(b, args[0], i), args[1], i);
          });
        });
    kernelSet.launch(rewriter, loc, store, math.constant(1), math.constant(1),
                     {maximum, result.flat});
    rewriter.replaceOp(op, result.asTensor(rewriter, loc));
    return success();
  }
};

} // namespace

void kernels::populateAmaxKernel(RewritePatternSet &patterns,
                                 const TypeConverter &converter,
                                 KernelSet &kernelSet) {
  patterns.add<LowerAmax>(converter, patterns.getContext(), kernelSet);
}
