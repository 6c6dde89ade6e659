//===-- PrefillKernel.h - Many tokens times packed weights ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_PREFILLKERNEL_H
#define BLOCKSCALE_LIB_TARGET_SM90_PREFILLKERNEL_H

#include "WeightFormat.h"

#include "blockscale/Target/NVIDIA/Epilogue.h"
#include "blockscale/Target/NVIDIA/GPUKernelSet.h"

namespace blockscale::sm90 {

/// The shape of a prefill kernel: 128 rows of B by `tokens` rows of A.
struct PrefillPlan {
  int64_t tokens = 256; ///< A multiple of 8 up to 256.
  int64_t stages = 4;
  int64_t group = 4; ///< Token tiles that run side by side, for the L2 cache.
  int64_t split = 1; ///< Blocks of a cluster that share K.

  static constexpr int64_t rows() { return 128; }
  static constexpr int64_t threads() { return 384; }
};

struct PrefillProblem {
  WeightFormat format;
  int64_t k = 0;
  mlir::RankedTensorType scalesType;
  bool sharedWeights = true;
  /// The kernel does the tiles that another one left out: see Misfits.
  bool onlyMisfits = false;
};

/// Elements of K that a stage holds: 128 bytes of bf16.
inline constexpr int64_t kStageK = 64;

/// Whether TMA and the copies of scales fit.
bool prefillSupports(const WeightFormat &format, int64_t k, bool tiledScales);

/// The largest split of K up to `wanted` that leaves no block without work.
int64_t prefillSplit(int64_t k, int64_t wanted);

int64_t prefillSharedBytes(const PrefillPlan &plan,
                           const PrefillProblem &problem);

/// The kernel. Arguments: the tensor maps of A (bf16, [batch, M, K], box
/// [1, tokens, 64], 128-byte swizzle) and of B's bytes ([batch, N, bytes], box
/// [1, 128, bytes of 64 elements]), scales, M, N, batches (index), the
/// misfits' words if it does only these, the epilogue's. Any number of blocks
/// if K is not split, else `split` for each tile.
mlir::func::FuncOp prefillKernel(nvidia::GPUKernelSet &kernelSet,
                                 mlir::Location loc, const PrefillPlan &plan,
                                 const PrefillProblem &problem,
                                 const nvidia::MatmulEpilogue &epilogue);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_PREFILLKERNEL_H
