//===-- RotateSigns.h - The signs of a rotation, in a kernel ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_KERNELS_ROTATESIGNS_H
#define BLOCKSCALE_LIB_KERNELS_ROTATESIGNS_H

#include "blockscale/Conversion/IRValueBuilder.h"

namespace blockscale::kernels {

/// Signs known when compiled, signs in memory, or none.
struct Signs {
  llvm::ArrayRef<int8_t> constants;
  mlir::Value buffer;

  /// The sign bit of each of the `size` signs, as lanes; null if all are 1.
  mlir::Value lanes(IRValueBuilder &b, int64_t size) const;
};

/// Changes the sign of x where `signBits`, of as many lanes or null, has one.
mlir::Value flip(IRValueBuilder &b, mlir::Value x, mlir::Value signBits);

} // namespace blockscale::kernels

#endif // BLOCKSCALE_LIB_KERNELS_ROTATESIGNS_H
