//===-- FoldedKernel.h - Products of folded operands ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_FOLDEDKERNEL_H
#define BLOCKSCALE_LIB_TARGET_SM90_FOLDEDKERNEL_H

#include "Misfits.h"
#include "OperandTiles.h"

#include "blockscale/Target/NVIDIA/Epilogue.h"
#include "blockscale/Target/NVIDIA/GPUKernelSet.h"

namespace blockscale::sm90 {

/// The shape of the kernel: tiles of Misfits' size.
struct FoldedPlan {
  int64_t stages = 4;
  int64_t group = 4; ///< Tiles along M that run side by side.

  static constexpr int64_t rows() { return Misfits::kTileRows; }
  static constexpr int64_t cols() { return Misfits::kTileCols; }
  static constexpr int64_t threads() { return 384; }
};

/// Elements of K that a stage holds, and that are added up before the sum joins
/// the f32 total.
inline constexpr int64_t kFoldedStageK = 128;

int64_t foldedSharedBytes(const FoldedPlan &plan);

/// The kernel. Arguments: tensor maps of A and B (bytes, [batch, rows, K], box
/// [1, rows or cols of a tile, 128], 128-byte swizzle), their rows' factors,
/// misfits, M, N, batches (index), the epilogue's. Any number of blocks.
mlir::func::FuncOp foldedKernel(nvidia::GPUKernelSet &kernelSet,
                                mlir::Location loc, const FoldedPlan &plan,
                                const OperandProblem &problem,
                                const nvidia::MatmulEpilogue &epilogue);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_FOLDEDKERNEL_H
