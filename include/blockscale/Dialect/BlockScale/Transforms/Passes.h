//===-- Passes.h - Target-independent blockscale passes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_DIALECT_BLOCKSCALE_TRANSFORMS_PASSES_H
#define BLOCKSCALE_DIALECT_BLOCKSCALE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace blockscale {

#define GEN_PASS_DECL
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h.inc"

/// Registers every pass of Passes.td: registerBlockScalePasses().
#define GEN_PASS_REGISTRATION
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h.inc"

} // namespace blockscale

#endif // BLOCKSCALE_DIALECT_BLOCKSCALE_TRANSFORMS_PASSES_H
