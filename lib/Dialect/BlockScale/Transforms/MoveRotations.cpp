//===-- MoveRotations.cpp - Rotations move towards their users ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RotationPatterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace blockscale;

/// The rotation that computes operand `index` of `user`, if it has no other
/// user and is done as often: it does not move into a loop.
static RotateOp movableRotation(Operation *user, unsigned index) {
  auto rotate = user->getOperand(index).getDefiningOp<RotateOp>();
  bool moves =
      rotate && rotate->hasOneUse() && rotate->getBlock() == user->getBlock();
  return moves ? rotate : RotateOp();
}

/// The same rotation of `source`, along `axis`.
static Value rotateLike(PatternRewriter &rewriter, RotateOp rotate,
                        Value source, int64_t axis) {
  auto copy = cast<RotateOp>(rewriter.clone(*rotate));
  copy.getSourceMutable().assign(source);
  copy.getResult().setType(cast<RankedTensorType>(source.getType()));
  copy.setAxis(axis);
  return copy;
}

/// Replaces `op` by the rotation, along `axis`, of what it makes of operands
/// that are not rotated: `rotations` are operands' indices with their
/// rotations.
static void moveBehind(PatternRewriter &rewriter, Operation *op,
                       ArrayRef<std::pair<unsigned, RotateOp>> rotations,
                       int64_t axis) {
  IRMapping mapping;
  for (auto [index, rotate] : rotations)
    mapping.map(op->getOperand(index), rotate.getSource());
  Operation *copy = rewriter.clone(*op, mapping);
  rewriter.replaceOp(
      op, rotateLike(rewriter, rotations[0].second, copy->getResult(0), axis));
}

/// Whether a tensor of `type` can be rotated along `axis` by a kernel, which
/// needs to know the distance of neighbours.
static bool hasKnownStride(Type type, int64_t axis) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && llvm::none_of(tensor.getShape().drop_front(axis + 1),
                                 ShapedType::isDynamic);
}

/// Whether each element of the result is computed from elements alone, not from
/// where it is or from others.
static bool isElementwise(linalg::GenericOp op) {
  return op.getNumLoops() == op.getNumParallelLoops() &&
         !op.hasIndexSemantics();
}

/// Whether all elements along `axis` are equal.
static bool isEqualAlong(Value value, int64_t axis) {
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant.isSplat();
  if (value.getDefiningOp<tensor::SplatOp>() ||
      value.getDefiningOp<linalg::FillOp>())
    return true;
  Operation *op = value.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<linalg::BroadcastOp>(op))
    return llvm::is_contained(broadcast.getDimensions(), axis);
  // The same function of what is equal along the axis.
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op)) {
    auto isEqual = [&](OpOperand &operand) {
      AffineMap map = generic.getMatchingIndexingMap(&operand);
      return !map.isFunctionOfDim(axis) ||
             (map.isIdentity() && isEqualAlong(operand.get(), axis));
    };
    OpOperand *init =
        generic.getDpsInitOperand(cast<OpResult>(value).getResultNumber());
    return isElementwise(generic) &&
           generic.getMatchingIndexingMap(init).isIdentity() &&
           llvm::all_of(generic->getOpOperands(), [&](OpOperand &operand) {
             return !generic.payloadUsesValueFromOperand(&operand) ||
                    isEqual(operand);
           });
  }
  return op && op->hasTrait<OpTrait::Elementwise>() &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isEqualAlong(operand, axis);
         });
}

/// The multiplication or division that `op` does for each element of its
/// result, and does nothing else; null if it does.
static Operation *productOf(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || op->getNumResults() != 1 ||
      !isElementwise(op) || !op.getIndexingMapsArray().back().isIdentity() ||
      op.getBody()->getOperations().size() != 2)
    return nullptr;
  Operation *product = &op.getBody()->front();
  bool isYielded =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp() == product;
  return isYielded && isa<arith::MulFOp, arith::DivFOp>(product) ? product
                                                                 : nullptr;
}

/// The operand of `op` that operand `index` of its product is, or null for
/// what is defined elsewhere and so the same for all elements.
static OpOperand *factorOf(linalg::GenericOp op, Operation *product,
                           unsigned index) {
  auto argument = dyn_cast<BlockArgument>(product->getOperand(index));
  return argument && argument.getOwner() == op.getBody()
             ? op.getMatchingOpOperand(argument)
             : nullptr;
}

namespace {

struct MoveThroughTranspose : OpRewritePattern<linalg::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    RotateOp rotate = movableRotation(op, 0);
    if (!rotate)
      return rewriter.notifyMatchFailure(op, "no rotation to move");
    ArrayRef<int64_t> permutation = op.getPermutation();
    int64_t axis =
        llvm::find(permutation, rotate.getRotationAxis()) - permutation.begin();
    if (!hasKnownStride(op.getInit().getType(), axis))
      return rewriter.notifyMatchFailure(op, "dynamic inside the axis");
    auto transpose = linalg::TransposeOp::create(
        rewriter, op.getLoc(), rotate.getSource(), op.getInit(), permutation);
    rewriter.replaceOp(
        op, rotateLike(rewriter, rotate, transpose->getResult(0), axis));
    return success();
  }
};

/// Reshapes that leave the axis alone.
template <typename OpTy> struct MoveThroughReshape : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    RotateOp rotate = movableRotation(op, 0);
    if (!rotate)
      return rewriter.notifyMatchFailure(op, "no rotation to move");
    constexpr bool collapses = std::is_same_v<OpTy, tensor::CollapseShapeOp>;
    std::optional<int64_t> axis;
    for (auto [index, group] : llvm::enumerate(op.getReassociationIndices())) {
      int64_t before = collapses ? group.front() : int64_t(index);
      int64_t after = collapses ? int64_t(index) : group.front();
      if (group.size() == 1 && before == rotate.getRotationAxis())
        axis = after;
    }
    if (!axis)
      return rewriter.notifyMatchFailure(op, "the axis is reshaped");
    if (!hasKnownStride(op.getResultType(), *axis))
      return rewriter.notifyMatchFailure(op, "dynamic inside the axis");
    moveBehind(rewriter, op, {{0, rotate}}, *axis);
    return success();
  }
};

/// Casts that keep the element type, and negation.
template <typename OpTy> struct MoveThroughUnary : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    RotateOp rotate = movableRotation(op, 0);
    if (!rotate)
      return rewriter.notifyMatchFailure(op, "no rotation to move");
    if (!hasKnownStride(op->getResult(0).getType(), rotate.getRotationAxis()))
      return rewriter.notifyMatchFailure(op, "dynamic inside the axis");
    moveBehind(rewriter, op, {{0, rotate}}, rotate.getRotationAxis());
    return success();
  }
};

/// x R + y R = (x + y) R. The op is elementwise, of tensors.
template <typename OpTy> struct MoveThroughSum : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    RotateOp lhs = movableRotation(op, 0);
    RotateOp rhs = movableRotation(op, 1);
    if (!lhs || !rhs || !lhs.hasSameFactors(rhs) ||
        lhs.getRotationAxis() != rhs.getRotationAxis() ||
        lhs.getInverse() != rhs.getInverse())
      return rewriter.notifyMatchFailure(op, "not both rotated alike");
    moveBehind(rewriter, op, {{0, lhs}, {1, rhs}}, lhs.getRotationAxis());
    return success();
  }
};

/// (x R) * f = (x * f) R where f is equal along the axis. Also division by f.
template <typename OpTy> struct MoveThroughFactor : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    constexpr bool commutes = std::is_same_v<OpTy, arith::MulFOp> ||
                              std::is_same_v<OpTy, linalg::MulOp>;
    for (unsigned rotated : {0, 1}) {
      if (rotated == 1 && !commutes)
        break;
      RotateOp rotate = movableRotation(op, rotated);
      if (!rotate ||
          !isEqualAlong(op->getOperand(1 - rotated), rotate.getRotationAxis()))
        continue;
      moveBehind(rewriter, op, {{rotated, rotate}}, rotate.getRotationAxis());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no factor equal along the axis");
  }
};

/// The same where the product is the body of a linalg.generic: f is indexed
/// without the axis, or equal along it, or a scalar from outside.
struct MoveThroughGeneric : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    Operation *product = productOf(op);
    if (!product)
      return rewriter.notifyMatchFailure(op, "no product");
    for (unsigned rotated : {0, 1}) {
      if (rotated == 1 && isa<arith::DivFOp>(product))
        break;
      OpOperand *x = factorOf(op, product, rotated);
      RotateOp rotate =
          x && op.isDpsInput(x) && op.getMatchingIndexingMap(x).isIdentity()
              ? movableRotation(op, x->getOperandNumber())
              : RotateOp();
      if (!rotate || rotate.getType() != op->getResult(0).getType() ||
          !isEqual(op, factorOf(op, product, 1 - rotated),
                   rotate.getRotationAxis()))
        continue;
      rewriter.setInsertionPoint(op);
      moveBehind(rewriter, op, {{x->getOperandNumber(), rotate}},
                 rotate.getRotationAxis());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no factor equal along the axis");
  }

private:
  static bool isEqual(linalg::GenericOp op, OpOperand *factor, int64_t axis) {
    if (!factor)
      return true;
    AffineMap map = op.getMatchingIndexingMap(factor);
    if (!map.isFunctionOfDim(axis))
      return true;
    return map.isIdentity() && isEqualAlong(factor->get(), axis);
  }
};

} // namespace

std::string blockscale::whyBlocked(RotateOp rotate, Operation *user) {
  if (!rotate->hasOneUse())
    return "because the rotated tensor has other uses";
  if (rotate->getBlock() != user->getBlock())
    return "which is in another block";
  if (isa<tensor::CastOp, linalg::TransposeOp>(user))
    return "whose result has dynamic extents inside the axis";
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(user))
    return "which reshapes the rotated axis, or makes what is inside of it "
           "dynamic";
  if (isa<arith::AddFOp, arith::SubFOp, linalg::AddOp, linalg::SubOp>(user))
    return "whose other operand is not rotated alike";
  if (isa<arith::MulFOp, arith::DivFOp, linalg::MulOp, linalg::DivOp>(user))
    return "whose other operand is not known to be equal along the rotated "
           "axis";
  if (auto generic = dyn_cast<linalg::GenericOp>(user))
    return productOf(generic)
               ? "whose factor is not known to be equal along the rotated "
                 "axis, "
                 "or which indexes the rotated tensor by another map than the "
                 "identity"
               : "whose body is not one multiplication or division";
  return "which is not linear";
}

void blockscale::populateRotationMotionPatterns(RewritePatternSet &patterns) {
  patterns
      .add<MoveThroughTranspose, MoveThroughReshape<tensor::CollapseShapeOp>,
           MoveThroughReshape<tensor::ExpandShapeOp>,
           MoveThroughUnary<tensor::CastOp>, MoveThroughUnary<arith::NegFOp>,
           MoveThroughSum<arith::AddFOp>, MoveThroughSum<arith::SubFOp>,
           MoveThroughSum<linalg::AddOp>, MoveThroughSum<linalg::SubOp>,
           MoveThroughFactor<arith::MulFOp>, MoveThroughFactor<arith::DivFOp>,
           MoveThroughFactor<linalg::MulOp>, MoveThroughFactor<linalg::DivOp>,
           MoveThroughGeneric>(patterns.getContext());
}
