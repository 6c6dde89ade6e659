//===-- ChooseRounding.cpp - A rounding by the role of an operand ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LinearSites.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h"
#include "blockscale/Numerics/Seeds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace blockscale {
#define GEN_PASS_DEF_CHOOSEROUNDINGPASS
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

/// On an argument of a function: the base seed of what it draws.
static constexpr StringLiteral kSeedAttr = "blockscale.seed";

namespace {

struct ChooseRoundingPass
    : blockscale::impl::ChooseRoundingPassBase<ChooseRoundingPass> {
  using ChooseRoundingPassBase::ChooseRoundingPassBase;
  void runOnOperation() override;

private:
  LogicalResult parseRoles();
  LogicalResult findBaseSeed();
  LogicalResult runOn(FunctionOpInterface function);
  bool isDrawnTwice(Value seed) const;
  LogicalResult choose(QuantizeOp op, OperandRole role);

  bool isStochastic[6] = {};
  /// The one at hand.
  FunctionOpInterface function;
  Value base;
  int64_t nextSite = 0;
};

} // namespace

LogicalResult ChooseRoundingPass::parseRoles() {
  SmallVector<std::string> names(stochastic.begin(), stochastic.end());
  if (names.empty())
    names = {"dgrad_dy", "wgrad_dy"};
  for (const std::string &name : names) {
    auto role = symbolizeOperandRole(name);
    if (!role && name != "none")
      return getOperation()->emitError("expects stochastic to list fprop_x, "
                                       "fprop_w, dgrad_dy, dgrad_w, wgrad_dy, "
                                       "wgrad_x or none, but got ")
             << name;
    if (role)
      isStochastic[static_cast<unsigned>(*role)] = true;
  }
  return success();
}

/// Looks for the seed argument, and for the first site that no one uses.
LogicalResult ChooseRoundingPass::findBaseSeed() {
  auto type = RankedTensorType::get({}, IntegerType::get(&getContext(), 64));
  for (BlockArgument argument : function.getArguments()) {
    if (!function.getArgAttr(argument.getArgNumber(), kSeedAttr))
      continue;
    if (argument.getType() != type)
      return function->emitError("expects an argument of type ")
             << type << " with " << kSeedAttr << ", but got "
             << argument.getType();
    if (base)
      return function->emitError("expects one argument with ")
             << kSeedAttr << ", but got two";
    base = argument;
  }
  nextSite = kFirstFreeSite;
  function->walk([&](DeriveSeedOp op) {
    nextSite = std::max(nextSite, int64_t(op.getSite()) + 1);
  });
  return success();
}

/// Whether several quantizations draw by `seed`, or will.
bool ChooseRoundingPass::isDrawnTwice(Value seed) const {
  return llvm::count_if(seed.getUsers(), [&](Operation *user) {
           auto quantize = dyn_cast<QuantizeOp>(user);
           if (!quantize || quantize.getRoundingMode())
             return quantize && quantize.getRounding() == Rounding::Stochastic;
           auto role = user->getAttrOfType<OperandRoleAttr>(kRoleAttr);
           return role && isStochastic[static_cast<unsigned>(role.getValue())];
         }) > 1;
}

LogicalResult ChooseRoundingPass::choose(QuantizeOp op, OperandRole role) {
  auto rounding = isStochastic[static_cast<unsigned>(role)]
                      ? Rounding::Stochastic
                      : Rounding::NearestEven;
  op.setRoundingModeAttr(RoundingAttr::get(&getContext(), rounding));
  op->removeAttr(kRoleAttr);
  if (rounding != Rounding::Stochastic) {
    op.getSeedMutable().clear();
    return success();
  }
  bool isInLoop = bool(op->getParentOfType<LoopLikeOpInterface>());
  if (op.getSeed() ? repeatsDraws(op, op.getSeed()) : isInLoop)
    return op.emitOpError("expects a seed that changes in its loop, where "
                          "every iteration would draw the same bits");
  OpBuilder builder(op);
  Value base = op.getSeed() ? op.getSeed() : this->base;
  if (op.getSeed() && !isDrawnTwice(op.getSeed()))
    return success();
  if (!base && baseSeed >= 0) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getFunctionBody().front());
    auto type = RankedTensorType::get({}, builder.getI64Type());
    base = this->base = arith::ConstantOp::create(
        builder, op.getLoc(), DenseElementsAttr::get(type, int64_t(baseSeed)));
  }
  if (!base)
    return op.emitOpError("expects a seed for stochastic rounding of ")
           << stringifyOperandRole(role) << ": give the function an argument "
           << "tensor<i64> {" << kSeedAttr << "}, or the pass the option seed";
  if (nextSite >= kMaxSites)
    return op.emitOpError("expects at most ")
           << kMaxSites - kFirstFreeSite << " draws in a function";
  Value seed = DeriveSeedOp::create(builder, op.getLoc(), base, nextSite++);
  op.getSeedMutable().assign(seed);
  return success();
}

LogicalResult ChooseRoundingPass::runOn(FunctionOpInterface function) {
  this->function = function;
  base = {};
  if (failed(findBaseSeed()))
    return failure();
  DenseMap<Value, QuantizeOp> drawnBy;
  auto result = function->walk([&](QuantizeOp op) {
    auto role = op->getAttrOfType<OperandRoleAttr>(kRoleAttr);
    if (role && !op.getRoundingMode() && failed(choose(op, role.getValue())))
      return WalkResult::interrupt();
    if (op.getRounding() != Rounding::Stochastic)
      return WalkResult::advance();
    auto [other, isNew] = drawnBy.try_emplace(op.getSeed(), op);
    if (!isNew)
      op.emitRemark("draws the same random bits as another quantization: give "
                    "one of them a seed by blockscale.derive_seed")
              .attachNote(other->second.getLoc())
          << "the other one";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void ChooseRoundingPass::runOnOperation() {
  if (failed(parseRoles()))
    return signalPassFailure();
  // The operation itself, or those that it holds.
  auto result = getOperation()->walk([&](FunctionOpInterface function) {
    bool isDone = function.isExternal() || succeeded(runOn(function));
    return isDone ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}
