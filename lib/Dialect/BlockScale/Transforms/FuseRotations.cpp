//===-- FuseRotations.cpp - Rotations cancel, merge, move, fold -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RotationPatterns.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h"
#include "blockscale/Numerics/Seeds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace blockscale {
#define GEN_PASS_DEF_FUSEROTATIONSPASS
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

/// Whether a product of these two does not change if both rotations go.
static bool rotateAlike(RotateOp lhs, RotateOp rhs) {
  auto isInnermost = [](RotateOp op) {
    return op.getRotationAxis() == op.getSource().getType().getRank() - 1;
  };
  return lhs && rhs && isInnermost(lhs) && isInnermost(rhs) &&
         lhs.hasSameFactors(rhs) && lhs.getInverse() == rhs.getInverse();
}

namespace {

/// (x R) (w R)^T = x w^T, where nothing is quantized in between.
struct RemoveMatmulPair : OpRewritePattern<ScaledMatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScaledMatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto lhs = op.getLhs().getDefiningOp<RotateOp>();
    auto rhs = op.getRhs().getDefiningOp<RotateOp>();
    if (!rotateAlike(lhs, rhs))
      return rewriter.notifyMatchFailure(op, "not rotated alike");
    rewriter.modifyOpInPlace(op, [&] {
      op.getLhsMutable().assign(lhs.getSource());
      op.getRhsMutable().assign(rhs.getSource());
    });
    return success();
  }
};

/// The ops that quantize one side of a product, for that product alone.
struct QuantizedSide {
  QuantizeOp quantize;
  ScaleOp scale;

  QuantizedSide(ScaledMatmulOp matmul, Value elements)
      : quantize(elements.getDefiningOp<QuantizeOp>()) {
    if (!quantize)
      return;
    Value scales = quantize.getEncode() ? quantize.getEncode()
                                        : Value(quantize.getScales());
    scale = scales.getDefiningOp<ScaleOp>();
    if (!scale || scale.getSource() != quantize.getSource()) {
      scale = {};
      return;
    }
    auto isOurs = [&](Operation *user) {
      return user == matmul || user == quantize ||
             (isa<RelayoutOp>(user) &&
              llvm::all_of(user->getUsers(), [&](Operation *reader) {
                return reader == matmul;
              }));
    };
    if (!quantize->hasOneUse() || !llvm::all_of(scale->getUsers(), isOurs))
      scale = {};
  }
  explicit operator bool() const { return quantize && scale; }
  Value source() { return quantize.getSource(); }
};

struct FuseRotationsPass
    : blockscale::impl::FuseRotationsPassBase<FuseRotationsPass> {
  using FuseRotationsPassBase::FuseRotationsPassBase;
  void runOnOperation() override;

private:
  LogicalResult checkOptions();
  void introduce(ScaledMatmulOp matmul);
};

} // namespace

LogicalResult FuseRotationsPass::checkOptions() {
  if (introduceSize == 0 || (introduceSize >= 2 && introduceSize <= 256 &&
                             llvm::isPowerOf2_64(introduceSize)))
    return success();
  return getOperation()->emitError("expects introduce to be 0 or a power of "
                                   "two from 2 to 256, but got ")
         << int64_t(introduceSize);
}

void FuseRotationsPass::introduce(ScaledMatmulOp matmul) {
  QuantizedSide sides[] = {{matmul, matmul.getLhs()},
                           {matmul, matmul.getRhs()}};
  QuantizedSide &lhs = sides[0], &rhs = sides[1];
  if (!lhs || !rhs)
    return;
  if (lhs.source().getDefiningOp<RotateOp>() ||
      rhs.source().getDefiningOp<RotateOp>()) {
    matmul.emitRemark("operands stay as they are: one is rotated already");
    return;
  }
  if (lhs.scale.getAmax() || rhs.scale.getAmax()) {
    matmul.emitRemark("operands are not rotated: an amax was measured before "
                      "the rotation, which would change it");
    return;
  }
  auto lhsType = cast<RankedTensorType>(lhs.source().getType());
  auto rhsType = cast<RankedTensorType>(rhs.source().getType());
  for (RankedTensorType type : {lhsType, rhsType})
    if (type.getShape().back() % introduceSize != 0) {
      matmul.emitRemark("operands are not rotated: the size ")
          << int64_t(introduceSize)
          << " does not divide the contraction extent "
          << type.getShape().back();
      return;
    }
  DenseI8ArrayAttr signs;
  if (introduceSeed != 0)
    signs = DenseI8ArrayAttr::get(&getContext(),
                                  randomSigns(introduceSeed, introduceSize));
  for (QuantizedSide &side : sides) {
    OpBuilder builder(side.scale);
    Value rotated = RotateOp::create(builder, side.scale.getLoc(),
                                     side.source(), Value(), introduceSize,
                                     IntegerAttr(), signs, /*inverse=*/false);
    side.scale.getSourceMutable().assign(rotated);
    side.quantize.getSourceMutable().assign(rotated);
  }
}

/// Says why a rotation is still there, unless it feeds a quantizer only.
static void explain(RotateOp rotate) {
  if (auto first = rotate.getSource().getDefiningOp<RotateOp>();
      first && first.getRotationAxis() == rotate.getRotationAxis())
    rotate.emitRemark("adjacent rotations by ")
        << first.getSize() << " and " << rotate.getSize()
        << " stay: their product is no rotation by signs and a Hadamard matrix";
  for (Operation *user : rotate->getUsers()) {
    if (isa<ScaleOp, QuantizeOp, AmaxOp, RotateOp, ScaledMatmulOp,
            FakeQuantizeOp, QuantizationErrorOp>(user) ||
        user->hasTrait<OpTrait::IsTerminator>())
      continue;
    rotate.emitRemark("rotation by ")
        << rotate.getSize() << " does not move through '" << user->getName()
        << "', " << whyBlocked(rotate, user);
  }
}

void FuseRotationsPass::runOnOperation() {
  if (failed(checkOptions()))
    return signalPassFailure();
  if (introduceSize)
    getOperation()->walk([&](ScaledMatmulOp op) { introduce(op); });

  RewritePatternSet patterns(&getContext());
  populateRotationMergePatterns(patterns);
  populateRotationMotionPatterns(patterns);
  RotateOp::getCanonicalizationPatterns(patterns, &getContext());
  if (removePairs)
    patterns.add<RemoveMatmulPair>(&getContext());
  if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
    return signalPassFailure();

  if (!remarks)
    return;
  getOperation()->walk([](RotateOp op) { explain(op); });
  getOperation()->walk([](ScaledMatmulOp op) {
    auto rotationOf = [](Value elements) -> RotateOp {
      auto quantize = elements.getDefiningOp<QuantizeOp>();
      Value source = quantize ? Value(quantize.getSource()) : elements;
      return source.getDefiningOp<RotateOp>();
    };
    RotateOp lhs = rotationOf(op.getLhs()), rhs = rotationOf(op.getRhs());
    if (!lhs && !rhs)
      return;
    if (rotateAlike(lhs, rhs))
      op.emitRemark("both sides are rotated by ")
          << lhs.getSize()
          << " alike: the exact product does not change, the quantization "
             "error does";
    else if (lhs && rhs)
      op.emitRemark("the sides are rotated differently, which changes the "
                    "product");
  });
}
