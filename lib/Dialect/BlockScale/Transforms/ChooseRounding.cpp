//===-- ChooseRounding.cpp - A rounding by the role of an operand ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Draws.h"
#include "Iterations.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace blockscale {
#define GEN_PASS_DEF_CHOOSEROUNDINGPASS
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

namespace {

struct ChooseRoundingPass
    : blockscale::impl::ChooseRoundingPassBase<ChooseRoundingPass> {
  using ChooseRoundingPassBase::ChooseRoundingPassBase;
  void runOnOperation() override;

private:
  LogicalResult parseRoles();
  LogicalResult findBaseSeed();
  LogicalResult runOn(FunctionOpInterface function);
  bool draws(Operation *op) const;
  bool isDrawnTwice(Value seed) const;
  LogicalResult choose(QuantizeOp op, OperandRole role);
  void remarkRepeated();

  bool isStochastic[6] = {};
  std::optional<FreeSites> sites;
  /// The one at hand.
  FunctionOpInterface function;
  Value base;
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

/// Looks for the seed argument.
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
  return success();
}

/// Whether `op` rounds stochastically, or will.
bool ChooseRoundingPass::draws(Operation *op) const {
  if (isa<RandomSignsOp>(op) || !getDrawnSeed(op))
    return false;
  auto role = op->getAttrOfType<OperandRoleAttr>(kRoleAttr);
  auto quantize = dyn_cast<QuantizeOp>(op);
  bool isOpen = quantize && !quantize.getRoundingMode();
  return !isOpen ||
         (role && isStochastic[static_cast<unsigned>(role.getValue())]);
}

/// Whether several operations round by the bits of `seed`, or will.
bool ChooseRoundingPass::isDrawnTwice(Value seed) const {
  unsigned count = 0;
  SeedPath path(seed);
  function->walk([&](Operation *op) {
    count += draws(op) && SeedPath(getDrawnSeed(op)) == path;
  });
  return count > 1;
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
  OpBuilder builder(op);
  Value base = op.getSeed() ? op.getSeed() : this->base;
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
  if (op.getSeed() && !isDrawnTwice(base) && !repeatsDraws(op, base))
    return success();
  FailureOr<Value> iteration = getIteration(builder, op, base);
  FailureOr<int64_t> site =
      succeeded(iteration) ? sites->take(op) : FailureOr<int64_t>();
  if (failed(site))
    return failure();
  op.getSeedMutable().assign(
      DeriveSeedOp::create(builder, op.getLoc(), base, *iteration, *site));
  return success();
}

/// Says which draws that were written out use the same bits. The value, the
/// residual and the error of one tensor are meant to.
void ChooseRoundingPass::remarkRepeated() {
  DenseMap<const void *, SmallVector<Operation *, 1>> drawnBy;
  function->walk([&](Operation *op) {
    if (!draws(op))
      return;
    Value seed = getDrawnSeed(op);
    SeedPath path(seed);
    if (repeatsDraws(op, seed))
      op->emitRemark("draws the same random bits in every iteration of its "
                     "loop: give it a seed by blockscale.derive_seed "
                     "%seed[%iteration]");
    SmallVector<Operation *, 1> &others = drawnBy[path.root];
    for (Operation *other : others) {
      bool isMeant = other->getOperand(0) == op->getOperand(0) &&
                     !(isa<QuantizeOp>(op) && isa<QuantizeOp>(other));
      if (isMeant || !(SeedPath(getDrawnSeed(other)) == path))
        continue;
      op->emitRemark("draws the same random bits as another quantization: give "
                     "one of them a seed by blockscale.derive_seed")
              .attachNote(other->getLoc())
          << "the other one";
      break;
    }
    others.push_back(op);
  });
}

LogicalResult ChooseRoundingPass::runOn(FunctionOpInterface function) {
  this->function = function;
  base = {};
  if (failed(findBaseSeed()))
    return failure();
  auto result = function->walk([&](QuantizeOp op) {
    auto role = op->getAttrOfType<OperandRoleAttr>(kRoleAttr);
    bool isDone =
        !role || op.getRoundingMode() || succeeded(choose(op, role.getValue()));
    return isDone ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  remarkRepeated();
  return success();
}

void ChooseRoundingPass::runOnOperation() {
  if (failed(parseRoles()))
    return signalPassFailure();
  sites.emplace(getOperation());
  auto result = getOperation()->walk([&](FunctionOpInterface function) {
    bool isDone = function.isExternal() || succeeded(runOn(function));
    return isDone ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (result.wasInterrupted() || failed(separateCalls(getOperation(), *sites)))
    signalPassFailure();
}
