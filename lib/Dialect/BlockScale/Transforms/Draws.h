//===-- Draws.h - Seeds that no two draws share -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rule random_c6 in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_DRAWS_H
#define BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_DRAWS_H

#include "blockscale/Dialect/BlockScale/IR/Annotations.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "mlir/IR/BuiltinOps.h"

namespace blockscale {

/// Sites of blockscale.derive_seed below this one belong to linear layers
/// (recipe_c6).
inline constexpr int64_t kFirstFreeSite = 1 << 15;

/// The sites of a module that no derive_seed uses.
class FreeSites {
public:
  explicit FreeSites(mlir::ModuleOp module);

  /// The next one, or failure with an error on `op` if there is none.
  mlir::FailureOr<int64_t> take(mlir::Operation *op);

private:
  llvm::DenseSet<int64_t> used;
  int64_t next = kFirstFreeSite;
};

/// What a seed is: where it comes from, and the sites (with iterations) that
/// it was derived at since. Equal ones give the same bits.
struct SeedPath {
  explicit SeedPath(mlir::Value seed);

  bool operator==(const SeedPath &other) const {
    return root == other.root && sites == other.sites;
  }
  /// Whether `other` is this seed or one derived from it.
  bool isPrefixOf(const SeedPath &other) const;

  /// A value, or the attribute of a constant.
  const void *root;
  llvm::SmallVector<std::pair<int64_t, mlir::Value>> sites;
};

/// The seed that the operation draws by; null if it draws nothing. An open
/// quantize (see blockscale-choose-rounding) may.
mlir::Value getDrawnSeed(mlir::Operation *op);

/// Seeds that calls pass on: each call whose seed is drawn by elsewhere in its
/// function, or in other iterations, gets one of its own. An error where a
/// function that draws by a constant seed runs more than once.
mlir::LogicalResult separateCalls(mlir::ModuleOp module, FreeSites &sites);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_DRAWS_H
