//===-- ScaledSource.cpp - Codes and their scales, as memory has them -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScaledSource.h"

#include "blockscale/Layout/ScaleLayout.h"

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
  int64_t bytes = codes.stageBytes() + storedWords() * tileRows * kWord;
  return (bytes + 127) / 128 * 128;
}

bool ScaledSource::isAligned() const {
  return side.hasTiledScales() || side.scaleCols() % kWord == 0;
}

Value ScaledSource::scaleRowOf(ThreadCode &code, Value tileRow) const {
  int64_t blockRows = side.format->blockRows;
  Value sideRow =
      code.min(code.add(place.firstRow, tileRow), code.add(place.rows, -1));
  Value scaleRows = code.div(code.add(place.rows, blockRows - 1), blockRows);
  return code.add(code.mul(code.wide(place.batch), code.wide(scaleRows)),
                  code.wide(code.div(sideRow, blockRows)));
}

/// In the tiled layout a word is a row of a tile; the next word lies in the
/// next tile.
Value ScaledSource::tiledRowStart(ThreadCode &code, Value scales,
                                  Value tileRow) const {
  int64_t blockRows = side.format->blockRows;
  Value scaleRow = code.div(
      code.min(code.add(place.firstRow, tileRow), code.add(place.rows, -1)),
      blockRows);
  Value scaleRows = code.div(code.add(place.rows, blockRows - 1), blockRows);
  Value tilesOfRows =
      code.div(code.add(scaleRows, kScaleTileRows - 1), kScaleTileRows);
  int64_t rowOfTiles = tiledScaleBytes(kScaleTileRows, side.scaleCols());
  Value index =
      code.add(code.mul(code.wide(place.batch), code.wide(tilesOfRows)),
               code.wide(code.div(scaleRow, kScaleTileRows)));
  int64_t line = kScaleTileBytes / kScaleTileGroup;
  Value group = code.div(code.rem(scaleRow, kScaleTileRows), kScaleTileGroup);
  Value inTile = code.add(code.mul(code.rem(scaleRow, kScaleTileGroup), line),
                          code.mul(group, kScaleTileCols));
  return code.at(scales,
                 code.add(code.mul(index, rowOfTiles), code.wide(inTile)));
}

void ScaledSource::begin(ThreadCode &code, ValueRange buffers,
                         const TilePlace &where) {
  place = where;
  codes.begin(code, buffers, place);
  row = code.rem(place.thread, tileRows);
  word = code.div(place.thread, tileRows);
  present = code.lt(code.add(place.firstRow, row), place.rows);
  if (side.hasTiledScales()) {
    rowStart = tiledRowStart(code, buffers[1], row);
    return;
  }
  Value bytes = code.mul(scaleRowOf(code, row), side.scaleCols());
  if (!isAligned()) {
    before = code.band(code.narrow(bytes), kWord - 1);
    bytes = code.sub(bytes, code.wide(before));
  }
  rowStart = code.at(buffers[1], bytes);
}

void ScaledSource::forEachWord(
    ThreadCode &code, llvm::function_ref<void(ThreadCode &, Value)> body) {
  for (int64_t first = 0; first < storedWords(); first += wordsAtOnce()) {
    Value at = code.add(word, first);
    auto one = [&](ThreadCode &inner) { body(inner, at); };
    if (first + wordsAtOnce() > storedWords())
      code.branch(code.lt(at, code.constant(storedWords())), one);
    else
      one(code);
  }
}

SmallVector<Value> ScaledSource::fetch(ThreadCode &code, Value step,
                                       Value stage) {
  codes.fetch(code, step, stage);
  Value scales = code.at(stage, scalesOffset());
  Value first = code.mul(step, words);
  int64_t cols = side.scaleCols();
  int64_t stride = side.hasTiledScales() ? kScaleTileBytes : kWord;
  forEachWord(code, [&](ThreadCode &inner, Value at) {
    Value global = inner.add(first, at);
    Value to = inner.at(
        scales, inner.mul(inner.add(inner.mul(at, tileRows), row), kWord));
    Value from = inner.at(rowStart, inner.mul(inner.wide(global), stride));
    if (isAligned()) {
      int64_t wordsOfRow = (cols + kWord - 1) / kWord;
      Value exists =
          inner.band(present, inner.lt(global, inner.constant(wordsOfRow)));
      inner.copyAsync(to, from, kWord, exists);
      return;
    }
    // Bytes from the word's first to the end of the row: the rest is zeros, so
    // that no scale past K is a NaN, and nothing past the buffer is read.
    Value end = inner.add(before, cols), start = inner.mul(global, kWord);
    Value rest = inner.sub(end, inner.min(start, end));
    Value bytes = inner.min(rest, inner.constant(kWord));
    inner.copyAsync(to, from, kWord, present, bytes);
  });
  return {};
}

void ScaledSource::beginScales(ThreadCode &code, Value tileRow, int64_t count) {
  readFrom = code.shl(tileRow, 2);
  readCount = count;
  selectors.clear();
  if (isAligned())
    return;
  // The first byte of four among those of two words.
  for (int64_t i = 0; i < count; ++i) {
    if (i && side.format->blockRows == 1) { // 32 rows are whole words.
      selectors.push_back(selectors[0]);
      continue;
    }
    Value scaleRow = scaleRowOf(code, code.add(tileRow, i * 32));
    Value shift =
        code.band(code.mul(code.narrow(scaleRow), side.scaleCols()), kWord - 1);
    selectors.push_back(code.add(code.mul(shift, 0x1111), 0x3210));
  }
}

SmallVector<Value> ScaledSource::loadScales(ThreadCode &code, Value stage,
                                            int64_t wanted) const {
  Value base = code.at(code.at(stage, readFrom), scalesOffset());
  SmallVector<Value> scales;
  for (int64_t i = 0; i < readCount; ++i) {
    auto load = [&](int64_t at) {
      return code.load(code.i32(),
                       code.at(base, (at * tileRows + i * 32) * kWord), kWord);
    };
    Value loaded = load(wanted);
    if (!isAligned())
      loaded = code.permuteBytes(loaded, load(wanted + 1), selectors[i]);
    scales.push_back(loaded);
  }
  return scales;
}
