//===-- Misfits.h - Which tiles can't be folded to E4M3 ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the operands whose scales spread too far to be folded are found on
// the device. The words that say so are, in this order: whether there are any
// at all; one for each kTileRows rows of A, batch by batch; one for each
// kTileCols rows of B. A tile of the result with a word that is set is the bf16
// kernel's, the others are the E4M3 kernel's.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_SM90_MISFITS_H
#define BLOCKSCALE_LIB_TARGET_SM90_MISFITS_H

#include "HopperCode.h"

namespace blockscale::sm90 {

class Misfits {
public:
  /// The tile of both kernels: rows of A and of B.
  static constexpr int64_t kTileRows = 256, kTileCols = 128;

  /// `words`: their address. Sizes (i32) are A's and B's rows, A's and B's
  /// batches.
  Misfits(mlir::Value words, mlir::Value rowsM, mlir::Value rowsN,
          mlir::Value batches, bool sharedB)
      : words(words), rowsM(rowsM), rowsN(rowsN), batches(batches),
        sharedB(sharedB) {}

  mlir::Value any(HopperCode &c) const { return isSet(c, c.constant(0)); }
  /// Whether the tile that starts at (row, col) of `batch` is the bf16
  /// kernel's.
  mlir::Value ofTile(HopperCode &c, mlir::Value row, mlir::Value col,
                     mlir::Value batch) const {
    mlir::Value perBatchA = groups(c, rowsM, kTileRows);
    mlir::Value a = c.add(c.mul(batch, perBatchA), c.div(row, kTileRows));
    mlir::Value b = c.add(c.mul(batches, perBatchA), c.div(col, kTileCols));
    if (!sharedB)
      b = c.add(b, c.mul(batch, groups(c, rowsN, kTileCols)));
    return c.bor(isSet(c, c.add(a, 1)), isSet(c, c.add(b, 1)));
  }

private:
  static mlir::Value groups(HopperCode &c, mlir::Value rows, int64_t size) {
    return c.div(c.add(rows, size - 1), size);
  }
  mlir::Value isSet(HopperCode &c, mlir::Value index) const {
    return c.differs(c.load(c.i32(), c.element(words, c.i32(), index), 4),
                     c.constant(0));
  }

  mlir::Value words, rowsM, rowsN, batches;
  bool sharedB;
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_MISFITS_H
