//===-- DecodeKernel.h - Few tokens times packed weights --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_DECODEKERNEL_H
#define BLOCKSCALE_LIB_TARGET_SM90_DECODEKERNEL_H

#include "WeightStream.h"

#include "blockscale/Target/NVIDIA/Epilogue.h"
#include "blockscale/Target/NVIDIA/GPUKernelSet.h"

namespace blockscale::sm90 {

/// The shape of a decode kernel.
struct DecodePlan {
  int64_t tokens = 8;   ///< Rows of A per block, a multiple of 8.
  int64_t rowTiles = 4; ///< Tiles of 16 rows of B per block.
  int64_t groups = 3;   ///< Of four warps; they take stages in turn.
  int64_t stages = 9;

  int64_t multiplyingThreads() const { return 128 * groups; }
  int64_t threads() const { return multiplyingThreads() + kStreamThreads; }
  /// Rows of B in a block.
  int64_t rows() const { return 16 * rowTiles; }

  /// A good shape for `tokens` rows of A and B of `n` x `k`; nothing if shared
  /// memory is too small, or the batch kernel is the better one.
  static std::optional<DecodePlan> choose(int64_t tokens, int64_t n,
                                          const nvidia::Chip &chip,
                                          const StreamProblem &problem);
};

/// Shared memory that the kernel of `plan` needs.
int64_t decodeSharedBytes(const DecodePlan &plan, const StreamProblem &problem);

/// The kernel. Arguments: the tensor maps of A (bf16, [batch, M, K], box
/// [1, tokens, 64]) and of B's bytes ([batch, N, bytes], box [1, rows, 128]),
/// both with the 128-byte swizzle, scales, M, N (index), the epilogue's. Grid:
/// ceil(N / rows), ceil(M / tokens), batches.
mlir::func::FuncOp decodeKernel(nvidia::GPUKernelSet &kernelSet,
                                mlir::Location loc, const DecodePlan &plan,
                                const StreamProblem &problem,
                                const nvidia::MatmulEpilogue &epilogue);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_DECODEKERNEL_H
