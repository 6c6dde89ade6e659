//===-- TensorMap.h - Tensor maps on the host -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_TENSORMAP_H
#define BLOCKSCALE_LIB_TARGET_SM90_TENSORMAP_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace blockscale::sm90 {

/// Numbers of the driver's API.
enum class MapElement { UInt8 = 0, BF16 = 9 };
enum class MapSwizzle { None = 0, Bytes128 = 3 };

/// A dense row-major tensor for TMA, the innermost dimension first.
struct TensorMap {
  mlir::Value buffer; ///< Memref.
  MapElement element;
  MapSwizzle swizzle;
  llvm::SmallVector<mlir::Value> sizes; ///< Index.
  llvm::SmallVector<int64_t> box;
};

/// Fills in a tensor map by a call of the runtime, which `module` declares; the
/// address (`!llvm.ptr`) of its 128 bytes.
mlir::Value makeTensorMap(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::ModuleOp module, const TensorMap &map);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_TENSORMAP_H
