//===-- OperandTiles.h - Tiles of both operands for wgmma -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels share whose wgmma take both operands from shared memory: tiles
// of A and B by TMA through a ring of stages, a stage 128 bytes of K, and the
// sums' way to the epilogue.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_SM90_OPERANDTILES_H
#define BLOCKSCALE_LIB_TARGET_SM90_OPERANDTILES_H

#include "Ring.h"

#include "blockscale/Target/NVIDIA/Epilogue.h"

namespace blockscale::sm90 {

struct OperandProblem {
  int64_t k = 0;
  bool sharedB = true; ///< All batches use the same B.
};

class OperandTiles {
public:
  OperandTiles(int64_t rowsA, int64_t rowsB, int64_t stages)
      : bytesA(rowsA * kRowBytes), bytesB(rowsB * kRowBytes), stages(stages) {}

  /// Of K in a stage; the swizzle's width.
  static constexpr int64_t kRowBytes = 128;
  /// The swizzle wants 1024 bytes of alignment: tiles come first in shared
  /// memory, and so many bytes.
  int64_t bytes() const { return stages * (bytesA + bytesB); }

  mlir::Value a(HopperCode &c, const Ring &ring, mlir::Value stage) const {
    return ring.part(c, 0, stage, bytesA);
  }
  mlir::Value b(HopperCode &c, const Ring &ring, mlir::Value stage) const {
    return ring.part(c, stages * bytesA, stage, bytesB);
  }

  /// Which tiles: the maps of A and B ([batch, rows, K], boxes of a tile), and
  /// the first element of either.
  struct Source {
    mlir::Value mapA, mapB, row0, col0, batchA, batchB;
  };
  /// One thread asks TMA for `steps` stages of `elements` columns of K, from
  /// `place` on, whose parity is that of the empty barriers; the place after.
  llvm::SmallVector<mlir::Value> copy(HopperCode &c, const Ring &ring,
                                      const Source &source, int64_t steps,
                                      int64_t elements,
                                      mlir::ValueRange place) const;

private:
  int64_t bytesA, bytesB, stages;
};

/// splitRoles() where the first `consumers` threads multiply and one more
/// thread copies.
void splitCopier(HopperCode &code, mlir::Value thread, int64_t consumers,
                 llvm::function_ref<void(HopperCode &)> consume,
                 llvm::function_ref<void(HopperCode &)> copy);

/// A warp's 16 rows of sums on their way to the epilogue, some columns at a
/// time.
class SumsStaging {
public:
  static constexpr int64_t kCols = 32;
  /// Floats from row to row that avoid bank conflicts.
  static constexpr int64_t kStride = 40;
  static constexpr int64_t kBytes = 16 * kStride * 4;

  /// `area`: kBytes of shared memory of the warp's own.
  SumsStaging(mlir::Value area, mlir::Value lane) : area(area), lane(lane) {}

  /// Finishes kCols columns from (row0, col0) on. `pair(tile, high)` are the
  /// thread's two neighbouring sums of 8 columns `tile`, in its first row or,
  /// `high`, the one 8 further, as wgmma leaves them.
  void emit(HopperCode &c, const nvidia::MatmulEpilogue &epilogue,
            mlir::ValueRange args, const nvidia::MatmulEpilogue::State &state,
            mlir::Value row0, mlir::Value col0,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t, int64_t)>
                pair) const;

private:
  mlir::Value area, lane;
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_OPERANDTILES_H
