//===-- SeedKernels.cpp - derive_seed, random_signs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RowWalk.h"
#include "blockscale/Kernels/Patterns.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Numerics/Seeds.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

/// SplitMix64's mixing of an i64, as deriveSeed() in Numerics/Seeds.h.
static Value mix(OpBuilder &builder, Location loc, Value z) {
  auto constant = [&](uint64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, int64_t(value), 64);
  };
  auto foldShifted = [&](Value value, unsigned shift) -> Value {
    Value shifted =
        arith::ShRUIOp::create(builder, loc, value, constant(shift));
    return arith::XOrIOp::create(builder, loc, value, shifted);
  };
  z = arith::MulIOp::create(builder, loc, foldShifted(z, 30),
                            constant(kMixFirst));
  z = arith::MulIOp::create(builder, loc, foldShifted(z, 27),
                            constant(kMixSecond));
  return foldShifted(z, 31);
}

namespace {

struct LowerDeriveSeed : KernelPattern<DeriveSeedOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(DeriveSeedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexMath math(rewriter, loc);
    ResultBuffer result =
        allocateResult(rewriter, loc, kernelSet, op.getType(), {});
    Value seed = inputBuffer(rewriter, loc, adaptor.getSeed());
    uint64_t offset = uint64_t(op.getSite()) * kSiteStride;
    SmallVector<Value> operands = {seed, result.flat};
    if (Value iteration = adaptor.getIteration())
      operands.push_back(iteration);
    func::FuncOp kernel = kernelSet.getOrCreate(
        loc, "blockscale_derive_seed",
        kernelKey("derive_seed", offset, operands.size()), TypeRange(operands),
        [&](OpBuilder &builder, Location loc, Value begin, Value end,
            ValueRange args) {
          forRange(builder, loc, begin, end, 1, [&](OpBuilder &inner, Value i) {
            Value base =
                memref::LoadOp::create(inner, loc, args[0], ValueRange{i});
            Value stride =
                arith::ConstantIntOp::create(inner, loc, int64_t(offset), 64);
            Value z = arith::AddIOp::create(inner, loc, base, stride);
            if (args.size() > 2) {
              Value iteration = arith::IndexCastOp::create(
                  inner, loc, inner.getI64Type(), args[2]);
              Value shift =
                  arith::ConstantIntOp::create(inner, loc, kIterationShift, 64);
              z = arith::AddIOp::create(
                  inner, loc, z,
                  arith::ShLIOp::create(inner, loc, iteration, shift));
            }
            memref::StoreOp::create(inner, loc, mix(inner, loc, z), args[1],
                                    ValueRange{i});
          });
        });
    kernelSet.launch(rewriter, loc, kernel, math.constant(1), math.constant(1),
                     operands);
    rewriter.replaceOp(op, result.asTensor(rewriter, loc));
    return success();
  }
};

struct LowerRandomSigns : KernelPattern<RandomSignsOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(RandomSignsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexMath math(rewriter, loc);
    RankedTensorType type = op.getResult().getType();
    int64_t count = type.getDimSize(0);
    ResultBuffer result =
        allocateResult(rewriter, loc, kernelSet, type, {math.constant(count)});
    Value seed = inputBuffer(rewriter, loc, adaptor.getSeed());
    func::FuncOp kernel = kernelSet.getOrCreate(
        loc, "blockscale_random_signs", kernelKey("random_signs", count),
        {seed.getType(), result.flat.getType()},
        [&](OpBuilder &builder, Location loc, Value begin, Value end,
            ValueRange args) {
          forRange(builder, loc, begin, end, 1, [&](OpBuilder &inner, Value) {
            IRValueBuilder b(inner, loc);
            auto [low, high] = loadSeed(inner, loc, args[0]);
            Value lanes = sliceLanes(
                b, signLanes(b, (count + 3) / 4 * 4, low, high), 0, count);
            auto bytes = VectorType::get({count}, inner.getI8Type());
            Value narrow = arith::TruncIOp::create(inner, loc, bytes, lanes);
            Value zero = arith::ConstantIndexOp::create(inner, loc, 0);
            vector::StoreOp::create(inner, loc, narrow, args[1],
                                    ValueRange{zero});
          });
        });
    kernelSet.launch(rewriter, loc, kernel, math.constant(1), math.constant(1),
                     {seed, result.flat});
    rewriter.replaceOp(op, result.asTensor(rewriter, loc));
    return success();
  }
};

} // namespace

void kernels::populateSeedKernels(RewritePatternSet &patterns,
                                  const TypeConverter &converter,
                                  KernelSet &kernelSet) {
  patterns.add<LowerDeriveSeed, LowerRandomSigns>(
      converter, patterns.getContext(), kernelSet);
}
