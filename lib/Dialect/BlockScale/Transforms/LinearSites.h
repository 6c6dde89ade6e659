//===-- LinearSites.h - Roles and draws of a linear layer -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_LINEARSITES_H
#define BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_LINEARSITES_H

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace blockscale {

/// On a quantize: its #blockscale.role.
inline constexpr llvm::StringLiteral kRoleAttr = "blockscale.role";

/// Sites of blockscale.derive_seed below this one belong to linear layers
/// (recipe_c6).
inline constexpr int64_t kFirstFreeSite = 1 << 15;

/// Both operands of a product share its signs.
inline int64_t getSignsSite(int64_t layer, OperandRole role) {
  return 16 * layer + static_cast<int64_t>(role) / 2;
}
inline int64_t getRoundingSite(int64_t layer, OperandRole role) {
  return 16 * layer + 3 + static_cast<int64_t>(role);
}

/// Whether `op` is in a loop whose iterations all see the same `seed`.
inline bool repeatsDraws(mlir::Operation *op, mlir::Value seed) {
  auto loop = op->getParentOfType<mlir::LoopLikeOpInterface>();
  return loop && loop.isDefinedOutsideOfLoop(seed);
}

/// Builds what `op` stands for before it; its results, or failure with an
/// error on `op`.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
expandLinear(mlir::OpBuilder &builder, LinearOp op);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_LINEARSITES_H
