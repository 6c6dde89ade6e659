//===-- ScaleLayout.h - Where block scales lie in memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layout is a pure function from the (row, column) of a scale to a byte
// offset, with a defined size and defined padding.
//
// Theory. Let the scales of a matrix be R rows (one per row of the operand) by
// C columns (one per block along K), a byte each. Linear: offset = row * C +
// column, no padding. tiled_128x4, which tcgen05.mma and block-scaled mma.sync
// read (cuBLAS: "1D block scaling factors layout"), cuts the matrix into tiles
// of 128 rows by 4 columns. Tiles follow one another in row-major order, 512
// bytes each. In a tile, the scale of row r and column c lies at
//
//     (r % 32) * 16 + (r / 32) * 4 + c
//
// so 16 neighbouring bytes hold the four columns of rows r, r + 32, r + 64 and
// r + 96: what one lane of a warp hands to the tensor core.
//
//          byte 0..3        4..7          8..11         12..15
//     line 0   row 0       row 32        row 64        row 96
//     line 1   row 1       row 33        row 65        row 97
//     ...
//     line 31  row 31      row 63        row 95        row 127
//
// Laws, each a unit test:
//   1. The offset is a bijection from a tile's 128 x 4 scales to 0 .. 511.
//   2. Different scales of a matrix have different offsets below its size.
//   3. What no scale maps to is padding, and zero.
//   4. Unpacking what was packed gives it back.
//
// Example. R = 200, C = 10: 2 x 3 tiles, 3072 bytes. Row 1 column 0 is at 16,
// row 32 column 0 at 4, row 0 column 4 begins the second tile at 512, row 128
// column 0 the second row of tiles at 1536.
//
// Limits: a byte per scale; a batch of matrices is a sequence of such layouts,
// each padded by itself. Rules layout_c1 to layout_c4 in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LAYOUT_SCALELAYOUT_H
#define BLOCKSCALE_LAYOUT_SCALELAYOUT_H

#include <cstdint>

namespace blockscale {

inline constexpr int64_t kScaleTileRows = 128;
inline constexpr int64_t kScaleTileCols = 4;
inline constexpr int64_t kScaleTileBytes = kScaleTileRows * kScaleTileCols;
/// Rows of a tile that lie 16 bytes apart.
inline constexpr int64_t kScaleTileGroup = 32;

/// Bytes of `rows` x `cols` scales in tiled_128x4, padding included.
constexpr int64_t tiledScaleBytes(int64_t rows, int64_t cols) {
  return (rows + kScaleTileRows - 1) / kScaleTileRows *
         ((cols + kScaleTileCols - 1) / kScaleTileCols) * kScaleTileBytes;
}

/// Offset of (row, col) in the tiled_128x4 layout of a matrix of `cols`
/// columns, over an index builder: Value, add, mul, div, rem (unsigned), the
/// last three by a constant.
template <typename B>
typename B::Value tiledScaleOffset(B &b, typename B::Value row,
                                   typename B::Value col, int64_t cols) {
  int64_t tilesPerRow = (cols + kScaleTileCols - 1) / kScaleTileCols;
  auto tile = b.add(b.mul(b.div(row, kScaleTileRows), tilesPerRow),
                    b.div(col, kScaleTileCols));
  auto group = b.div(b.rem(row, kScaleTileRows), kScaleTileGroup);
  auto inTile = b.add(b.add(b.mul(b.rem(row, kScaleTileGroup),
                                  kScaleTileBytes / kScaleTileGroup),
                            b.mul(group, kScaleTileCols)),
                      b.rem(col, kScaleTileCols));
  return b.add(b.mul(tile, kScaleTileBytes), inTile);
}

/// The same on host integers.
int64_t tiledScaleOffset(int64_t row, int64_t col, int64_t cols);

/// Row-major scales to tiled_128x4. `tiled` holds batch *
/// tiledScaleBytes(rows, cols) bytes and every one is written: the padding is
/// zero.
void packTiledScales(const uint8_t *linear, uint8_t *tiled, int64_t batch,
                     int64_t rows, int64_t cols);
/// And back; the padding is not read.
void unpackTiledScales(const uint8_t *tiled, uint8_t *linear, int64_t batch,
                       int64_t rows, int64_t cols);

} // namespace blockscale

#endif // BLOCKSCALE_LAYOUT_SCALELAYOUT_H
