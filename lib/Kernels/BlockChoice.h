//===-- BlockChoice.h - The scale of a block, in a kernel -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_KERNELS_BLOCKCHOICE_H
#define BLOCKSCALE_LIB_KERNELS_BLOCKCHOICE_H

#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/LaneAccess.h"
#include "blockscale/Kernels/ThreadOps.h"
#include "blockscale/Numerics/BlockScaling.h"

namespace blockscale::kernels {

/// The level of the tensor whose amax, as f32 or its bits, lies in a buffer;
/// of a tensor without one if the buffer is null.
TensorLevel<mlir::Value> loadLevel(IRValueBuilder &b, const Format &format,
                                   const ScaleRule &rule,
                                   mlir::Value amaxBuffer);

/// A level in memory, so that its divisions happen once: three f32.
inline constexpr int64_t kLevelSize = 3;
void storeLevel(IRValueBuilder &b, const TensorLevel<mlir::Value> &level,
                mlir::Value buffer);

/// Where a block of several rows lies.
struct BlockRows {
  mlir::Value batch;     ///< Its batch,
  mlir::Value blockRow;  ///< its row of blocks in the batch,
  mlir::Value blockRows; ///< of which a batch has so many.
  mlir::Value firstRow;  ///< Its first row in the whole tensor.
  mlir::Value index;     ///< Index of its first value.
  mlir::Value rowCount;  ///< Rows that exist, and
  int64_t valid;         ///< columns.
  /// The values of a block of one row as in memory, if they are there already.
  mlir::Value loaded;
};

/// Measures blocks of a tensor of reals and chooses their scales.
struct BlockChoice {
  Format format;
  ScaleRule rule;
  int64_t cols;
  int64_t alignment; ///< Of blocks, in bytes.
  mlir::Value source;
  const ThreadOps &ops;
  bool singleBatch = false;
  TensorLevel<mlir::Value> level = {};

  void setLevel(mlir::OpBuilder &builder, mlir::Location loc,
                mlir::Value amaxBuffer);
  /// From what storeLevel wrote.
  void setStoredLevel(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value levelBuffer);
  /// Of block (`item`, `blockCol`), `item` counting rows of blocks; a batch
  /// has `rows` rows of values.
  BlockRows rowsOf(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value rows, mlir::Value item, mlir::Value blockCol,
                   int64_t valid) const;
  /// Loops over the rows of a block with lanewise state. `body` also gets the
  /// row's number in the block.
  llvm::SmallVector<mlir::Value>
  overRows(mlir::OpBuilder &builder, mlir::Location loc, const BlockRows &block,
           mlir::ValueRange initial,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(
               IRValueBuilder &, mlir::Value row, mlir::Value x,
               mlir::ValueRange state)>
               body) const;
  Measure<mlir::Value> measure(mlir::OpBuilder &builder, mlir::Location loc,
                               const BlockRows &block) const;
  Candidate<mlir::Value> choose(mlir::OpBuilder &builder, mlir::Location loc,
                                const BlockRows &block) const;
};

} // namespace blockscale::kernels

#endif // BLOCKSCALE_LIB_KERNELS_BLOCKCHOICE_H
