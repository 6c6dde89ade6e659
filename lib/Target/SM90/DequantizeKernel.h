//===-- DequantizeKernel.h - Quantized activations to bf16 ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_DEQUANTIZEKERNEL_H
#define BLOCKSCALE_LIB_TARGET_SM90_DEQUANTIZEKERNEL_H

#include "WeightFormat.h"

#include "blockscale/Target/NVIDIA/GPUKernelSet.h"

namespace blockscale::sm90 {

/// Whether rows of `cols` elements are whole blocks of whole vectors.
bool dequantizeSupports(const WeightFormat &format, int64_t cols);

/// Writes the exact bf16 values of `batch` x `rows` x `cols` elements, without
/// the tensor scale, to a new buffer, which it returns. With `ifSet`, a word on
/// the device, only if it is not zero.
mlir::Value dequantizeToBF16(mlir::OpBuilder &builder, mlir::Location loc,
                             nvidia::GPUKernelSet &kernelSet,
                             const WeightFormat &format,
                             mlir::RankedTensorType scalesType,
                             mlir::ValueRange buffers, mlir::Value batch,
                             mlir::Value rows, int64_t cols,
                             mlir::Value ifSet = {});

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_DEQUANTIZEKERNEL_H
