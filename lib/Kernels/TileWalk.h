//===-- TileWalk.h - Items in the order of tiled scales ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where an item is a block or a few, and items are what neighbouring threads
// do, the scales that 32 neighbours write should lie together. Linear scales do
// if items go along the rows. In tiled_128x4 (Layout/ScaleLayout.h) a row's
// scales lie 512 bytes apart beyond the fourth, so items go through a stripe of
// 128 rows by some columns of items in this order:
//
//     columns, then rows r, r + 32, r + 64, r + 96, then r
//
// 32 items are 4 rows by 8 columns or 8 by 4: whole sectors of 32 bytes where
// an item has two scales, and whole lines of the values.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_KERNELS_TILEWALK_H
#define BLOCKSCALE_LIB_KERNELS_TILEWALK_H

#include "blockscale/Kernels/KernelBuilder.h"

namespace blockscale::kernels {

/// How a stripe is cut.
struct TileWalk {
  int64_t itemCols; ///< Items that a row has.
  int64_t across;   ///< Columns of items in a stripe: 4 or 8.

  /// Items of a batch of `rows` rows; some of them lie outside.
  mlir::Value itemsOf(IndexMath &math, mlir::Value rows) const;

  struct Position {
    mlir::Value row; ///< In all batches.
    mlir::Value col; ///< Column of items.
    mlir::Value isInside;
  };
  /// Of `item`, the batches having `rows` rows each.
  Position positionOf(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value item, mlir::Value rows,
                      bool singleBatch) const;
};

} // namespace blockscale::kernels

#endif // BLOCKSCALE_LIB_KERNELS_TILEWALK_H
