//===-- Chips.h - NVIDIA chips as data --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_NVIDIA_CHIPS_H
#define BLOCKSCALE_TARGET_NVIDIA_CHIPS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace blockscale::nvidia {

/// What code generation may count on.
struct Chip {
  llvm::StringLiteral name; ///< As `llc -mcpu` and `ptxas -arch` spell it.
  llvm::StringLiteral ptx;  ///< The PTX version as an LLVM feature.
  int sharedBytes;          ///< Shared memory that one block may use.
  int multiprocessors;      ///< Of the chip's largest product.
  bool mmaBlockScale;       ///< mma.sync with block scales.
  bool wgmma;               ///< Warpgroup matrix instructions.
  bool convertsFP8;         ///< cvt of f32 pairs to e4m3x2 and e5m2x2.
  bool convertsFP4;         ///< And to e2m1x2, e2m3x2 and e3m2x2.

  /// Why a block can't have `bytes` of shared memory; empty if it can.
  std::string whyNoRoom(int64_t bytes) const;
};

llvm::ArrayRef<Chip> chips();

/// The chip of that name, or null; `error` then says which name to use: a bare
/// name of a chip whose own instructions need a suffix (sm_120) is an error
/// that names the full one (sm_120a).
const Chip *findChip(llvm::StringRef name, std::string &error);

/// Whether `name` is meant as an NVIDIA chip at all.
bool looksLikeChip(llvm::StringRef name);

} // namespace blockscale::nvidia

#endif // BLOCKSCALE_TARGET_NVIDIA_CHIPS_H
