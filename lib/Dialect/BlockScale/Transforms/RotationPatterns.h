//===-- RotationPatterns.h - The algebra of rotations -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_ROTATIONPATTERNS_H
#define BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_ROTATIONPATTERNS_H

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// Rotations of constants become constants; runs of rotations become shorter.
void populateRotationMergePatterns(mlir::RewritePatternSet &patterns);

/// Rotations move towards their users: through transposes, reshapes, casts,
/// sums, and factors that are equal along the axis.
void populateRotationMotionPatterns(mlir::RewritePatternSet &patterns);

/// Completes "does not move through <user>, ...".
std::string whyBlocked(RotateOp rotate, mlir::Operation *user);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_ROTATIONPATTERNS_H
