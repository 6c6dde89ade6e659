//===-- FoldedMatmul.h - Exact products on the FP8 tensor cores -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_FOLDEDMATMUL_H
#define BLOCKSCALE_LIB_TARGET_SM90_FOLDEDMATMUL_H

#include "FoldedKernel.h"

#include "blockscale/Target/NVIDIA/Matmul.h"

namespace blockscale::sm90 {

/// The name of such tiles.
inline constexpr llvm::StringLiteral kFoldedOperands = "e4m3";

/// Whether both sides can be folded to E4M3, as far as formats tell.
bool foldedSupports(const nvidia::MatmulProblem &problem);

/// Folds both sides and multiplies. Returns the words that say which tiles are
/// left (Misfits), for the kernel that follows.
mlir::Value generateFolded(mlir::OpBuilder &builder, mlir::Location loc,
                           nvidia::GPUKernelSet &kernelSet,
                           const nvidia::MatmulProblem &problem);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_FOLDEDMATMUL_H
