//===-- Passes.h - Passes that every target needs ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_CONVERSION_PASSES_H
#define BLOCKSCALE_CONVERSION_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace blockscale {

#define GEN_PASS_DECL
#include "blockscale/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "blockscale/Conversion/Passes.h.inc"

} // namespace blockscale

#endif // BLOCKSCALE_CONVERSION_PASSES_H
