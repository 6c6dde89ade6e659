//===-- CodeTable.h - Two 4-bit codes to two bf16 by a load -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoding two codes by arithmetic takes three operations, most of them of the
// pipe for logic and shifts, which has half as many lanes as the others. By a
// table in shared memory it takes one, for the address, and a load.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_SM90_CODETABLE_H
#define BLOCKSCALE_LIB_TARGET_SM90_CODETABLE_H

#include "HopperCode.h"

namespace blockscale::sm90 {

/// For each byte, two codes with the first in the low nibble, the two bf16 in a
/// word, 32 times: each lane reads its own bank.
class CodeTable {
public:
  /// A byte moved up by 8 is the offset of its entry, half of which is unused.
  static constexpr int64_t kBytes = 256 * 256;

  /// The table at `start` in shared memory, a multiple of 16 bytes, as `lane`
  /// of a warp reads it.
  CodeTable(HopperCode &code, mlir::Value start, mlir::Value lane)
      : start(start), laneBytes(code.mul(lane, 4)) {}

  /// `thread` of `threads` writes its part. `decode` gives the two bf16 of a
  /// byte. Readers need a barrier.
  void
  fill(HopperCode &code, mlir::Value thread, int64_t threads,
       llvm::function_ref<mlir::Value(HopperCode &, mlir::Value)> decode) const;

  /// The entry of byte 0 to 3 of `word`, of which each lane may have its own.
  mlir::Value lookUp(HopperCode &code, mlir::Value word,
                     mlir::Value byte) const;

private:
  mlir::Value start, laneBytes;
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_CODETABLE_H
