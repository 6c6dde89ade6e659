//===-- RotatedLoad.h - Values rotated while they are loaded ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rotation whose result only quantizers read happens in their kernels: the
// rotated tensor is never written. The values are those that would be read back
// from it.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_KERNELS_ROTATEDLOAD_H
#define BLOCKSCALE_LIB_KERNELS_ROTATEDLOAD_H

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Kernels/KernelSet.h"
#include "blockscale/Kernels/Patterns.h"
#include "blockscale/Kernels/ThreadOps.h"

namespace blockscale::kernels {

/// The rotation that made the source of `scale` and is part of its kernels;
/// null where the rotated tensor is needed.
RotateOp rotationInside(ScaleOp scale);
/// Whether the kernels of its only user do this rotation.
bool isInsideQuantizer(RotateOp rotate);

/// A rotation as a kernel knows it.
struct Rotation {
  int64_t size;
  bool inverse;
  llvm::SmallVector<int8_t> signs; ///< Known when compiled.
  mlir::Value signBuffer;          ///< Or in memory, if not null.

  /// Adds the buffer of the signs to the arguments of the kernel, if any.
  static Rotation of(RotateOp op);
  std::string key() const;
};

/// `lanes` consecutive reals, as they are in memory, at `index`, a multiple of
/// `lanes`, of a tensor whose rows hold whole groups of the rotation. Where a
/// group is longer than `lanes`, neighbouring items hold its other parts.
/// Without a rotation a plain load.
mlir::Value loadRotated(IRValueBuilder &b, const ThreadOps &ops,
                        const std::optional<Rotation> &rotation,
                        mlir::Value buffer, mlir::Value index, int64_t lanes,
                        int64_t valid, int64_t alignment);

/// The same values up to their signs, as f32, before the last multiplication
/// and rounding of a rotation: both are monotonic, so the largest magnitude can
/// be taken first and finished by finishMagnitude.
mlir::Value loadUnfinished(IRValueBuilder &b, const ThreadOps &ops,
                           const std::optional<Rotation> &rotation,
                           mlir::Value buffer, mlir::Value index, int64_t lanes,
                           int64_t alignment);
mlir::Value finishMagnitude(IRValueBuilder &b, const Rotation &rotation,
                            mlir::Value magnitude, mlir::Type element);

} // namespace blockscale::kernels

#endif // BLOCKSCALE_LIB_KERNELS_ROTATEDLOAD_H
