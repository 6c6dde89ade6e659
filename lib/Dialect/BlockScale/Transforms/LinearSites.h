//===-- LinearSites.h - Roles and draws of a linear layer -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_LINEARSITES_H
#define BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_LINEARSITES_H

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

namespace blockscale {

/// Both operands of a product share its signs.
inline int64_t getSignsSite(int64_t layer, OperandRole role) {
  return 16 * layer + static_cast<int64_t>(role) / 2;
}
inline int64_t getRoundingSite(int64_t layer, OperandRole role) {
  return 16 * layer + 3 + static_cast<int64_t>(role);
}

/// Whether the product is in the rotated space of the forward product.
inline bool reusesForward(LinearOp op) {
  OperandRole rhs = RecipeAttr::getOperandRoles(op.getRole()).second;
  return op.getRecipe().getSite(rhs).getReuse();
}

/// Builds what `op` stands for before it; its results, or failure with an
/// error on `op`. It draws by its seed in this iteration, if there is one.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
expandLinear(mlir::OpBuilder &builder, LinearOp op, mlir::Value iteration);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_LINEARSITES_H
