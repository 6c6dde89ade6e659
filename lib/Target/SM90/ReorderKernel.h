//===-- ReorderKernel.h - Activations in the order of fragments -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_REORDERKERNEL_H
#define BLOCKSCALE_LIB_TARGET_SM90_REORDERKERNEL_H

#include "WeightFormat.h"

#include "blockscale/Target/NVIDIA/GPUKernelSet.h"

namespace blockscale::sm90 {

/// Elements of K that change places among themselves.
inline constexpr int64_t kReorderedK = 256;

/// Writes `batch` x `rows` x `cols` bf16 values to a new buffer, in the order
/// in which threads that take 64 neighbouring weights each find them; rows are
/// padded with zeros to a multiple of 256. Of each 256, chunk c of 64 has
/// elements 16 c to 16 c + 15 of every 64, the threads' elements of a pair of
/// registers (WeightFormat::order()) beside each other. `cols` is a multiple of
/// 8.
mlir::Value reorderActivations(mlir::OpBuilder &builder, mlir::Location loc,
                               nvidia::GPUKernelSet &kernelSet,
                               const WeightFormat &weights,
                               mlir::Value activations, mlir::Value batch,
                               mlir::Value rows, int64_t cols);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_REORDERKERNEL_H
