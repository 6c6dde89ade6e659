//===-- ScaledSource.h - Codes and their scales in memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stage of a side is the swizzled tile of codes, then the scales: words of
// four bytes, as global memory aligns them, word w of tile row r at
// (w * tileRows + r) * 4, so that a warp reads 32 rows without bank conflicts.
// All of them come by cp.async.
//
// A word of scales is those of four neighbouring blocks of a row. The tiled
// layout aligns it; the linear one does if a row holds a multiple of 4 blocks.
// Otherwise a row begins anywhere in a word of memory: a stage holds one more
// word of each row, and who reads a word of scales takes its bytes out of two.
// A step is a whole number of words, so a row's place in its word never
// changes.
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
  void store(nvidia::ThreadCode &, mlir::ValueRange, mlir::Value) override {}

  /// Says that this thread will load the scales of the tile's rows `row`,
  /// `row` + 32, ... (`count` of them). After begin().
  void beginScales(nvidia::ThreadCode &code, mlir::Value row, int64_t count);
  /// The words `word` of these rows from a stage.
  llvm::SmallVector<mlir::Value>
  loadScales(nvidia::ThreadCode &code, mlir::Value stage, int64_t word) const;

private:
  /// Whether words of scales are words of memory.
  bool isAligned() const;
  /// Words of memory per row of a stage.
  int64_t storedWords() const { return words + (isAligned() ? 0 : 1); }
  /// The row of scales of a row of the tile, counted over all batches; clamped
  /// to the rows that exist.
  mlir::Value scaleRowOf(nvidia::ThreadCode &code, mlir::Value tileRow) const;
  int64_t wordsAtOnce() const { return shape.threads() / tileRows; }
  mlir::Value tiledRowStart(nvidia::ThreadCode &code, mlir::Value scales,
                            mlir::Value tileRow) const;
  /// Calls `body` with each of this thread's words of the tile's row.
  void
  forEachWord(nvidia::ThreadCode &code,
              llvm::function_ref<void(nvidia::ThreadCode &, mlir::Value)> body);

  const nvidia::MatmulSide &side;
  const nvidia::TileShape shape;
  nvidia::CopySource codes;
  int64_t tileRows, words;
  nvidia::TilePlace place;
  mlir::Value row;     ///< Of the tile, whose scales this thread copies.
  mlir::Value word;    ///< This thread's first.
  mlir::Value present; ///< Whether the row exists.
  /// Pointer to the row's first word of memory, and how many bytes of it belong
  /// to the row before (none where words are aligned).
  mlir::Value rowStart, before;
  mlir::Value readFrom;                     ///< Offset of beginScales' row.
  llvm::SmallVector<mlir::Value> selectors; ///< Of its bytes, if not aligned.
  int64_t readCount = 0;
};

} // namespace blockscale::sm120

#endif // BLOCKSCALE_LIB_TARGET_SM120_SCALEDSOURCE_H
