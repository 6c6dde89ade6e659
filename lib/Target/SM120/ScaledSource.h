//===-- ScaledSource.h - Codes and their scales, as memory has them -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stage of a side is the swizzled tile of codes, then the scales: words of
// four bytes (the scales of four neighbouring blocks of a row), word w of tile
// row r at (w * tileRows + r) * 4, so that a warp reads 32 rows without bank
// conflicts. Scales come by cp.async where memory aligns the words (the tiled
// layout always, the linear one if a row has a multiple of 4), byte by byte
// through a register otherwise.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_SM120_SCALEDSOURCE_H
#define BLOCKSCALE_LIB_TARGET_SM120_SCALEDSOURCE_H

#include "blockscale/Target/NVIDIA/TiledMatmul.h"

namespace blockscale::sm120 {

class ScaledSource : public nvidia::TileSource {
public:
  /// `words` of scales per tile row; `filledBytes` of codes per chunk.
  ScaledSource(const nvidia::MatmulSide &side, const nvidia::TileShape &shape,
               int64_t tileRows, int64_t words, int64_t filledBytes);

  int64_t stageBytes() const override;
  /// Offset of the scales in a stage.
  int64_t scalesOffset() const { return codes.stageBytes(); }
  void begin(nvidia::ThreadCode &code, mlir::ValueRange buffers,
             const nvidia::TilePlace &place) override;
  llvm::SmallVector<mlir::Value>
  fetch(nvidia::ThreadCode &code, mlir::Value step, mlir::Value stage) override;
  void store(nvidia::ThreadCode &code, mlir::ValueRange fetched,
             mlir::Value stage) override;

private:
  bool copies() const;
  int64_t wordsAtOnce() const { return shape.threads() / tileRows; }
  /// Calls `body` with each of this thread's words of the tile's row.
  void
  forEachWord(nvidia::ThreadCode &code,
              llvm::function_ref<void(nvidia::ThreadCode &, mlir::Value)> body);

  const nvidia::MatmulSide &side;
  const nvidia::TileShape shape;
  nvidia::CopySource codes;
  int64_t tileRows, words;
  mlir::Value row;      ///< Of the tile.
  mlir::Value word;     ///< This thread's first.
  mlir::Value present;  ///< Whether the row exists.
  mlir::Value rowStart; ///< Pointer to the scales of the row.
};

} // namespace blockscale::sm120

#endif // BLOCKSCALE_LIB_TARGET_SM120_SCALEDSOURCE_H
