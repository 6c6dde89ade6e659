//===-- ApplyRecipe.cpp - Linear layers become what a recipe asks for -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LinearSites.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Dialect/BlockScale/IR/QuantizedRoles.h"
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

namespace blockscale {
#define GEN_PASS_DEF_APPLYRECIPEPASS
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

namespace {

struct ApplyRecipePass
    : blockscale::impl::ApplyRecipePassBase<ApplyRecipePass> {
  using ApplyRecipePassBase::ApplyRecipePassBase;
  void runOnOperation() override;
};

} // namespace

/// Whether the product may need random bits.
static bool mayDraw(LinearOp op) {
  auto roles = getQuantizedRoles(op.getRecipe(), op.getRole());
  return llvm::any_of(roles, [&](OperandRole role) {
    SiteAttr site = op.getRecipe().getSite(role);
    RoundingAttr rounding = site.getRounding();
    return site.getSeededSigns() ||
           (!site.isPlain() &&
            (!rounding || rounding.getValue() == Rounding::Stochastic));
  });
}

/// Two products of a role with the same seed and layer would draw the same
/// bits (recipe_c6).
static LogicalResult checkDraws(ArrayRef<LinearOp> ops) {
  DenseMap<std::tuple<Value, int64_t, unsigned>, LinearOp> seen;
  for (LinearOp op : ops) {
    if (!op.getSeed() || !mayDraw(op))
      continue;
    if (repeatsDraws(op, op.getSeed()))
      return op.emitOpError("expects a seed that changes in its loop, where "
                            "every iteration would draw the same bits");
    int64_t layer = op.getLayer().value_or(0);
    auto [other, isNew] = seen.try_emplace(
        {op.getSeed(), layer, static_cast<unsigned>(op.getRole())}, op);
    if (isNew)
      continue;
    InFlightDiagnostic error =
        op.emitOpError("expects another seed or another layer than layer ")
        << layer << " of another " << stringifyLinearRole(op.getRole())
        << " with the same seed, which would draw the same random bits";
    error.attachNote(other->second.getLoc()) << "the other one";
    return error;
  }
  return success();
}

void ApplyRecipePass::runOnOperation() {
  SmallVector<LinearOp> ops;
  getOperation()->walk([&](LinearOp op) { ops.push_back(op); });
  if (failed(checkDraws(ops)))
    return signalPassFailure();
  for (LinearOp op : ops) {
    OpBuilder builder(op);
    auto results = expandLinear(builder, op);
    if (failed(results))
      return signalPassFailure();
    op->replaceAllUsesWith(*results);
    op->erase();
  }
}
