//===-- LaneAccess.h - Lanes between flat buffers and registers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads and stores of consecutive elements as the lanes that the numerics work
// on: reals as f32, codes and scales as i32. `valid` lanes, a C++ constant,
// touch memory; the rest read as zero and are not written.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_KERNELS_LANEACCESS_H
#define BLOCKSCALE_KERNELS_LANEACCESS_H

#include "blockscale/Conversion/IRValueBuilder.h"
#include "blockscale/Kernels/KernelBuilder.h"
#include "blockscale/Kernels/KernelSet.h"
#include "blockscale/Numerics/Format.h"

namespace blockscale::kernels {

/// `lanes` reals (f32, f16, bf16) at `index`, widened to f32. `alignment` in
/// bytes is that of the address, 0 that of an element.
mlir::Value loadReals(IRValueBuilder &b, mlir::Value buffer, mlir::Value index,
                      int64_t lanes, int64_t valid, int64_t alignment = 0);
/// The same, as they are in memory.
mlir::Value loadNarrow(IRValueBuilder &b, mlir::Value buffer, mlir::Value index,
                       int64_t lanes, int64_t valid, int64_t alignment);
/// One real at `index`, as f32.
mlir::Value loadReal(IRValueBuilder &b, mlir::Value buffer, mlir::Value index);
/// f32 scalar or lanes with every NaN replaced by 0x7FC00000 (real_c1).
mlir::Value canonicalReals(IRValueBuilder &b, mlir::Value reals);
/// Rounds canonical f32 lanes to the buffer's element type, ties to even, and
/// stores.
void storeReals(IRValueBuilder &b, mlir::Value reals, mlir::Value buffer,
                mlir::Value index, int64_t valid, int64_t alignment = 0);
/// f32 scalar or lanes to f16, bf16 or f32, ties to even.
mlir::Value roundReals(IRValueBuilder &b, mlir::Value reals,
                       mlir::Type element);
/// f16, bf16 or f32 scalar or lanes to f32.
mlir::Value widenReals(IRValueBuilder &b, mlir::Value reals);

/// `lanes` element codes of `width` bits, starting at element `index` (even).
mlir::Value loadCodes(IRValueBuilder &b, mlir::Value buffer, mlir::Value index,
                      int64_t lanes, unsigned width, int64_t alignment = 0);
void storeCodes(IRValueBuilder &b, mlir::Value codes, mlir::Value buffer,
                mlir::Value index, unsigned width, int64_t alignment = 0);
/// Words of ThreadOps::packedCodes, codes of `width` bits, at element `index`.
void storePackedCodes(IRValueBuilder &b, mlir::Value words, mlir::Value buffer,
                      mlir::Value index, unsigned width, int64_t alignment);

/// The alignment of every index that is a multiple of `step` elements of
/// `bits` bits, in a buffer aligned to `bufferAlignment` bytes whose rows hold
/// `cols` elements.
int64_t alignmentOf(int64_t bufferAlignment, int64_t cols, int64_t step,
                    unsigned bits);

/// Calls `body(row, blockCol, valid)` for the blocks of `cols` columns in the
/// rows that work items [begin, end) stand for; `valid` columns of a block
/// exist (a constant). `blockCols` may be that of a group of blocks, which then
/// counts as one.
void forEachBlock(mlir::OpBuilder &builder, mlir::Location loc,
                  ItemSize itemSize, mlir::Value begin, mlir::Value end,
                  int64_t cols, int64_t blockCols,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value row,
                                          mlir::Value blockCol, int64_t valid)>
                      body);
/// The number of work items of `rows` rows for forEachBlock.
mlir::Value itemsOf(IndexMath &math, ItemSize itemSize, mlir::Value rows,
                    int64_t cols, int64_t blockCols);

/// One code of an 8, 16 or 32-bit scale or zero point, as i32.
mlir::Value loadScalarCode(IRValueBuilder &b, mlir::Value buffer,
                           mlir::Value index);
void storeScalarCode(IRValueBuilder &b, mlir::Value code, mlir::Value buffer,
                     mlir::Value index);
/// Two or four 8-bit codes side by side, at an index that is a multiple of as
/// many.
void storeScalarCodes(IRValueBuilder &b, llvm::ArrayRef<mlir::Value> codes,
                      mlir::Value buffer, mlir::Value index);

/// `count` lanes from lane `first` on.
mlir::Value sliceLanes(IRValueBuilder &b, mlir::Value lanes, int64_t first,
                       int64_t count);
/// The lanes of vectors of equal length, one after another.
mlir::Value joinLanes(IRValueBuilder &b, llvm::ArrayRef<mlir::Value> vectors);

} // namespace blockscale::kernels

#endif // BLOCKSCALE_KERNELS_LANEACCESS_H
