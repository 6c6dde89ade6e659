//===-- AmaxKernel.cpp - Largest magnitude of a tensor --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AmaxKernel.h"
#include "blockscale/Kernels/LaneAccess.h"
#include "blockscale/Kernels/Patterns.h"

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

namespace {
/// Whose maximum, and how to get at it.
struct Values {
  Value source;
  const ThreadOps &ops;
  std::optional<Rotation> rotation;
};
} // namespace

/// The largest magnitude of source[first, last), `lanes` at a time.
static Value maxOfChunks(OpBuilder &builder, Location loc, const Values &values,
                         Value first, Value last, Value step, int64_t lanes,
                         int64_t alignment) {
  auto laneType = VectorType::get({lanes}, builder.getI32Type());
  Value zeros =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(laneType));
  auto loop = scf::ForOp::create(
      builder, loc, first, last, step, zeros,
      [&](OpBuilder &inner, Location, Value i, ValueRange sofar) {
        IRValueBuilder b(inner, loc);
        Value x = loadUnfinished(b, values.ops, values.rotation, values.source,
                                 i, lanes, alignment);
        scf::YieldOp::create(inner, loc, values.ops.foldAmax(b, sofar[0], x));
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

/// The same where groups of the rotation are shared by neighbouring items. They
/// all take as many steps as the first item of their warp; one that is through
/// sees values of the first group again.
static Value maxOfSharedGroups(OpBuilder &builder, Location loc,
                               const Values &values, Value item, Value last,
                               Value step, int64_t lanes, int64_t alignment) {
  IndexMath math(builder, loc);
  constexpr int64_t warp = 32;
  Value inWarp = math.rem(item, warp);
  Value offset = math.mul(inWarp, lanes);
  Value company =
      math.mul(math.rem(inWarp, values.rotation->size / lanes), lanes);
  auto laneType = VectorType::get({lanes}, builder.getI32Type());
  Value zeros =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(laneType));
  auto loop = scf::ForOp::create(
      builder, loc, math.mul(math.sub(item, inWarp), lanes), last, step, zeros,
      [&](OpBuilder &inner, Location, Value i, ValueRange sofar) {
        IRValueBuilder b(inner, loc);
        Value own = IndexMath(inner, loc).add(i, offset);
        Value exists = arith::CmpIOp::create(
            inner, loc, arith::CmpIPredicate::ult, own, last);
        Value index = arith::SelectOp::create(inner, loc, exists, own, company);
        Value x = loadUnfinished(b, values.ops, values.rotation, values.source,
                                 index, lanes, alignment);
        scf::YieldOp::create(inner, loc, values.ops.foldAmax(b, sofar[0], x));
      });
  return IRValueBuilder(builder, loc).reduceUMax(loop.getResult(0));
}

/// Values that an item takes at a time.
static int64_t lanesOfAmax(const KernelSet &kernelSet,
                           const std::optional<Rotation> &rotation) {
  if (kernelSet.itemSize() == ItemSize::Row)
    return rotation ? rotation->size : kAmaxLanes;
  return rotation ? std::min(rotation->size,
                             kernelSet.threadOps().itemColumns(rotation->size))
                  : kAmaxChunk;
}

static func::FuncOp amaxKernel(KernelSet &kernelSet, Location loc,
                               const std::optional<Rotation> &rotation,
                               TypeRange argTypes) {
  int64_t lanes = lanesOfAmax(kernelSet, rotation);
  return kernelSet.getOrCreate(
      loc, rotation ? "blockscale_rotate_amax" : "blockscale_amax",
      kernelKey("amax", argTypes[0], rotation ? rotation->key() : ""), argTypes,
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        Values values{args[0], kernelSet.threadOps(), rotation};
        if (args.size() == 5)
          values.rotation->signBuffer = args[4];
        Value maximum = args[1], size = args[2], items = args[3];
        IndexMath math(builder, loc);
        unsigned bits = cast<MemRefType>(values.source.getType())
                            .getElementType()
                            .getIntOrFloatBitWidth();
        int64_t alignment =
            alignmentOf(kernelSet.bufferAlignment(), lanes, lanes, bits);
        Value result;
        if (kernelSet.itemSize() == ItemSize::Row) {
          Value first = math.mul(begin, kAmaxRun);
          Value last = math.min(math.mul(end, kAmaxRun), size);
          Value lastFull = math.add(
              first, math.mul(math.div(math.sub(last, first), lanes), lanes));
          result = maxOfChunks(builder, loc, values, first, lastFull,
                               math.constant(lanes), lanes, alignment);
          if (!rotation)
            result = maxOfValues(builder, loc, values.source, lastFull, last,
                                 result);
        } else if (rotation && rotation->size > lanes) {
          result = maxOfSharedGroups(builder, loc, values, begin, size,
                                     math.mul(items, lanes), lanes, alignment);
        } else {
          Value full = math.mul(math.div(size, lanes), lanes);
          // A thread without an item has an empty range.
          Value first = arith::SelectOp::create(
              builder, loc,
              arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                    begin, end),
              math.mul(begin, lanes), full);
          result = maxOfChunks(builder, loc, values, first, full,
                               math.mul(items, lanes), lanes, alignment);
          if (!rotation) {
            Value isFirst =
                arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      begin, math.constant(0));
            Value tail =
                arith::SelectOp::create(builder, loc, isFirst, full, size);
            result =
                maxOfValues(builder, loc, values.source, tail, size, result);
          }
        }
        if (rotation) {
          IRValueBuilder b(builder, loc);
          Type element =
              cast<MemRefType>(values.source.getType()).getElementType();
          result = b.asInt(
              finishMagnitude(b, *rotation, b.asFloat(result), element));
        }
        // The maximum of the bits does not depend on who comes first.
        kernelSet.atomicUMax(builder, loc, result, maximum);
      });
}

Value kernels::launchAmax(OpBuilder &builder, Location loc,
                          KernelSet &kernelSet, Value source, Value size,
                          const std::optional<Rotation> &rotation) {
  IndexMath math(builder, loc);
  Value maximum =
      allocateFlat(builder, loc, builder.getI32Type(), math.constant(1));
  kernelSet.fillZero(builder, loc, maximum);
  bool runs = kernelSet.itemSize() == ItemSize::Row;
  Value items =
      runs ? math.ceilDiv(size, kAmaxRun)
           : math.min(math.ceilDiv(size, lanesOfAmax(kernelSet, rotation)),
                      math.constant(kAmaxItems));
  SmallVector<Value> args{source, maximum, size, items};
  if (rotation && rotation->signBuffer)
    args.push_back(rotation->signBuffer);
  func::FuncOp kernel =
      amaxKernel(kernelSet, loc, rotation, ValueRange(args).getTypes());
  kernelSet.launch(builder, loc, kernel, items,
                   grainFor(math, math.constant(kAmaxRun)), args);
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
