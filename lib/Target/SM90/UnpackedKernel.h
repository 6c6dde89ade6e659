//===-- UnpackedKernel.h - Products of bf16 operands ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_UNPACKEDKERNEL_H
#define BLOCKSCALE_LIB_TARGET_SM90_UNPACKEDKERNEL_H

#include "OperandTiles.h"

#include "blockscale/Target/NVIDIA/Epilogue.h"
#include "blockscale/Target/NVIDIA/GPUKernelSet.h"

namespace blockscale::sm90 {

/// The shape of the kernel: tiles of 128 rows of A by `cols` of B.
struct UnpackedPlan {
  int64_t cols = 256; ///< A multiple of kColsStep up to 256.
  int64_t stages = 4;
  int64_t group = 8; ///< Tiles along M that run side by side.

  static constexpr int64_t rows() { return 128; }
  static constexpr int64_t kColsStep = 32;
  static constexpr int64_t threads() { return 384; }
};

/// Elements of K that a stage holds.
inline constexpr int64_t kUnpackedStageK = 64;

int64_t unpackedSharedBytes(const UnpackedPlan &plan);

/// The kernel. Arguments: tensor maps of A and B (bf16, [batch, rows, K], box
/// [1, rows or cols of a tile, 64], 128-byte swizzle), M, N, batches (index),
/// the epilogue's. Any number of blocks.
mlir::func::FuncOp unpackedKernel(nvidia::GPUKernelSet &kernelSet,
                                  mlir::Location loc, const UnpackedPlan &plan,
                                  const OperandProblem &problem,
                                  const nvidia::MatmulEpilogue &epilogue);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_UNPACKEDKERNEL_H
