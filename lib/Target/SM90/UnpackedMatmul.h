//===-- UnpackedMatmul.h - Operands made bf16 before ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_UNPACKEDMATMUL_H
#define BLOCKSCALE_LIB_TARGET_SM90_UNPACKEDMATMUL_H

#include "UnpackedKernel.h"

#include "blockscale/Target/NVIDIA/Matmul.h"

namespace blockscale::sm90 {

/// The name of such tiles.
inline constexpr llvm::StringLiteral kUnpackedOperands = "bf16";

/// Whether a kernel of its own can make the side bf16, without loss, if it is
/// not.
bool unpackSupports(const nvidia::MatmulSide &side, int64_t k);
/// Both sides.
bool unpackedSupports(const nvidia::MatmulProblem &problem);

/// A side as bf16, itself if it is. `ifSet`: see dequantizeToBF16.
mlir::Value unpackSide(mlir::OpBuilder &builder, mlir::Location loc,
                       nvidia::GPUKernelSet &kernelSet,
                       const nvidia::MatmulSide &side, mlir::Value batch,
                       mlir::Value rows, int64_t k, mlir::Value ifSet = {});

/// Makes both sides bf16 and multiplies.
void generateUnpacked(mlir::OpBuilder &builder, mlir::Location loc,
                      nvidia::GPUKernelSet &kernelSet,
                      const nvidia::MatmulProblem &problem,
                      const UnpackedPlan &plan);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_UNPACKEDMATMUL_H
