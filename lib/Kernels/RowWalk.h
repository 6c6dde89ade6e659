//===-- RowWalk.h - A walk over the blocks of each row ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_KERNELS_ROWWALK_H
#define BLOCKSCALE_LIB_KERNELS_ROWWALK_H

#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/LaneAccess.h"
#include "blockscale/Kernels/ThreadOps.h"

namespace blockscale::kernels {

/// What kernels that know the scales share: a walk over the blocks of each row.
struct RowWalk {
  Format format;
  /// Columns of the real tensor, and of the elements.
  int64_t cols, paddedCols;
  ScaleAddress scaleAddress;
  ScaleAddress factorAddress;
  ItemSize itemSize;
  bool singleBatch;
  /// Of blocks in the real tensor and in the elements, in bytes.
  int64_t realAlignment, elementAlignment;

  struct BlockPosition {
    mlir::Value real;    ///< Index of the first value in the real tensor.
    mlir::Value element; ///< Index of the first element.
    mlir::Value scale;   ///< Index of the block's scale.
    mlir::Value factor;  ///< Index of its zero point and encode factor.
    int64_t valid = 0;   ///< Values of the block that exist.
  };

  /// `scales` are the scales, or what has their shape.
  static RowWalk make(const Format &format, mlir::RankedTensorType real,
                      mlir::RankedTensorType elements,
                      mlir::RankedTensorType scales, const KernelSet &kernelSet,
                      bool singleBatch);

  /// Items are rows; `rows` are those of a batch.
  void emit(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value begin,
            mlir::Value end, mlir::Value rows,
            llvm::function_ref<void(IRValueBuilder &, const BlockPosition &)>
                body) const;

  /// Runs a kernel whose body is a walk over all rows of the real tensor.
  void launch(mlir::OpBuilder &builder, mlir::Location loc,
              KernelSet &kernelSet, mlir::func::FuncOp kernel,
              const Extents &extents, mlir::ValueRange arguments) const;
};

/// Whether scales, zero points or encode factors are in tiles.
bool isTiled(mlir::Value scales);

/// The f32 at the start of a buffer.
mlir::Value firstReal(IRValueBuilder &b, mlir::Value buffer);

mlir::Value optionalBuffer(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value tensor);

/// Low and high word of an i64.
std::pair<mlir::Value, mlir::Value>
splitWords(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value wide);

/// The words of the seed at the start of a buffer.
std::pair<mlir::Value, mlir::Value>
loadSeed(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer);

/// The random lanes of the elements from index `element` on (random_c2).
mlir::Value randomLanesAt(IRValueBuilder &b, const ThreadOps &ops,
                          mlir::Value element, int64_t lanes,
                          std::pair<mlir::Value, mlir::Value> seedWords);

} // namespace blockscale::kernels

#endif // BLOCKSCALE_LIB_KERNELS_ROWWALK_H
