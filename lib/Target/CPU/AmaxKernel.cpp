//===-- AmaxKernel.cpp - Largest magnitude of a tensor --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AmaxKernel.h"
#include "Kernels.h"
#include "LaneAccess.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Numerics/BlockScaling.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::cpu;

/// Values looked at by one step: four vectors of 512 bits.
static constexpr int64_t kAmaxLanes = 64;
/// Values of one work item.
static constexpr int64_t kAmaxItem = 4096;

static func::FuncOp amaxKernel(KernelSet &kernels, Location loc, Value source) {
  OpBuilder types(loc.getContext());
  SmallVector<Type> argTypes{source.getType(), flatType(types.getI32Type()),
                             types.getIndexType()};
  return kernels.getOrCreate(
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

Value cpu::launchAmax(OpBuilder &builder, Location loc, KernelSet &kernels,
                      Value source, Value size) {
  IndexMath math(builder, loc);
  IRValueBuilder b(builder, loc);
  Value zero = math.constant(0);
  Value maximum =
      allocateFlat(builder, loc, builder.getI32Type(), math.constant(1));
  memref::StoreOp::create(builder, loc, b.i32(0), maximum, ValueRange{zero});
  func::FuncOp kernel = amaxKernel(kernels, loc, source);
  kernels.launch(builder, loc, kernel, math.ceilDiv(size, kAmaxItem),
                 grainFor(math, math.constant(kAmaxItem)),
                 {source, maximum, size});
  Value bits = memref::LoadOp::create(builder, loc, maximum, ValueRange{zero});
  return b.asFloat(bits);
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
    Value amax = launchAmax(rewriter, loc, kernels, source, size);
    ResultBuffer result =
        allocateResult(rewriter, loc, op.getResult().getType(), {});
    memref::StoreOp::create(rewriter, loc, amax, result.memref, ValueRange());
    rewriter.replaceOp(op, result.asTensor(rewriter, loc));
    return success();
  }
};

} // namespace

void cpu::populateAmaxKernel(RewritePatternSet &patterns,
                             const TypeConverter &converter,
                             KernelSet &kernels) {
  patterns.add<LowerAmax>(converter, patterns.getContext(), kernels);
}
