//===-- AmaxKernel.cpp - Largest magnitude of a tensor --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AmaxKernel.h"
#include "blockscale/Kernels/Patterns.h"
#include "blockscale/Kernels/LaneAccess.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Numerics/BlockScaling.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

/// Values looked at by one step: four vectors of 512 bits.
static constexpr int64_t kAmaxLanes = 64;
/// Values of one work item.
static constexpr int64_t kAmaxItem = 4096;

static func::FuncOp amaxKernel(KernelSet &kernelSet, Location loc,
                               Value source) {
  OpBuilder types(loc.getContext());
  SmallVector<Type> argTypes{source.getType(), flatType(types.getI32Type()),
                             types.getIndexType()};
  return kernelSet.getOrCreate(
      loc, "blockscale_amax", kernelKey("amax", source.getType()), argTypes,
      [&](OpBuilder &builder, Location loc, Value begin, Value end,
          ValueRange args) {
        Value source = args[0], maximum = args[1], size = args[2];
        IndexMath math(builder, loc);
        IRValueBuilder outside(builder, loc);
        Value first = math.mul(begin, kAmaxItem);
        Value last = math.min(math.mul(end, kAmaxItem), size);
        Value whole = math.sub(last, first);
        Value lastFull =
            math.add(first, math.mul(math.div(whole, kAmaxLanes), kAmaxLanes));
        auto laneType = VectorType::get({kAmaxLanes}, builder.getI32Type());
        Value zeros = arith::ConstantOp::create(builder, loc,
                                                builder.getZeroAttr(laneType));
        auto vectorLoop = scf::ForOp::create(
            builder, loc, first, lastFull, math.constant(kAmaxLanes), zeros,
            [&](OpBuilder &inner, Location, Value i, ValueRange sofar) {
              IRValueBuilder b(inner, loc);
              Value x = loadReals(b, source, i, kAmaxLanes, kAmaxLanes);
              Value next = tensorAmaxRow(b, sofar[0], x);
              scf::YieldOp::create(inner, loc, next);
            });
        auto tailLoop = scf::ForOp::create(
            builder, loc, lastFull, last, math.constant(1),
            outside.reduceUMax(vectorLoop.getResult(0)),
            [&](OpBuilder &inner, Location, Value i, ValueRange sofar) {
              IRValueBuilder b(inner, loc);
              Value next = tensorAmaxRow(b, sofar[0], loadReal(b, source, i));
              scf::YieldOp::create(inner, loc, next);
            });
        // The maximum of the bits does not depend on who comes first.
        memref::AtomicRMWOp::create(builder, loc, arith::AtomicRMWKind::maxu,
                                    tailLoop.getResult(0), maximum,
                                    ValueRange{math.constant(0)});
      });
}

Value kernels::launchAmax(OpBuilder &builder, Location loc,
                          KernelSet &kernelSet, Value source, Value size) {
  IndexMath math(builder, loc);
  Value maximum =
      allocateFlat(builder, loc, builder.getI32Type(), math.constant(1));
  kernelSet.fillZero(builder, loc, maximum);
  func::FuncOp kernel = amaxKernel(kernelSet, loc, source);
  kernelSet.launch(builder, loc, kernel, math.ceilDiv(size, kAmaxItem),
                   grainFor(math, math.constant(kAmaxItem)),
                   {source, maximum, size});
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
