//===-- SizeChecks.h - Dynamic sizes that must agree ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_KERNELS_SIZECHECKS_H
#define BLOCKSCALE_KERNELS_SIZECHECKS_H

#include "mlir/IR/Builders.h"

namespace blockscale::kernels {

/// Emits a check that `actual` equals `expected` (indices), unless both are
/// constants, which verifiers have compared. A mismatch ends the entry with
/// `what: expects <expected>, but got <actual>`.
void requireSize(mlir::OpBuilder &builder, mlir::Location loc,
                 const llvm::Twine &what, mlir::Value actual,
                 mlir::Value expected);

/// The same, dimension by dimension; `what` names the tensor.
void requireSizes(mlir::OpBuilder &builder, mlir::Location loc,
                  const llvm::Twine &what, llvm::ArrayRef<mlir::Value> actual,
                  llvm::ArrayRef<mlir::Value> expected);

} // namespace blockscale::kernels

#endif // BLOCKSCALE_KERNELS_SIZECHECKS_H
