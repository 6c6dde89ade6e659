//===-- ApproximateMath.cpp - Transcendental functions of epilogues -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace blockscale {
#define GEN_PASS_DEF_APPROXIMATEMATHPASS
#include "blockscale/Conversion/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

namespace {

struct ApproximateMath
    : blockscale::impl::ApproximateMathPassBase<ApproximateMath> {
  using ApproximateMathPassBase::ApproximateMathPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    if (all)
      populateMathPolynomialApproximationPatterns(patterns);
    else
      populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
        return name == math::ExpOp::getOperationName() ||
               name == math::TanhOp::getOperationName() ||
               name == math::ErfOp::getOperationName();
      });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    if (all && getOperation()->walk(refuseCalls).wasInterrupted())
      signalPassFailure();
  }

private:
  /// An error for what would be a call of a library.
  static WalkResult refuseCalls(Operation *op) {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
        isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
            math::CountLeadingZerosOp, math::CountTrailingZerosOp,
            math::CtPopOp, math::FloorOp, math::FmaOp, math::IsFiniteOp,
            math::IsInfOp, math::IsNaNOp, math::IsNormalOp, math::RoundEvenOp,
            math::RoundOp, math::RsqrtOp, math::SqrtOp, math::TruncOp>(op))
      return WalkResult::advance();
    op->emitError("expects a function that has an instruction or a polynomial "
                  "(on f32), but got '")
        << op->getName() << "'; write it with others, or compile for the CPU";
    return WalkResult::interrupt();
  }
};

} // namespace
