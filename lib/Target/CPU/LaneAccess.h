//===-- LaneAccess.h - Lanes between flat buffers and registers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads and stores of consecutive elements as the lanes that the numerics work
// on: reals as f32, codes and scales as i32. `valid` lanes, a C++ constant,
// touch memory; the rest read as zero and are not written.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_CPU_LANEACCESS_H
#define BLOCKSCALE_LIB_TARGET_CPU_LANEACCESS_H

#include "blockscale/Conversion/IRValueBuilder.h"
#include "blockscale/Numerics/Format.h"
#include "blockscale/Target/CPU/KernelBuilder.h"

namespace blockscale::cpu {

/// `lanes` reals (f32, f16, bf16) at `index`, widened to f32.
mlir::Value loadReals(IRValueBuilder &b, mlir::Value buffer, mlir::Value index,
                      int64_t lanes, int64_t valid);
/// One real at `index`, as f32.
mlir::Value loadReal(IRValueBuilder &b, mlir::Value buffer, mlir::Value index);
/// Rounds f32 lanes to the buffer's element type, ties to even, and stores.
void storeReals(IRValueBuilder &b, mlir::Value reals, mlir::Value buffer,
                mlir::Value index, int64_t valid);
/// f32 scalar or lanes to f16, bf16 or f32, ties to even.
mlir::Value roundReals(IRValueBuilder &b, mlir::Value reals, mlir::Type element);

/// `lanes` element codes of `width` bits, starting at element `index` (even).
mlir::Value loadCodes(IRValueBuilder &b, mlir::Value buffer, mlir::Value index,
                      int64_t lanes, unsigned width);
void storeCodes(IRValueBuilder &b, mlir::Value codes, mlir::Value buffer,
                mlir::Value index, unsigned width);

/// One code of an 8, 16 or 32-bit scale or zero point, as i32.
mlir::Value loadScalarCode(IRValueBuilder &b, mlir::Value buffer,
                           mlir::Value index);
void storeScalarCode(IRValueBuilder &b, mlir::Value code, mlir::Value buffer,
                     mlir::Value index);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_TARGET_CPU_LANEACCESS_H
