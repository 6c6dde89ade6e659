//===-- CallMathLibrary.cpp - Functions of epilogues by libm --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Conversion/Passes.h"

#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace blockscale {
#define GEN_PASS_DEF_CALLMATHLIBRARYPASS
#include "blockscale/Conversion/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

namespace {

/// x^n is pow in f64, where every i32 is exact: rounded once.
struct PowerByInteger : OpRewritePattern<math::FPowIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FPowIOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = op.getType(), wide = rewriter.getF64Type();
    if (auto shaped = dyn_cast<ShapedType>(type))
      wide = shaped.clone(wide);
    Value base = op.getLhs();
    if (type != wide)
      base = arith::ExtFOp::create(rewriter, loc, wide, base);
    Value power = math::PowFOp::create(
        rewriter, loc, base,
        arith::SIToFPOp::create(rewriter, loc, wide, op.getRhs()));
    if (type != wide)
      power = arith::TruncFOp::create(rewriter, loc, type, power);
    rewriter.replaceOp(op, power);
    return success();
  }
};

struct CallMathLibrary
    : blockscale::impl::CallMathLibraryPassBase<CallMathLibrary> {
  using CallMathLibraryPassBase::CallMathLibraryPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<PowerByInteger>(&getContext());
    populateMathToLibmConversionPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))) ||
        getOperation()->walk(refuseUnknown).wasInterrupted())
      signalPassFailure();
  }

private:
  /// An error for what is neither a call by now nor an instruction.
  static WalkResult refuseUnknown(Operation *op) {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
        isa<math::AbsFOp, math::AbsIOp, math::CopySignOp,
            math::CountLeadingZerosOp, math::CountTrailingZerosOp,
            math::CtPopOp, math::FmaOp, math::SqrtOp>(op))
      return WalkResult::advance();
    op->emitError("expects a function that is an instruction or in libm, but "
                  "got '")
        << op->getName()
        << "'; write it with others: arith operations, powf, sin, ...";
    return WalkResult::interrupt();
  }
};

} // namespace
