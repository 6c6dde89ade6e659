//===-- ScaleKernel.h - Scales, and elements in the same pass ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_KERNELS_SCALEKERNEL_H
#define BLOCKSCALE_LIB_KERNELS_SCALEKERNEL_H

#include "BlockChoice.h"

namespace blockscale::kernels {

/// Elements that are written while a block and its scale are at hand.
struct FusedElements {
  Rounding rounding = Rounding::NearestEven;
  /// By the encode factor, else by the decoded scale.
  bool byFactor = false;
  int64_t paddedCols = 0;
  int64_t alignment = 0;
  mlir::Value elements;
  mlir::Value seed; ///< Null unless rounding is stochastic.
};

/// The code of a scale kernel.
struct ScaleKernel {
  BlockChoice choice;
  ItemSize itemSize;
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
  void emitBlock(mlir::OpBuilder &builder, mlir::Location loc,
                 const BlockRows &block, mlir::Value blockCol) const;

private:
  void emitElements(IRValueBuilder &b, const BlockRows &block,
                    mlir::Value blockCol, const Candidate<mlir::Value> &chosen,
                    const FusedElements &target) const;
};

} // namespace blockscale::kernels

#endif // BLOCKSCALE_LIB_KERNELS_SCALEKERNEL_H
