//===-- Iterations.h - Which iteration a draw is in -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_ITERATIONS_H
#define BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_ITERATIONS_H

#include "mlir/IR/Builders.h"

namespace blockscale {

/// Whether `op` is in a loop whose iterations all see the same `seed`. Loops
/// are operations with a region that may run more than once, and blocks that
/// reach themselves. Without a seed: whether `op` is in any loop.
bool repeatsDraws(mlir::Operation *op, mlir::Value seed);

/// A number, different in all iterations that see the same `seed`, built before
/// `op`: null if there are none, failure with an error on `op` if they can not
/// be counted. Iterations of `scf.for` can, those of nested ones if the bounds
/// of the inner do not depend on the outer.
mlir::FailureOr<mlir::Value>
getIteration(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value seed);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_ITERATIONS_H
