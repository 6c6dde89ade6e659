//===-- RegisterSource.h - A side through registers, as bf16 ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of bf16 from what memory holds: codes with block scales are
// dequantized between the load and the store to shared memory, plain reals are
// converted. A thread takes units of 8, 16 or 32 neighbouring elements: 16
// bytes of codes where rows allow it. The lanes of a half warp hold a value of
// a codebook each, and give it to those that have its code.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_SM80_REGISTERSOURCE_H
#define BLOCKSCALE_LIB_TARGET_SM80_REGISTERSOURCE_H

#include "blockscale/Target/NVIDIA/Chips.h"
#include "blockscale/Target/NVIDIA/TiledMatmul.h"

namespace blockscale::sm80 {

/// Elements of a row of a tile: 128 bytes of bf16.
inline constexpr int64_t kTileK = 64;

/// Where the scale (or zero point) of a block lies.
struct ScaleOffsets {
  const nvidia::MatmulSide &side;
  bool tiled;
  /// Offset (i64) of (batch, row, column of the scales); `rows` of the side.
  mlir::Value offset(nvidia::ThreadCode &code, mlir::Value batch,
                     mlir::Value rows, mlir::Value row, mlir::Value col) const;
};

class RegisterSource : public nvidia::TileSource {
public:
  RegisterSource(const nvidia::MatmulSide &side, const nvidia::TileShape &shape,
                 int64_t tileRows, const nvidia::Chip &chip);
  int64_t stageBytes() const override { return tileRows * shape.rowBytes; }
  int64_t registers() const override;
  void begin(nvidia::ThreadCode &code, mlir::ValueRange buffers,
             const nvidia::TilePlace &place) override;
  llvm::SmallVector<mlir::Value>
  fetch(nvidia::ThreadCode &code, mlir::Value step, mlir::Value stage) override;
  void store(nvidia::ThreadCode &code, mlir::ValueRange fetched,
             mlir::Value stage) override;

private:
  int64_t unitsPerRow() const { return kTileK / unit; }
  int64_t rowsAtOnce() const { return shape.threads() / unitsPerRow(); }
  /// Scales of a unit.
  int64_t blocks() const;
  bool hasTail() const { return side.cols() % kTileK != 0; }
  void fetchCodes(nvidia::ThreadCode &code, mlir::Value index,
                  llvm::SmallVectorImpl<mlir::Value> &fetched);
  void fetchReals(nvidia::ThreadCode &code, mlir::Value rowStart,
                  mlir::Value col, llvm::SmallVectorImpl<mlir::Value> &fetched);
  /// Eight bf16, in pairs, of a unit's `group`; `part` is what fetch loaded.
  llvm::SmallVector<mlir::Value> convert(nvidia::ThreadCode &code,
                                         mlir::ValueRange part, int64_t group);
  /// Eight f32 lanes of `group`.
  mlir::Value dequantize(nvidia::ThreadCode &code, mlir::ValueRange words,
                         mlir::ValueRange scales, mlir::ValueRange zeros,
                         int64_t group);
  bool hasCodebook() const;

  const nvidia::MatmulSide &side;
  const nvidia::TileShape shape;
  const nvidia::Chip &chip;
  int64_t tileRows, unit;
  llvm::SmallVector<mlir::Value> buffers;
  nvidia::TilePlace place;
  mlir::Value unitCol, offsetRow; ///< This thread's unit and row of the tile.
  llvm::SmallVector<mlir::Value> rows; ///< Of the side, clamped.
  mlir::Value codebookValue; ///< Whose code is this lane's number in the half
                             ///< warp.
};

} // namespace blockscale::sm80

#endif // BLOCKSCALE_LIB_TARGET_SM80_REGISTERSOURCE_H
