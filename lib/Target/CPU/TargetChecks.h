//===-- TargetChecks.h - What the CPU target does not compile ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_CPU_TARGETCHECKS_H
#define BLOCKSCALE_LIB_TARGET_CPU_TARGETCHECKS_H

#include "mlir/IR/Operation.h"

namespace blockscale::cpu {

/// Emits one error on the first blockscale operation below `root` that the CPU
/// target can't lower. Everything else is lowered.
mlir::LogicalResult verifyLowerable(mlir::Operation *root);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_TARGET_CPU_TARGETCHECKS_H
