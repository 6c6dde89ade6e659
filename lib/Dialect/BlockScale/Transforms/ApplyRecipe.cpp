//===-- ApplyRecipe.cpp - Linear layers become what a recipe asks for -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Draws.h"
#include "Iterations.h"
#include "LinearSites.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Dialect/BlockScale/IR/QuantizedRoles.h"
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

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

private:
  LogicalResult checkDraws(ArrayRef<LinearOp> ops);
};

/// An operation, and the seed that it is a site of.
struct Draw {
  Operation *op;
  SeedPath path;
};

} // namespace

/// The sites that the product may draw at.
static llvm::SmallSetVector<int64_t, 4> drawnSites(LinearOp op) {
  llvm::SmallSetVector<int64_t, 4> sites;
  int64_t layer = op.getLayer().value_or(0);
  for (OperandRole role : getQuantizedRoles(op.getRecipe(), op.getRole())) {
    SiteAttr site = op.getRecipe().getSite(role);
    RoundingAttr rounding = site.getRounding();
    if (site.getSeededSigns())
      sites.insert(getSignsSite(layer, role));
    if (!site.isPlain() &&
        (!rounding || rounding.getValue() == Rounding::Stochastic))
      sites.insert(getRoundingSite(layer, role));
  }
  return sites;
}

/// Two products of a role with the same seed and layer would draw the same
/// bits, and so would what the program derives at a layer's site (recipe_c6).
LogicalResult ApplyRecipePass::checkDraws(ArrayRef<LinearOp> ops) {
  DenseMap<std::pair<const void *, int64_t>, SmallVector<Draw, 1>> seen;
  getOperation()->walk([&](DeriveSeedOp op) {
    if (!op->use_empty())
      seen[{SeedPath(op.getSeed()).root, op.getSite()}].push_back(
          {op, SeedPath(op.getSeed())});
  });
  for (LinearOp op : ops) {
    if (!op.getSeed())
      continue;
    SeedPath path(op.getSeed());
    for (int64_t site : drawnSites(op)) {
      SmallVector<Draw, 1> &others = seen[{path.root, site}];
      for (const Draw &other : others) {
        if (!(other.path == path) ||
            (isa<LinearOp>(other.op) &&
             cast<LinearOp>(other.op).getRole() != op.getRole()))
          continue;
        InFlightDiagnostic error =
            op.emitOpError("expects another seed or another layer than layer ")
            << op.getLayer().value_or(0) << " of another ";
        if (isa<LinearOp>(other.op))
          error << stringifyLinearRole(op.getRole());
        else
          error << "draw, a blockscale.derive_seed at site " << site << ',';
        error << " with the same seed, which would draw the same random bits";
        error.attachNote(other.op->getLoc()) << "the other one";
        return error;
      }
      others.push_back({op, path});
    }
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
    FailureOr<Value> iteration = Value();
    if (op.getSeed() && !drawnSites(op).empty())
      iteration = getIteration(builder, op, op.getSeed());
    if (failed(iteration))
      return signalPassFailure();
    auto results = expandLinear(builder, op, *iteration);
    if (failed(results))
      return signalPassFailure();
    op->replaceAllUsesWith(*results);
    op->erase();
  }
  FreeSites sites(getOperation());
  if (failed(separateCalls(getOperation(), sites)))
    signalPassFailure();
}
