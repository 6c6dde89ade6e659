//===-- AmaxKernel.h - Largest magnitude of a tensor ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_KERNELS_AMAXKERNEL_H
#define BLOCKSCALE_KERNELS_AMAXKERNEL_H

#include "RotatedLoad.h"
#include "blockscale/Kernels/HostSide.h"

namespace blockscale::kernels {

/// Computes the amax of the `size` reals of a flat buffer, rotated if so asked:
/// the bits of an f32 in a flat buffer of one i32. A buffer of signs in
/// `rotation` is one of the caller's.
mlir::Value launchAmax(mlir::OpBuilder &builder, mlir::Location loc,
                       KernelSet &kernelSet, mlir::Value source,
                       mlir::Value size,
                       const std::optional<Rotation> &rotation = {});

} // namespace blockscale::kernels

#endif // BLOCKSCALE_KERNELS_AMAXKERNEL_H
