//===-- LinearSites.h - Roles and draws of a linear layer -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_LINEARSITES_H
#define BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_LINEARSITES_H

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

namespace blockscale {

/// On a quantize: its #blockscale.role.
inline constexpr llvm::StringLiteral kRoleAttr = "blockscale.role";

/// Sites of blockscale.derive_seed below this one belong to linear layers
/// (recipe_c6).
inline constexpr int64_t kFirstFreeSite = 1 << 15;

inline int64_t getSignsSite(int64_t layer, LinearRole role) {
  return 16 * layer + static_cast<int64_t>(role);
}
inline int64_t getRoundingSite(int64_t layer, OperandRole role) {
  return 16 * layer + 3 + static_cast<int64_t>(role);
}

/// Builds what `op` stands for before it; its results, or failure with an
/// error on `op`.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
expandLinear(mlir::OpBuilder &builder, LinearOp op);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_LINEARSITES_H
