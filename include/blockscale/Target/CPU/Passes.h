//===-- Passes.h - Passes of the CPU target ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_CPU_PASSES_H
#define BLOCKSCALE_TARGET_CPU_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace blockscale::cpu {

#define GEN_PASS_DECL
#include "blockscale/Target/CPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "blockscale/Target/CPU/Passes.h.inc"

} // namespace blockscale::cpu

#endif // BLOCKSCALE_TARGET_CPU_PASSES_H
