//===-- TileWalk.cpp - Items in the order of tiled scales -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileWalk.h"

#include "blockscale/Layout/ScaleLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

static constexpr int64_t kRowGroups = kScaleTileRows / kScaleTileGroup;

Value TileWalk::itemsOf(IndexMath &math, Value rows) const {
  int64_t stripes = (itemCols + across - 1) / across;
  return math.mul(math.ceilDiv(rows, kScaleTileRows),
                  kScaleTileRows * across * stripes);
}

TileWalk::Position TileWalk::positionOf(OpBuilder &builder, Location loc,
                                        Value item, Value rows,
                                        bool singleBatch) const {
  IndexMath at(builder, loc);
  int64_t stripes = (itemCols + across - 1) / across;
  Value colInStripe = at.rem(item, across);
  Value group = at.rem(at.div(item, across), kRowGroups);
  Value rowInGroup = at.rem(at.div(item, across * kRowGroups), kScaleTileGroup);
  Value stripe = at.div(item, across * kScaleTileRows);
  Value tileRow = at.div(stripe, stripes);
  Value firstRow = at.constant(0);
  if (!singleBatch) {
    Value tileRows = at.ceilDiv(rows, kScaleTileRows);
    firstRow = at.mul(at.div(tileRow, tileRows), rows);
    tileRow = at.rem(tileRow, tileRows);
  }
  Value row = at.add(
      at.add(at.mul(tileRow, kScaleTileRows), at.mul(group, kScaleTileGroup)),
      rowInGroup);
  Position position;
  position.row = at.add(firstRow, row);
  position.col = at.add(at.mul(at.rem(stripe, stripes), across), colInStripe);
  auto below = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
  };
  position.isInside = below(row, rows);
  if (itemCols % across)
    position.isInside =
        arith::AndIOp::create(builder, loc, position.isInside,
                              below(position.col, at.constant(itemCols)));
  return position;
}
