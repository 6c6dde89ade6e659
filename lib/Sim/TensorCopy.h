//===-- TensorCopy.h - Tiles of tensors and swizzles ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_TENSORCOPY_H
#define BLOCKSCALE_LIB_SIM_TENSORCOPY_H

#include "blockscale/Sim/TensorMap.h"

#include <functional>

namespace blockscale::sim {

/// The bytes of a box in shared memory.
uint32_t boxBytes(const TensorMapShape &shape);
/// Where an offset goes under the swizzle: `address` is of shared memory.
uint32_t swizzled(uint32_t address, TensorMapSwizzle swizzle);

/// A piece of a row: whole 16-byte units or less, not crossing one.
struct TilePiece {
  uint32_t sharedOffset; ///< In the box, before the swizzle.
  uint32_t bytes;
  uint64_t address; ///< In global memory; 0: out of bounds.
};
/// Calls `visit` for all pieces of the box at `start`. False if it returned so.
bool forEachPiece(const TensorMapShape &shape, const int32_t *start,
                  const std::function<bool(const TilePiece &)> &visit);
/// What a box reads out of bounds: 0, or each type's NaN.
uint8_t fillByte(const TensorMapShape &shape, uint32_t offset);

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_TENSORCOPY_H
