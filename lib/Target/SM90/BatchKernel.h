//===-- BatchKernel.h - Some tokens times packed weights --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_BATCHKERNEL_H
#define BLOCKSCALE_LIB_TARGET_SM90_BATCHKERNEL_H

#include "WeightStream.h"

#include "blockscale/Target/NVIDIA/Epilogue.h"
#include "blockscale/Target/NVIDIA/GPUKernelSet.h"

namespace blockscale::sm90 {

/// The shape of a kernel for more tokens than mma.sync is fast enough for, and
/// fewer than would hide dequantization.
struct BatchPlan {
  int64_t tokens = 64;   ///< Rows of A per block, a multiple of 8 up to 64.
  int64_t rowGroups = 2; ///< Warpgroups side by side, 64 rows of B each.
  int64_t split = 1;     ///< Blocks of a cluster that share K.
  int64_t stages = 4;

  /// Warpgroups along K: they take stages in turn.
  static constexpr int64_t kGroups = 2;

  int64_t multiplyingThreads() const { return 128 * rowGroups * kGroups; }
  int64_t threads() const { return multiplyingThreads() + kStreamThreads; }
  /// Rows of B in a block.
  int64_t rows() const { return 64 * rowGroups; }
  /// Whether `split` blocks have work if they share K of `k`.
  bool splits(int64_t k) const;

  /// A good shape for `tiles` tiles of `tokens` rows of A and B of `n` x `k`;
  /// nothing if shared memory is too small, or if there are several tiles and
  /// more blocks than multiprocessors.
  static std::optional<BatchPlan> choose(int64_t tokens, int64_t tiles,
                                         int64_t n, const nvidia::Chip &chip,
                                         const StreamProblem &problem);
};

/// Shared memory that the kernel of `plan` needs.
int64_t batchSharedBytes(const BatchPlan &plan, const StreamProblem &problem);

/// The kernel. Arguments: the tensor maps of reordered activations
/// (ReorderKernel.h; box [1, tokens, 64]) and of B's bytes ([batch, N, bytes],
/// box [1, rows, 128]), both with the 128-byte swizzle, scales, M, N (index),
/// the epilogue's. Grid: split * ceil(N / rows), ceil(M / tokens), batches.
mlir::func::FuncOp batchKernel(nvidia::GPUKernelSet &kernelSet,
                               mlir::Location loc, const BatchPlan &plan,
                               const StreamProblem &problem,
                               const nvidia::MatmulEpilogue &epilogue);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_BATCHKERNEL_H
