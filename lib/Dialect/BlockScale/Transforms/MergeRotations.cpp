//===-- MergeRotations.cpp - Runs of rotations and constants --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With D a diagonal of signs, a rotation is x -> x D H, its inverse
// x -> x H D. Since H H = 1, three in a row are often one.
//
//===----------------------------------------------------------------------===//
#include "ConstantTensors.h"
#include "HostEvaluation.h"
#include "RotationPatterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace blockscale;

namespace {

using Signs = SmallVector<int8_t, 64>;

/// diagonal(pre) H diagonal(post).
struct SignedHadamard {
  Signs pre, post;

  explicit SignedHadamard(RotateOp op) {
    pre.assign(op.getSize(), 1);
    post.assign(op.getSize(), 1);
    if (auto signs = op.getSigns())
      llvm::copy(*signs, op.getInverse() ? post.begin() : pre.begin());
  }
};

} // namespace

static Signs multiply(const Signs &a, const Signs &b) {
  Signs product;
  for (auto [x, y] : llvm::zip_equal(a, b))
    product.push_back(x * y);
  return product;
}

static bool areOne(const Signs &signs) {
  return llvm::all_of(signs, [](int8_t sign) { return sign == 1; });
}

/// Known signs and Hadamard's matrix.
static bool isSignedHadamard(RotateOp op) {
  return op && !op.getMatrix() && !op.getSignValues();
}

static RotateOp rotateBefore(RotateOp op) {
  auto before = op.getSource().getDefiningOp<RotateOp>();
  if (!isSignedHadamard(before) || before.getSize() != op.getSize() ||
      before.getRotationAxis() != op.getRotationAxis())
    return {};
  return before;
}

namespace {

/// a, b, c in a row: where a b or b c is a diagonal, the whole is one rotation
/// if the diagonal ends up beside the remaining H's own.
struct MergeThree : OpRewritePattern<RotateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RotateOp op,
                                PatternRewriter &rewriter) const override {
    RotateOp second = isSignedHadamard(op) ? rotateBefore(op) : RotateOp();
    RotateOp first = second ? rotateBefore(second) : RotateOp();
    if (!first)
      return rewriter.notifyMatchFailure(op, "not three of a size and axis");
    SignedHadamard a(first), b(second), c(op);
    Signs pre, post;
    if (areOne(multiply(a.post, b.pre))) {
      pre = multiply(multiply(a.pre, b.post), c.pre);
      post = c.post;
    } else if (areOne(multiply(b.post, c.pre))) {
      pre = a.pre;
      post = multiply(multiply(a.post, b.pre), c.post);
    } else {
      return rewriter.notifyMatchFailure(op, "no two of them are a diagonal");
    }
    bool inverse = areOne(pre);
    if (!inverse && !areOne(post))
      return rewriter.notifyMatchFailure(op, "signs on both sides");
    const Signs &signs = inverse ? post : pre;
    rewriter.replaceOpWithNewOp<RotateOp>(
        op, first.getSource(), Value(), op.getSize(), op.getAxisAttr(),
        areOne(signs) ? DenseI8ArrayAttr()
                      : rewriter.getDenseI8ArrayAttr(signs),
        inverse && !areOne(signs));
    return success();
  }
};

/// Rotations by whole extents m and n of neighbouring dimensions are one by
/// m n of both together: H_m (x) H_n = H_mn.
struct MergeKronecker : OpRewritePattern<tensor::CollapseShapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::CollapseShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto second = op.getSrc().getDefiningOp<RotateOp>();
    auto first =
        second ? second.getSource().getDefiningOp<RotateOp>() : RotateOp();
    auto expand = first
                      ? first.getSource().getDefiningOp<tensor::ExpandShapeOp>()
                      : tensor::ExpandShapeOp();
    if (!expand || !isSignedHadamard(first) || !isSignedHadamard(second) ||
        expand.getSrcType() != op.getResultType() ||
        expand.getReassociationIndices() != op.getReassociationIndices())
      return rewriter.notifyMatchFailure(op, "not two between reshapes");
    if (second.getSigns() || (first.getSigns() && first.getInverse()))
      return rewriter.notifyMatchFailure(op, "signs not before both");
    int64_t inner = std::max(first.getRotationAxis(), second.getRotationAxis());
    int64_t outer = std::min(first.getRotationAxis(), second.getRotationAxis());
    ArrayRef<int64_t> shape = expand.getResultType().getShape();
    std::optional<int64_t> axis;
    for (auto [index, indices] : llvm::enumerate(op.getReassociationIndices()))
      if (indices.size() >= 2 && indices.back() == inner)
        axis = index;
    if (!axis || inner != outer + 1 ||
        shape[first.getRotationAxis()] != int64_t(first.getSize()) ||
        shape[second.getRotationAxis()] != int64_t(second.getSize()))
      return rewriter.notifyMatchFailure(op, "not whole neighbouring extents");
    int64_t size = first.getSize() * second.getSize();
    if (size > 256)
      return rewriter.notifyMatchFailure(op, "more than 256 together");

    DenseI8ArrayAttr signs;
    if (auto own = first.getSigns()) {
      // Of the inner dimension they repeat, of the outer they stretch.
      Signs both;
      bool isInner = first.getRotationAxis() == inner;
      for (int64_t i = 0; i < size; ++i)
        both.push_back((*own)[isInner ? i % int64_t(first.getSize())
                                      : i / int64_t(second.getSize())]);
      signs = rewriter.getDenseI8ArrayAttr(both);
    }
    rewriter.replaceOpWithNewOp<RotateOp>(op, expand.getSrc(), Value(), size,
                                          rewriter.getI64IntegerAttr(*axis),
                                          signs, /*inverse=*/false);
    return success();
  }
};

/// The host evaluation of a rotation, to the bit what a kernel computes.
struct RotateConstant : OpRewritePattern<RotateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RotateOp op,
                                PatternRewriter &rewriter) const override {
    ElementsAttr constant = getConstantTensor(op.getSource());
    if (!constant || op.getSignValues())
      return rewriter.notifyMatchFailure(op, "not a constant");
    std::vector<float> matrix;
    if (op.getMatrix()) {
      ElementsAttr constantMatrix = getConstantTensor(op.getMatrix());
      auto entries = constantMatrix ? readFloats(constantMatrix) : std::nullopt;
      if (!entries)
        return rewriter.notifyMatchFailure(op, "the matrix is not constant");
      matrix = std::move(*entries);
    }
    auto values = readFloats(constant);
    if (!values)
      return rewriter.notifyMatchFailure(op, "a resource that is not loaded");
    RankedTensorType type = op.getSource().getType();
    std::vector<int> signs;
    if (auto own = op.getSigns())
      signs.assign(own->begin(), own->end());
    HostEvaluation(op.getContext())
        .rotate(*values, type, op.getRotationAxis(), op.getSize(), signs,
                matrix, op.getInverse());
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op,
                                                   makeFloats(type, *values));
    return success();
  }
};

} // namespace

void blockscale::populateRotationMergePatterns(RewritePatternSet &patterns) {
  patterns.add<MergeThree, MergeKronecker, RotateConstant>(
      patterns.getContext());
}
