//===-- ApproximateMath.cpp - Transcendental functions of epilogues -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace blockscale {
#define GEN_PASS_DEF_APPROXIMATEMATHPASS
#include "blockscale/Conversion/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

namespace {

/// A question about |x| as a comparison with `bound`, which NaN fails; also
/// with the smallest normal number for isnormal.
template <typename OpTy> struct CompareMagnitude : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = op.getOperand();
    auto element = cast<FloatType>(getElementTypeOrSelf(x.getType()));
    const llvm::fltSemantics &semantics = element.getFloatSemantics();
    auto compare = [&](arith::CmpFPredicate predicate, const APFloat &bound) {
      TypedAttr value = rewriter.getFloatAttr(element, bound);
      if (auto shaped = dyn_cast<ShapedType>(x.getType()))
        value = DenseElementsAttr::get(shaped, bound);
      Value constant = arith::ConstantOp::create(rewriter, loc, value);
      Value magnitude = math::AbsFOp::create(rewriter, loc, x);
      return arith::CmpFOp::create(rewriter, loc, predicate, magnitude,
                                   constant)
          .getResult();
    };
    APFloat infinity = APFloat::getInf(semantics);
    Value result;
    if constexpr (std::is_same_v<OpTy, math::IsNaNOp>) {
      result =
          arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::UNO, x, x);
    } else if constexpr (std::is_same_v<OpTy, math::IsInfOp>) {
      result = compare(arith::CmpFPredicate::OEQ, infinity);
    } else {
      result = compare(arith::CmpFPredicate::OLT, infinity);
      if constexpr (std::is_same_v<OpTy, math::IsNormalOp>)
        result = arith::AndIOp::create(
            rewriter, loc, result,
            compare(arith::CmpFPredicate::OGE,
                    APFloat::getSmallestNormalized(semantics)));
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// max(low, min(x, high)), as math defines clampf.
struct ClampByTwo : OpRewritePattern<math::ClampFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ClampFOp op,
                                PatternRewriter &rewriter) const override {
    Value low = arith::MinimumFOp::create(rewriter, op.getLoc(), op.getValue(),
                                          op.getMax());
    rewriter.replaceOpWithNewOp<arith::MaximumFOp>(op, low, op.getMin());
    return success();
  }
};

struct SplitSinCos : OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::SincosOp op,
                                PatternRewriter &rewriter) const override {
    Value sin = math::SinOp::create(rewriter, op.getLoc(), op.getOperand());
    Value cos = math::CosOp::create(rewriter, op.getLoc(), op.getOperand());
    rewriter.replaceOp(op, {sin, cos});
    return success();
  }
};

struct ApproximateMath
    : blockscale::impl::ApproximateMathPassBase<ApproximateMath> {
  using ApproximateMathPassBase::ApproximateMathPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns
        .add<CompareMagnitude<math::IsNaNOp>, CompareMagnitude<math::IsInfOp>,
             CompareMagnitude<math::IsFiniteOp>,
             CompareMagnitude<math::IsNormalOp>, ClampByTwo, SplitSinCos>(
            &getContext());
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
            math::CtPopOp, math::FloorOp, math::FmaOp, math::RoundEvenOp,
            math::RoundOp, math::RsqrtOp, math::SqrtOp, math::TruncOp>(op))
      return WalkResult::advance();
    op->emitError("expects a function that has an instruction or a polynomial "
                  "(on f32), but got '")
        << op->getName() << "'; write it with others"
        << (isa<math::IPowIOp>(op) ? "" : ", or compile for the CPU");
    return WalkResult::interrupt();
  }
};

} // namespace
