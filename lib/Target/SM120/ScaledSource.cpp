//===-- ScaledSource.cpp - Codes and their scales, as memory has them -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScaledSource.h"

#include "blockscale/Layout/ScaleLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;
using namespace blockscale::sm120;

static constexpr int64_t kWord = 4;

ScaledSource::ScaledSource(const MatmulSide &side, const TileShape &shape,
                           int64_t tileRows, int64_t words, int64_t filledBytes)
    : side(side), shape(shape),
      codes(shape, tileRows, side.cols() * side.storageBits() / 8, filledBytes),
      tileRows(tileRows), words(words) {}

int64_t ScaledSource::stageBytes() const {
  int64_t bytes = codes.stageBytes() + words * tileRows * kWord;
  return (bytes + 127) / 128 * 128;
}

bool ScaledSource::copies() const {
  return side.hasTiledScales() || side.scaleCols() % kWord == 0;
}

void ScaledSource::begin(ThreadCode &code, ValueRange buffers,
                         const TilePlace &place) {
  codes.begin(code, buffers, place);
  row = code.rem(place.thread, tileRows);
  word = code.div(place.thread, tileRows);
  Value sideRow = code.add(place.firstRow, row);
  present = code.lt(sideRow, place.rows);
  sideRow = code.min(sideRow, code.add(place.rows, -1));
  int64_t blockRows = side.format->blockRows, cols = side.scaleCols();
  Value scaleRow = code.div(sideRow, blockRows);
  Value scaleRows = code.div(code.add(place.rows, blockRows - 1), blockRows);
  Value batch = code.wide(place.batch);
  if (!side.hasTiledScales()) {
    Value index =
        code.add(code.mul(batch, code.wide(scaleRows)), code.wide(scaleRow));
    rowStart = code.at(buffers[1], code.mul(index, cols));
    return;
  }
  // A word is a row of a tile; the next word lies in the next tile.
  Value tilesOfRows =
      code.div(code.add(scaleRows, kScaleTileRows - 1), kScaleTileRows);
  int64_t rowOfTiles = tiledScaleBytes(kScaleTileRows, cols);
  Value index = code.add(code.mul(batch, code.wide(tilesOfRows)),
                         code.wide(code.div(scaleRow, kScaleTileRows)));
  int64_t line = kScaleTileBytes / kScaleTileGroup;
  Value group = code.div(code.rem(scaleRow, kScaleTileRows), kScaleTileGroup);
  Value inTile = code.add(code.mul(code.rem(scaleRow, kScaleTileGroup), line),
                          code.mul(group, kScaleTileCols));
  rowStart = code.at(buffers[1],
                     code.add(code.mul(index, rowOfTiles), code.wide(inTile)));
}

void ScaledSource::forEachWord(
    ThreadCode &code, llvm::function_ref<void(ThreadCode &, Value)> body) {
  auto all = [&](ThreadCode &inner) {
    for (int64_t first = 0; first < words; first += wordsAtOnce())
      body(inner, inner.add(word, first));
  };
  if (words * tileRows < shape.threads())
    code.branch(code.lt(word, code.constant(words)), all);
  else
    all(code);
}

/// Where a word lies in the stage of its source.
static Value placeOf(ThreadCode &code, Value scales, Value word, Value row,
                     int64_t tileRows) {
  return code.at(scales,
                 code.mul(code.add(code.mul(word, tileRows), row), kWord));
}

SmallVector<Value> ScaledSource::fetch(ThreadCode &code, Value step,
                                       Value stage) {
  codes.fetch(code, step, stage);
  Value scales = code.at(stage, scalesOffset());
  Value first = code.mul(step, words);
  int64_t cols = side.scaleCols();
  SmallVector<Value> fetched;
  if (copies()) {
    int64_t wordsOfRow = (cols + kWord - 1) / kWord;
    int64_t stride = side.hasTiledScales() ? kScaleTileBytes : kWord;
    forEachWord(code, [&](ThreadCode &inner, Value at) {
      Value global = inner.add(first, at);
      Value exists =
          inner.band(present, inner.lt(global, inner.constant(wordsOfRow)));
      inner.copyAsync(placeOf(inner, scales, at, row, tileRows),
                      inner.at(rowStart, inner.mul(inner.wide(global), stride)),
                      kWord, exists);
    });
    return fetched;
  }
  // Threads without a word read what others read.
  for (int64_t at = 0; at < words; at += wordsAtOnce()) {
    Value col = code.mul(code.add(first, code.add(word, at)), kWord);
    Value assembled = code.constant(0);
    for (int64_t byte = 0; byte < kWord; ++byte) {
      Value column = code.add(col, byte);
      Value exists = code.band(present, code.lt(column, code.constant(cols)));
      Value clamped = code.min(column, code.constant(cols - 1));
      Value scale = code.load(code.builder.getI8Type(),
                              code.at(rowStart, code.wide(clamped)));
      scale = arith::ExtUIOp::create(code.builder, code.loc, code.i32(), scale);
      scale = code.select(exists, scale, code.constant(0));
      assembled = code.bor(assembled, code.shl(scale, 8 * byte));
    }
    fetched.push_back(assembled);
  }
  return fetched;
}

void ScaledSource::store(ThreadCode &code, ValueRange fetched, Value stage) {
  if (copies())
    return;
  Value scales = code.at(stage, scalesOffset());
  size_t next = 0;
  forEachWord(code, [&](ThreadCode &inner, Value at) {
    inner.store(fetched[next++], placeOf(inner, scales, at, row, tileRows), 4);
  });
}
