//===-- ScaleKernel.h - Scales, and elements in the same pass ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_KERNELS_SCALEKERNEL_H
#define BLOCKSCALE_LIB_KERNELS_SCALEKERNEL_H

#include "BlockChoice.h"
#include "RotatedLoad.h"
#include "TileWalk.h"

namespace blockscale::kernels {

/// Elements that are written while a block and its scale are at hand.
struct FusedElements {
  Rounding rounding = Rounding::NearestEven;
  /// By the encode factor, else by the decoded scale.
  bool byFactor = false;
  int64_t paddedCols = 0;
  /// Of the elements of a group and of a block, in bytes.
  int64_t groupAlignment = 0, blockAlignment = 0;
  mlir::Value elements;
  mlir::Value seed; ///< Null unless rounding is stochastic.
};

/// How the blocks of a tensor become items. A *group* is what is loaded at
/// once: a block, or neighbouring blocks of one row.
struct ScaleItems {
  ItemSize itemSize;
  int64_t groupCols;
  /// Set where items follow the tiles of the scales.
  std::optional<TileWalk> tiles = std::nullopt;
  /// Whether an item is part of a rotation that other items share.
  bool itemsMeet = false;

  static ScaleItems make(const KernelSet &kernelSet, const Format &format,
                         int64_t cols, bool tiledScales, int64_t rotation);
  /// The number of items for `blockRows` rows of blocks in each of `batch`.
  mlir::Value count(IndexMath &math, mlir::Value batch, mlir::Value blockRows,
                    int64_t cols) const;
};

/// The code of a scale kernel.
struct ScaleKernel {
  BlockChoice choice;
  ScaleItems items;
  std::optional<Rotation> rotation;
  ScaleAddress scaleAddress;
  /// Zero points and encode factors are linear.
  ScaleAddress factorAddress;
  /// Buffers; level (see storeLevel), zeros and factors may be null. `rows` are
  /// those of a batch.
  mlir::Value rows, scales, level, zeros, factors;
  llvm::SmallVector<FusedElements, 1> fused = {};

  void emit(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value begin,
            mlir::Value end);
  /// Before the first block.
  void emitLevel(mlir::OpBuilder &builder, mlir::Location loc);
  /// A block whose values are loaded.
  void emitBlock(mlir::OpBuilder &builder, mlir::Location loc,
                 const BlockRows &block, mlir::Value blockCol) const;

private:
  /// What is known of a block of a group.
  struct BlockState {
    BlockRows rows;
    mlir::Value blockCol;
    Candidate<mlir::Value> chosen;
  };
  /// Loads the group and does the rest where `isInside`, or everywhere if that
  /// is null.
  void emitGroup(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value item,
                 mlir::Value groupCol, int64_t valid,
                 mlir::Value isInside) const;
  void emitItem(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value item,
                mlir::Value exists) const;
  void emitElements(IRValueBuilder &b, llvm::ArrayRef<BlockState> blocks,
                    const FusedElements &target) const;
  void storeGroup(mlir::OpBuilder &builder, mlir::Location loc,
                  llvm::MutableArrayRef<BlockState> blocks) const;
};

} // namespace blockscale::kernels

#endif // BLOCKSCALE_LIB_KERNELS_SCALEKERNEL_H
