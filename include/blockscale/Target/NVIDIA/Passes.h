//===-- Passes.h - Passes of the NVIDIA targets -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_NVIDIA_PASSES_H
#define BLOCKSCALE_TARGET_NVIDIA_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace blockscale::nvidia {

#define GEN_PASS_DECL
#include "blockscale/Target/NVIDIA/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "blockscale/Target/NVIDIA/Passes.h.inc"

/// The gpu.module that holds the kernels.
inline constexpr llvm::StringLiteral kKernelModule = "blockscale_kernels";

} // namespace blockscale::nvidia

#endif // BLOCKSCALE_TARGET_NVIDIA_PASSES_H
