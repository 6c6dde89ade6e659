//===-- FoldKernel.h - Packed operands to E4M3 ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_FOLDKERNEL_H
#define BLOCKSCALE_LIB_TARGET_SM90_FOLDKERNEL_H

#include "FoldFormat.h"

#include "blockscale/Target/NVIDIA/GPUKernelSet.h"

namespace blockscale::sm90 {

/// An operand of batch x rows x cols.
struct FoldSide {
  FoldFormat format;
  mlir::RankedTensorType scalesType;
  mlir::ValueRange buffers; ///< Codes, scales.
  mlir::Value batch, rows;  ///< Index.
  int64_t cols = 0;
};

/// E4M3 numbers, and the power of two (f32) by which each row's are multiplied:
/// NaN for a row with a NaN scale.
struct FoldedSide {
  mlir::Value elements, factors;
};

/// Whether the kernel takes rows of `cols` elements.
bool foldSupports(const FoldFormat &format, int64_t cols);

/// Folds `side` into new buffers. For each `group` rows of a batch that hold
/// one that does not fit a word of `misfits` (zeros of i32) from `firstWord`
/// on is set, and word 0; what is in the buffers for such a row means nothing.
FoldedSide foldToE4M3(mlir::OpBuilder &builder, mlir::Location loc,
                      nvidia::GPUKernelSet &kernelSet, const FoldSide &side,
                      mlir::Value misfits, mlir::Value firstWord,
                      int64_t group);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_FOLDKERNEL_H
