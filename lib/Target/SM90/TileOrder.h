//===-- TileOrder.h - Which tiles a block does, one by one ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_TILEORDER_H
#define BLOCKSCALE_LIB_TARGET_SM90_TILEORDER_H

#include "HopperCode.h"

namespace blockscale::sm90 {

/// Tiles of the result of a persistent kernel. `group` tiles along M run side
/// by side with their neighbours along N, which keeps both operands in the L2
/// cache.
struct TileOrder {
  int64_t rows, cols; ///< Of a tile: of A and of B.
  int64_t group;
  int64_t blocks = 1; ///< Of a cluster, which work on a tile together.

  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      HopperCode &, mlir::Value row, mlir::Value col, mlir::Value batch,
      mlir::ValueRange carried)>;
  /// Runs `body` for the block's tiles of `batches` products of `rowsM` x
  /// `rowsN` (i32).
  void forTiles(HopperCode &c, mlir::Value rowsM, mlir::Value rowsN,
                mlir::Value batches, mlir::ValueRange initial, Body body) const;
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_TILEORDER_H
