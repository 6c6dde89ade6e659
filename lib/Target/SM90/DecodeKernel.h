//===-- DecodeKernel.h - Few tokens times packed weights --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_DECODEKERNEL_H
#define BLOCKSCALE_LIB_TARGET_SM90_DECODEKERNEL_H

#include "WeightFormat.h"

#include "blockscale/Target/NVIDIA/Epilogue.h"
#include "blockscale/Target/NVIDIA/GPUKernelSet.h"

namespace blockscale::sm90 {

/// The shape of a decode kernel.
struct DecodePlan {
  int64_t tokens = 8;   ///< Rows of A per block: 1, 2, 4 or a multiple of 8.
  int64_t rowTiles = 1; ///< Tiles of 16 rows of B per warp.
  int64_t warpsN = 4;   ///< Warps side by side along N,
  int64_t warpsK = 4;   ///< and along K.
  int64_t cluster = 1;  ///< Blocks along K, which add up through the cluster.
  int64_t depth = 4;    ///< Chunks of a warp in its ring.

  int64_t threads() const { return 32 * warpsN * warpsK; }
  /// Rows of B in a block.
  int64_t rows() const { return warpsN * rowTiles * 16; }

  /// A good shape for `tokens` rows of A (at most 16) and B of `n` x `k`;
  /// nothing if shared memory is too small.
  static std::optional<DecodePlan> choose(int64_t tokens, int64_t n,
                                          const nvidia::Chip &chip,
                                          const struct DecodeProblem &problem);
};

/// One scaled_matmul with a plain bf16 lhs and packed weights as rhs.
struct DecodeProblem {
  WeightFormat format;
  int64_t k = 0;
  mlir::RankedTensorType scalesType; ///< Says how the scales lie in memory.
  bool sharedWeights = true;         ///< All batches use the same weights.
};

/// Whether the kernel's vector loads fit: 16-byte runs along k.
bool decodeSupports(const WeightFormat &format, int64_t k);

/// Shared memory that the kernel of `plan` needs.
int64_t decodeSharedBytes(const DecodePlan &plan, const DecodeProblem &problem);

/// The kernel. Arguments: A, B, scales (`!llvm.ptr<1>`), M, N (index), the
/// epilogue's. Grid: cluster * ceil(N / rows), ceil(M / tokens), batches.
mlir::func::FuncOp decodeKernel(nvidia::GPUKernelSet &kernelSet,
                                mlir::Location loc, const DecodePlan &plan,
                                const DecodeProblem &problem,
                                const nvidia::MatmulEpilogue &epilogue);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_DECODEKERNEL_H
