//===-- Annotations.h - Names of discardable attributes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes `blockscale.*` that ops and arguments may carry. The dialect
// refuses any other (lib/Dialect/BlockScale/IR/Annotations.cpp), so that a
// misspelt one is not ignored.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_DIALECT_BLOCKSCALE_IR_ANNOTATIONS_H
#define BLOCKSCALE_DIALECT_BLOCKSCALE_IR_ANNOTATIONS_H

#include "llvm/ADT/StringRef.h"

namespace blockscale {

/// On a scaled_matmul: the tile a GPU uses, array<i64: m, n, k, stages>.
inline constexpr llvm::StringLiteral kTileAttr = "blockscale.tile";
/// Beside it: its operands, a string.
inline constexpr llvm::StringLiteral kOperandsAttr = "blockscale.operands";
/// On an argument of a function: the base seed of what it draws.
inline constexpr llvm::StringLiteral kSeedAttr = "blockscale.seed";
/// On an argument of a function, a unit: a caller's promise that nothing which
/// still runs when the function is called writes that memory.
inline constexpr llvm::StringLiteral kInvariantAttr = "blockscale.invariant";
/// On a quantize: its #blockscale.role.
inline constexpr llvm::StringLiteral kRoleAttr = "blockscale.role";

// What lowerings leave for each other.

/// On a function: the logical types of its inputs and results.
inline constexpr llvm::StringLiteral kEntryAttr = "blockscale.entry";
/// On the declaration that launches a kernel on the CPU: the kernel's symbol.
inline constexpr llvm::StringLiteral kParallelAttr = "blockscale.parallel";
/// On the declaration that launches a GPU's kernel: {kernel, block, cluster,
/// shared, and persistent and resident where they are said} (see LaunchShape).
inline constexpr llvm::StringLiteral kLaunchAttr = "blockscale.launch";
/// On an argument of a kernel or its launcher: a 128-byte value, passed by
/// copy.
inline constexpr llvm::StringLiteral kByValueAttr = "blockscale.by_value";

} // namespace blockscale

#endif // BLOCKSCALE_DIALECT_BLOCKSCALE_IR_ANNOTATIONS_H
