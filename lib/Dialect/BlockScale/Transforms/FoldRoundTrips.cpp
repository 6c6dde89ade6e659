//===-- FoldRoundTrips.cpp - quantize(dequantize(x)) -> x -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <algorithm>
#include <cmath>

namespace blockscale {
#define GEN_PASS_DEF_FOLDROUNDTRIPSPASS
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

/// The same scales in whatever layout.
static Value withoutLayout(Value scales) {
  while (auto relayout = scales ? scales.getDefiningOp<RelayoutOp>() : nullptr)
    scales = relayout.getSource();
  return scales;
}

static bool roundsToNearest(Rounding rounding) {
  return rounding == Rounding::NearestEven ||
         rounding == Rounding::NearestAway || rounding == Rounding::NearestZero;
}

/// Whether a relative error of 2^-8 leaves every element nearest to itself. It
/// does for floats and integers of at most 8 bits.
static bool hasDistinctElements(const ElementType &element) {
  if (element.kind != ElementType::Kind::Codebook)
    return true;
  for (size_t i = 1; i < element.codebook.size(); ++i) {
    float low = element.codebook[i - 1], high = element.codebook[i];
    if (high - low < 0x1p-7f * std::max(std::fabs(low), std::fabs(high)))
      return false;
  }
  return true;
}

/// The dequantize whose result `source` is, if it is in `format` and elements
/// survive the type in between.
static DequantizeOp roundTripOf(Value source, FormatAttr format) {
  auto dequantize = source.getDefiningOp<DequantizeOp>();
  if (!dequantize || dequantize.getFormat() != format ||
      !hasDistinctElements(format.getValue().element))
    return {};
  Type type = dequantize.getResult().getType().getElementType();
  if (type.isF32())
    return dequantize;
  // f16 overflows at 65504, far below what a scale can reach. Differences to a
  // float zero point are not bounded by the element's range.
  ZeroPoint zero = format.getValue().zero;
  bool isExact = zero == ZeroPoint::None || zero == ZeroPoint::Code;
  return type.isBF16() && isExact ? dequantize : DequantizeOp();
}

namespace {

struct FoldRoundTrip : OpRewritePattern<QuantizeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(QuantizeOp quantize,
                                PatternRewriter &rewriter) const override {
    if (!quantize.getScales() || !roundsToNearest(quantize.getRounding()))
      return rewriter.notifyMatchFailure(
          quantize, "not rounded to nearest with given scales");
    DequantizeOp dequantize =
        roundTripOf(quantize.getSource(), quantize.getFormat());
    if (!dequantize)
      return rewriter.notifyMatchFailure(quantize, "not a round trip");
    if (withoutLayout(dequantize.getScales()) !=
            withoutLayout(quantize.getScales()) ||
        dequantize.getTensorScale() != quantize.getTensorScale() ||
        withoutLayout(dequantize.getZeros()) !=
            withoutLayout(quantize.getZeros()))
      return rewriter.notifyMatchFailure(quantize, "other scales");
    rewriter.replaceOp(quantize, dequantize.getElements());
    return success();
  }
};

/// Puts the old scales in the place of fresh ones, and the old elements where
/// the fresh encode factors were used. Elements quantized by the fresh scales
/// are then left to FoldRoundTrip.
struct KeepScales : OpRewritePattern<ScaleOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScaleOp scale,
                                PatternRewriter &rewriter) const override {
    DequantizeOp dequantize = roundTripOf(scale.getSource(), scale.getFormat());
    if (!dequantize)
      return rewriter.notifyMatchFailure(scale, "not a round trip");
    SmallVector<QuantizeOp> quantizes;
    for (Value result : scale.getResults()) {
      for (Operation *user : result.getUsers()) {
        auto quantize = dyn_cast<QuantizeOp>(user);
        bool foldable = quantize && quantize.getSource() == scale.getSource() &&
                        quantize.getFormat() == scale.getFormat() &&
                        roundsToNearest(quantize.getRounding());
        if (result == scale.getEncode()) {
          if (!foldable)
            return rewriter.notifyMatchFailure(
                scale, "encode factors have another use");
          quantizes.push_back(quantize);
        } else if (quantize && !foldable) {
          return rewriter.notifyMatchFailure(scale, "another quantization");
        }
      }
    }

    for (QuantizeOp quantize : quantizes)
      rewriter.replaceOp(quantize, dequantize.getElements());
    auto replace = [&](Value fresh, Value old) {
      if (!fresh)
        return;
      if (fresh.getType() != old.getType())
        old =
            RelayoutOp::create(rewriter, scale.getLoc(), fresh.getType(), old);
      rewriter.replaceAllUsesWith(fresh, old);
    };
    replace(scale.getScales(), dequantize.getScales());
    replace(scale.getTensorScale(), dequantize.getTensorScale());
    replace(scale.getZeros(), dequantize.getZeros());
    rewriter.eraseOp(scale);
    return success();
  }
};

struct FoldRoundTripsPass
    : blockscale::impl::FoldRoundTripsPassBase<FoldRoundTripsPass> {
  using FoldRoundTripsPassBase::FoldRoundTripsPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldRoundTrip>(&getContext());
    if (freshScales)
      patterns.add<KeepScales>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
