//===-- ChooseLayouts.cpp - Scales in the layout that products read -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ConstantTensors.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace blockscale {
#define GEN_PASS_DEF_CHOOSELAYOUTSPASS
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

namespace {

struct ChooseLayoutsPass
    : blockscale::impl::ChooseLayoutsPassBase<ChooseLayoutsPass> {
  using ChooseLayoutsPassBase::ChooseLayoutsPassBase;
  void runOnOperation() override;

private:
  LogicalResult parseWish();
  RankedTensorType wishedType(RankedTensorType type);
  Value inWishedLayout(Value scales);

  /// Whether there is a wish, and the encoding that it is for.
  bool hasWish = false;
  Attribute wish;
  /// Conversions to it that this pass made.
  DenseMap<Value, Value> relayouts;
};

} // namespace

LogicalResult ChooseLayoutsPass::parseWish() {
  hasWish = scales != "any";
  wish = {};
  if (scales == "tiled_128x4")
    wish = Tiled128x4Attr::get(&getContext());
  else if (scales != "any" && scales != "linear")
    return getOperation()->emitError("expects scales to be any, linear or "
                                     "tiled_128x4, but got ")
           << scales;
  return success();
}

/// The scales that conversions started from.
static Value withoutRelayout(Value scales) {
  while (auto relayout = scales.getDefiningOp<RelayoutOp>())
    scales = relayout.getSource();
  return scales;
}

/// `type` as products should read it.
RankedTensorType ChooseLayoutsPass::wishedType(RankedTensorType type) {
  bool canBeTiled =
      type.getRank() >= 2 && type.getElementType().getIntOrFloatBitWidth() == 8;
  Attribute encoding = hasWish ? wish : type.getEncoding();
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               canBeTiled ? encoding : Attribute());
}

/// Whether `user` reads scales of every layout.
static bool readsEveryLayout(Operation *user) {
  return isa<ScaledMatmulOp, QuantizeOp, DequantizeOp, MaskClippedOp,
             RelayoutOp>(user);
}

Value ChooseLayoutsPass::inWishedLayout(Value scales) {
  Value source = withoutRelayout(scales);
  auto type = cast<RankedTensorType>(source.getType());
  RankedTensorType wished = wishedType(type);
  if (wished == type)
    return source;

  OpBuilder builder(&getContext());
  builder.setInsertionPointAfterValue(source);
  // What is in tiles does not tell how many rows there are.
  bool hasDynamicRows =
      type.getRank() >= 2 && type.isDynamicDim(type.getRank() - 2);
  bool isNeededAsBefore = !llvm::all_of(source.getUsers(), readsEveryLayout);
  bool canRetype =
      !(wished.getEncoding() && hasDynamicRows && isNeededAsBefore);
  if (source.getDefiningOp<ScaleOp>() && canRetype) {
    source.setType(wished);
    Value asBefore;
    for (OpOperand &use : llvm::make_early_inc_range(source.getUses())) {
      if (readsEveryLayout(use.getOwner()))
        continue;
      if (!asBefore)
        asBefore = RelayoutOp::create(builder, source.getLoc(), type, source);
      use.set(asBefore);
    }
    return source;
  }
  if (ElementsAttr constant = getConstantTensor(source))
    if (ElementsAttr converted = withType(constant, wished))
      return arith::ConstantOp::create(builder, source.getLoc(), converted);
  if (type.getEncoding() && hasDynamicRows)
    return source;
  Value &converted = relayouts[source];
  if (!converted)
    converted = RelayoutOp::create(builder, source.getLoc(), wished, source);
  return converted;
}

void ChooseLayoutsPass::runOnOperation() {
  if (failed(parseWish()))
    return signalPassFailure();
  relayouts.clear();
  getOperation()->walk([&](ScaledMatmulOp op) {
    for (auto mutableScales :
         {op.getLhsScalesMutable(), op.getRhsScalesMutable()})
      for (OpOperand &use : MutableOperandRange(mutableScales))
        use.set(inWishedLayout(use.get()));
  });
  // Chains of conversions become one, those without users or effect go, and
  // equal ones are done once, where the scales are made.
  SmallVector<RelayoutOp> remaining;
  getOperation()->walk([&](RelayoutOp op) { remaining.push_back(op); });
  for (RelayoutOp op : remaining)
    op.getSourceMutable().assign(withoutRelayout(op.getSource()));
  DenseMap<std::pair<Value, Type>, RelayoutOp> made;
  for (RelayoutOp op : llvm::reverse(remaining)) {
    Value source = op.getSource(), result = op.getResult();
    if (source.getType() == result.getType())
      result.replaceAllUsesWith(source);
    if (op->use_empty()) {
      op->erase();
      continue;
    }
    auto [first, isFirst] = made.try_emplace({source, result.getType()}, op);
    if (isFirst)
      continue;
    OpBuilder builder(op);
    builder.setInsertionPointAfterValue(source);
    first->second->moveBefore(builder.getInsertionBlock(),
                              builder.getInsertionPoint());
    result.replaceAllUsesWith(first->second.getResult());
    op->erase();
  }
}
