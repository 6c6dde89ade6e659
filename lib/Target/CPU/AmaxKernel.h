//===-- AmaxKernel.h - Largest magnitude of a tensor ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_CPU_AMAXKERNEL_H
#define BLOCKSCALE_LIB_TARGET_CPU_AMAXKERNEL_H

#include "HostSide.h"

namespace blockscale::cpu {

/// Computes the amax (an f32 scalar) of the `size` reals of a flat buffer.
mlir::Value launchAmax(mlir::OpBuilder &builder, mlir::Location loc,
                       KernelSet &kernels, mlir::Value source,
                       mlir::Value size);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_TARGET_CPU_AMAXKERNEL_H
