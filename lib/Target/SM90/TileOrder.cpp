//===-- TileOrder.cpp - Which tiles a block does, one by one --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileOrder.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::ThreadCode;

void TileOrder::forTiles(HopperCode &c, Value rowsM, Value rowsN, Value batches,
                         ValueRange initial, Body body) const {
  Value tilesM = c.div(c.add(rowsM, rows - 1), rows);
  Value tilesN = c.div(c.add(rowsN, cols - 1), cols);
  Value perBatch = c.mul(tilesM, tilesN);
  Value perGroup = c.mul(tilesN, group);
  Value total = c.mul(perBatch, batches);
  Value step = c.div(c.gridSize(), blocks);
  c.loop(c.div(c.blockId(), blocks), total, step, initial,
         [&](ThreadCode &inner, Value tile, ValueRange carried) {
           HopperCode h(inner);
           Value batch = h.div(tile, perBatch);
           Value inBatch = h.rem(tile, perBatch);
           Value inGroup = h.rem(inBatch, perGroup);
           Value firstM = h.mul(h.div(inBatch, perGroup), group);
           // The last group may be narrower.
           Value width = h.min(h.sub(tilesM, firstM), h.constant(group));
           Value m = h.add(firstM, h.rem(inGroup, width));
           Value n = h.div(inGroup, width);
           return body(h, h.mul(m, rows), h.mul(n, cols), batch, carried);
         });
}
