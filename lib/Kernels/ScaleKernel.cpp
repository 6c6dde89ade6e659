//===-- ScaleKernel.cpp - Scales, and elements in the same pass -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScaleKernel.h"
#include "RowWalk.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

ScaleItems ScaleItems::make(const KernelSet &kernelSet, const Format &format,
                            int64_t cols, bool tiledScales, int64_t rotation) {
  ScaleItems items{kernelSet.itemSize(), format.blockCols, std::nullopt, false};
  if (items.itemSize == ItemSize::Row) {
    items.groupCols = std::max<int64_t>(format.blockCols, rotation);
    return items;
  }
  if (format.blockRows != 1)
    return items;
  int64_t wanted = kernelSet.threadOps().itemColumns(rotation);
  while (2 * items.groupCols <= wanted && cols % (2 * items.groupCols) == 0)
    items.groupCols *= 2;
  items.itemsMeet = rotation > items.groupCols;
  if (tiledScales && cols % items.groupCols == 0)
    items.tiles = TileWalk{cols / items.groupCols,
                           std::max<int64_t>(4, rotation / items.groupCols)};
  return items;
}

Value ScaleItems::count(IndexMath &math, Value batch, Value blockRows,
                        int64_t cols) const {
  if (tiles)
    return math.mul(batch, tiles->itemsOf(math, blockRows));
  return itemsOf(math, itemSize, math.mul(batch, blockRows), cols, groupCols);
}

void ScaleKernel::emitElements(IRValueBuilder &b, ArrayRef<BlockState> blocks,
                               const FusedElements &target) const {
  const Format &format = choice.format;
  unsigned width = format.element.width();
  std::pair<Value, Value> seedWords;
  if (target.seed)
    seedWords = loadSeed(b.getBuilder(), b.getLoc(), target.seed);
  // Random words and codes of more lanes take more registers than a GPU's
  // thread has.
  bool inParts =
      target.seed && format.blockCols > 32 && format.blockCols % 16 == 0;
  int64_t most = inParts ? 16 : format.blockCols;
  SmallVector<Value> words;
  Value firstIndex;
  for (const BlockState &block : blocks) {
    std::optional<Value> zero, tensor;
    if (format.zero != ZeroPoint::None) // As it reads from memory.
      zero = loadZero(b, format, storeZero(b, format, block.chosen.zero));
    if (format.hasTensorScale)
      tensor = choice.level.decode;
    Value by = target.byFactor
                   ? block.chosen.encode
                   : divisor(b, format, block.chosen.scaleCode, tensor);
    choice.overRows(
        b.getBuilder(), b.getLoc(), block.rows, {},
        [&](IRValueBuilder &b, Value row, Value x,
            ValueRange) -> SmallVector<Value> {
          IndexMath at(b.getBuilder(), b.getLoc());
          Value index = at.add(
              at.mul(at.add(block.rows.firstRow, row), target.paddedCols),
              at.mul(block.blockCol, format.blockCols));
          Value all;
          for (int64_t first = 0; first < format.blockCols; first += most) {
            int64_t lanes = std::min(most, format.blockCols - first);
            Value from = at.add(index, at.constant(first));
            int64_t alignment = target.blockAlignment;
            if (lanes < format.blockCols)
              alignment = std::min<int64_t>(alignment, most * width / 8);
            std::optional<Value> random;
            if (target.seed)
              random = randomLanesAt(b, choice.ops, from, lanes, seedWords);
            if (!all)
              all = scaledLanes(b, format, x, by, target.byFactor);
            Value y = sliceLanes(b, all, first, lanes);
            Value packed = choice.ops.packedCodes(b, format.element, y,
                                                  target.rounding, random);
            if (!packed) {
              Value codes = encodeScaled(b, format, y, zero ? *zero : b.i32(0),
                                         target.rounding, random);
              storeCodes(b, codes, target.elements, from, width, alignment);
            } else if (!block.rows.loaded || lanes < format.blockCols) {
              storePackedCodes(b, packed, target.elements, from, width,
                               alignment);
            } else {
              words.push_back(packed);
              firstIndex = firstIndex ? firstIndex : index;
            }
          }
          return {};
        });
  }
  if (!words.empty())
    storePackedCodes(b, joinLanes(b, words), target.elements, firstIndex, width,
                     target.groupAlignment);
}

void ScaleKernel::storeGroup(OpBuilder &builder, Location loc,
                             MutableArrayRef<BlockState> blocks) const {
  IRValueBuilder b(builder, loc);
  for (BlockState &block : blocks)
    block.chosen = choice.choose(builder, loc, block.rows);
  // Before other stores, so that the values need not be loaded again.
  for (const FusedElements &target : fused)
    emitElements(b, blocks, target);
  auto offsetOf = [&](const ScaleAddress &address, const BlockState &block) {
    return address.offset(builder, loc, block.rows.batch, block.rows.blockRows,
                          block.rows.blockRow, block.blockCol);
  };
  SmallVector<Value> codes;
  for (BlockState &block : blocks)
    codes.push_back(block.chosen.scaleCode);
  // The scales of a group of two or four lie together in either layout.
  auto element = cast<MemRefType>(scales.getType()).getElementType();
  if (codes.size() > 1 && codes.size() <= 4 && element.isInteger(8))
    storeScalarCodes(b, codes, scales, offsetOf(scaleAddress, blocks[0]));
  else
    for (BlockState &block : blocks)
      storeScalarCode(b, block.chosen.scaleCode, scales,
                      offsetOf(scaleAddress, block));
  for (BlockState &block : blocks) {
    if (zeros)
      storeScalarCode(b, storeZero(b, choice.format, block.chosen.zero), zeros,
                      offsetOf(factorAddress, block));
    if (factors)
      storeScalarCode(b, b.asInt(canonicalReals(b, block.chosen.encode)),
                      factors, offsetOf(factorAddress, block));
  }
}

void ScaleKernel::emitBlock(OpBuilder &builder, Location loc,
                            const BlockRows &block, Value blockCol) const {
  BlockState state{block, blockCol, {}};
  storeGroup(builder, loc, state);
}

void ScaleKernel::emitGroup(OpBuilder &builder, Location loc, Value item,
                            Value groupCol, int64_t valid,
                            Value isInside) const {
  IRValueBuilder b(builder, loc);
  IndexMath at(builder, loc);
  int64_t blockCols = choice.format.blockCols;
  int64_t count = items.groupCols / blockCols;
  SmallVector<BlockState> blocks;
  for (int64_t i = 0; i < count; ++i) {
    Value blockCol = at.add(at.mul(groupCol, count), i);
    blocks.push_back({choice.rowsOf(builder, loc, rows, item, blockCol,
                                    count == 1 ? valid : blockCols),
                      blockCol,
                      {}});
  }
  if (choice.format.blockRows == 1) {
    Value x = loadRotated(b, choice.ops, rotation, choice.source,
                          blocks[0].rows.index, items.groupCols, valid,
                          choice.alignment);
    for (int64_t i = 0; i < count; ++i)
      blocks[i].rows.loaded = sliceLanes(b, x, i * blockCols, blockCols);
  }
  if (!isInside)
    return storeGroup(builder, loc, blocks);
  scf::IfOp::create(builder, loc, isInside, [&](OpBuilder &inner, Location) {
    storeGroup(inner, loc, blocks);
    scf::YieldOp::create(inner, loc);
  });
}

/// One item where it is not just the next group of a row, or must meet others.
void ScaleKernel::emitItem(OpBuilder &builder, Location loc, Value item,
                           Value exists) const {
  IndexMath at(builder, loc);
  int64_t itemCols = choice.cols / items.groupCols;
  TileWalk::Position position{at.div(item, itemCols), at.rem(item, itemCols),
                              exists};
  if (items.tiles) {
    position =
        items.tiles->positionOf(builder, loc, item, rows, choice.singleBatch);
    position.isInside =
        arith::AndIOp::create(builder, loc, exists, position.isInside);
  }
  if (items.itemsMeet) {
    // An item outside loads the first group of the rotation, for company.
    auto orElse = [&](Value a, Value b) -> Value {
      return arith::SelectOp::create(builder, loc, position.isInside, a, b);
    };
    int64_t parts = rotation->size / items.groupCols;
    return emitGroup(builder, loc, orElse(position.row, at.constant(0)),
                     orElse(position.col, at.rem(item, parts)), items.groupCols,
                     position.isInside);
  }
  scf::IfOp::create(
      builder, loc, position.isInside, [&](OpBuilder &inner, Location) {
        emitGroup(inner, loc, position.row, position.col, items.groupCols, {});
        scf::YieldOp::create(inner, loc);
      });
}

void ScaleKernel::emitLevel(OpBuilder &builder, Location loc) {
  if (level)
    choice.setStoredLevel(builder, loc, level);
  else
    choice.setLevel(builder, loc, {});
}

void ScaleKernel::emit(OpBuilder &builder, Location loc, Value begin,
                       Value end) {
  emitLevel(builder, loc);
  if (items.tiles || items.itemsMeet) {
    Value exists = arith::CmpIOp::create(builder, loc,
                                         arith::CmpIPredicate::ult, begin, end);
    return emitItem(builder, loc, begin, exists);
  }
  forEachBlock(
      builder, loc, items.itemSize, begin, end, choice.cols, items.groupCols,
      [&](OpBuilder &inner, Value item, Value groupCol, int64_t valid) {
        emitGroup(inner, loc, item, groupCol, valid, {});
      });
}
