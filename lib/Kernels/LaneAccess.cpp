//===-- LaneAccess.cpp - Lanes between flat buffers and registers ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Kernels/LaneAccess.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

static Type elementOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType();
}

/// A constant mask of the first `valid` of `lanes` lanes.
static Value prefixMask(IRValueBuilder &b, int64_t lanes, int64_t valid) {
  OpBuilder &builder = b.getBuilder();
  return vector::ConstantMaskOp::create(
      builder, b.getLoc(), VectorType::get({lanes}, builder.getI1Type()),
      ArrayRef<int64_t>{valid});
}

Value kernels::widenReals(IRValueBuilder &b, Value reals) {
  OpBuilder &builder = b.getBuilder();
  if (getElementTypeOrSelf(reals.getType()).isF32())
    return reals;
  return arith::ExtFOp::create(
      builder, b.getLoc(), withLanesOf(builder.getF32Type(), reals.getType()),
      reals);
}

Value kernels::roundReals(IRValueBuilder &b, Value reals, Type element) {
  if (element.isF32())
    return reals;
  return arith::TruncFOp::create(b.getBuilder(), b.getLoc(),
                                 withLanesOf(element, reals.getType()), reals);
}

Value kernels::loadNarrow(IRValueBuilder &b, Value buffer, Value index,
                          int64_t lanes, int64_t valid, int64_t alignment) {
  OpBuilder &builder = b.getBuilder();
  Type element = elementOf(buffer);
  auto type = VectorType::get({lanes}, element);
  Value loaded;
  if (valid == lanes) {
    loaded = vector::LoadOp::create(builder, b.getLoc(), type, buffer,
                                    ValueRange{index}, /*nontemporal=*/false,
                                    llvm::MaybeAlign(alignment));
  } else {
    Value zero = arith::ConstantOp::create(builder, b.getLoc(),
                                           builder.getZeroAttr(type));
    loaded = vector::MaskedLoadOp::create(builder, b.getLoc(), type, buffer,
                                          ValueRange{index},
                                          prefixMask(b, lanes, valid), zero);
  }
  return loaded;
}

Value kernels::loadReals(IRValueBuilder &b, Value buffer, Value index,
                         int64_t lanes, int64_t valid, int64_t alignment) {
  return widenReals(b, loadNarrow(b, buffer, index, lanes, valid, alignment));
}

Value kernels::loadReal(IRValueBuilder &b, Value buffer, Value index) {
  return widenReals(b, memref::LoadOp::create(b.getBuilder(), b.getLoc(),
                                              buffer, ValueRange{index}));
}

/// `stored`, what `reals` became, or the one NaN of its type. Processors differ
/// in which sign and payload an operation or a conversion hands on. The choice
/// is one of integers: of floats LLVM may take one NaN for another.
static Value orNaN(IRValueBuilder &b, Value reals, Value stored) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  Type type = stored.getType();
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  APInt nan = APFloat::getQNaN(element.getFloatSemantics()).bitcastToAPInt();
  Type bitsType = withLanesOf(builder.getIntegerType(element.getWidth()), type);
  TypedAttr constant =
      builder.getIntegerAttr(getElementTypeOrSelf(bitsType), nan);
  if (auto lanes = dyn_cast<VectorType>(bitsType))
    constant = DenseElementsAttr::get(lanes, nan);
  Value bits = arith::SelectOp::create(
      builder, loc, b.fle(reals, reals),
      arith::BitcastOp::create(builder, loc, bitsType, stored),
      arith::ConstantOp::create(builder, loc, constant));
  return arith::BitcastOp::create(builder, loc, type, bits);
}

Value kernels::canonicalReals(IRValueBuilder &b, Value reals) {
  return orNaN(b, reals, reals);
}

void kernels::storeReals(IRValueBuilder &b, Value reals, Value buffer,
                         Value index, int64_t valid, int64_t alignment) {
  OpBuilder &builder = b.getBuilder();
  int64_t lanes = b.lanes(reals);
  Value rounded = orNaN(b, reals, roundReals(b, reals, elementOf(buffer)));
  if (valid == lanes) {
    vector::StoreOp::create(builder, b.getLoc(), rounded, buffer,
                            ValueRange{index}, /*nontemporal=*/false,
                            llvm::MaybeAlign(alignment));
    return;
  }
  vector::MaskedStoreOp::create(builder, b.getLoc(), buffer, ValueRange{index},
                                prefixMask(b, lanes, valid), rounded);
}

Value kernels::loadCodes(IRValueBuilder &b, Value buffer, Value index,
                         int64_t lanes, unsigned width, int64_t alignment) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  bool packed = width == 4;
  int64_t bytes = packed ? lanes / 2 : lanes;
  if (packed)
    index = IndexMath(builder, loc).div(index, 2);
  auto byteType = VectorType::get({bytes}, builder.getI8Type());
  Value loaded = vector::LoadOp::create(
      builder, loc, byteType, buffer, ValueRange{index},
      /*nontemporal=*/false, llvm::MaybeAlign(alignment));
  auto wideType = VectorType::get({bytes}, builder.getI32Type());
  Value wide = arith::ExtUIOp::create(builder, loc, wideType, loaded);
  if (!packed)
    return wide;
  return vector::InterleaveOp::create(builder, loc, b.band(wide, b.i32(15)),
                                      b.lshr(wide, b.i32(4)));
}

void kernels::storeCodes(IRValueBuilder &b, Value codes, Value buffer,
                         Value index, unsigned width, int64_t alignment) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  if (width == 4) {
    index = IndexMath(builder, loc).div(index, 2);
    auto pair = vector::DeinterleaveOp::create(builder, loc, codes);
    codes = b.bor(pair.getRes1(), b.shl(pair.getRes2(), b.i32(4)));
  }
  Value bytes = arith::TruncIOp::create(
      builder, loc, withLanesOf(builder.getI8Type(), codes.getType()), codes);
  vector::StoreOp::create(builder, loc, bytes, buffer, ValueRange{index},
                          /*nontemporal=*/false, llvm::MaybeAlign(alignment));
}

void kernels::storePackedCodes(IRValueBuilder &b, Value words, Value buffer,
                               Value index, unsigned width, int64_t alignment) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  Value bytes = vector::BitCastOp::create(
      builder, loc, VectorType::get({4 * b.lanes(words)}, builder.getI8Type()),
      words);
  if (width == 4)
    index = IndexMath(builder, loc).div(index, 2);
  vector::StoreOp::create(builder, loc, bytes, buffer, ValueRange{index},
                          /*nontemporal=*/false, llvm::MaybeAlign(alignment));
}

int64_t kernels::alignmentOf(int64_t bufferAlignment, int64_t cols,
                             int64_t step, unsigned bits) {
  if (bufferAlignment <= 1)
    return 0;
  int64_t bytes = std::gcd(cols, step) * bits / 8;
  // The largest power of two that divides it.
  return std::min(bufferAlignment, bytes & -bytes);
}

void kernels::forEachBlock(
    OpBuilder &builder, Location loc, ItemSize itemSize, Value begin, Value end,
    int64_t cols, int64_t blockCols,
    llvm::function_ref<void(OpBuilder &, Value, Value, int64_t)> body) {
  int64_t fullBlocks = cols / blockCols, rest = cols % blockCols;
  forRange(builder, loc, begin, end, 1, [&](OpBuilder &itemLoop, Value item) {
    IndexMath at(itemLoop, loc);
    if (itemSize == ItemSize::Row) {
      forRange(itemLoop, loc, at.constant(0), at.constant(fullBlocks), 1,
               [&](OpBuilder &inner, Value blockCol) {
                 body(inner, item, blockCol, blockCols);
               });
      if (rest)
        body(itemLoop, item, at.constant(fullBlocks), rest);
      return;
    }
    int64_t blocks = fullBlocks + (rest != 0);
    Value row = at.div(item, blocks), blockCol = at.rem(item, blocks);
    if (!rest)
      return body(itemLoop, row, blockCol, blockCols);
    auto branch = [&](int64_t valid) {
      return [&, valid](OpBuilder &inner, Location) {
        body(inner, row, blockCol, valid);
        scf::YieldOp::create(inner, loc);
      };
    };
    Value isLast =
        arith::CmpIOp::create(itemLoop, loc, arith::CmpIPredicate::eq, blockCol,
                              at.constant(fullBlocks));
    scf::IfOp::create(itemLoop, loc, isLast, branch(rest), branch(blockCols));
  });
}

Value kernels::itemsOf(IndexMath &math, ItemSize itemSize, Value rows,
                       int64_t cols, int64_t blockCols) {
  if (itemSize == ItemSize::Row)
    return rows;
  return math.mul(rows, (cols + blockCols - 1) / blockCols);
}

Value kernels::loadScalarCode(IRValueBuilder &b, Value buffer, Value index) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  Value loaded =
      memref::LoadOp::create(builder, loc, buffer, ValueRange{index});
  unsigned width = loaded.getType().getIntOrFloatBitWidth();
  if (isa<FloatType>(loaded.getType()))
    loaded = arith::BitcastOp::create(builder, loc,
                                      builder.getIntegerType(width), loaded);
  if (width == 32)
    return loaded;
  return arith::ExtUIOp::create(builder, loc, builder.getI32Type(), loaded);
}

void kernels::storeScalarCode(IRValueBuilder &b, Value code, Value buffer,
                              Value index) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  Type element = elementOf(buffer);
  unsigned width = element.getIntOrFloatBitWidth();
  if (width < 32)
    code = arith::TruncIOp::create(builder, loc, builder.getIntegerType(width),
                                   code);
  if (isa<FloatType>(element))
    code = arith::BitcastOp::create(builder, loc, element, code);
  memref::StoreOp::create(builder, loc, code, buffer, ValueRange{index});
}

void kernels::storeScalarCodes(IRValueBuilder &b, ArrayRef<Value> codes,
                               Value buffer, Value index) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  Type byte = builder.getI8Type();
  SmallVector<Value> bytes;
  for (Value code : codes)
    bytes.push_back(arith::TruncIOp::create(builder, loc, byte, code));
  auto type = VectorType::get({static_cast<int64_t>(bytes.size())}, byte);
  Value together = vector::FromElementsOp::create(builder, loc, type, bytes);
  vector::StoreOp::create(builder, loc, together, buffer, ValueRange{index},
                          /*nontemporal=*/false,
                          llvm::MaybeAlign(bytes.size()));
}

Value kernels::sliceLanes(IRValueBuilder &b, Value lanes, int64_t first,
                          int64_t count) {
  if (b.lanes(lanes) == count)
    return lanes;
  return vector::ExtractStridedSliceOp::create(
      b.getBuilder(), b.getLoc(), lanes, ArrayRef<int64_t>{first},
      ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1});
}

Value kernels::joinLanes(IRValueBuilder &b, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors[0];
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  auto type = cast<VectorType>(vectors[0].getType());
  int64_t each = type.getDimSize(0);
  auto all = VectorType::get({each * static_cast<int64_t>(vectors.size())},
                             type.getElementType());
  Value joined =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(all));
  for (auto [i, vector] : llvm::enumerate(vectors))
    joined = vector::InsertStridedSliceOp::create(
        builder, loc, vector, joined,
        ArrayRef<int64_t>{static_cast<int64_t>(i) * each},
        ArrayRef<int64_t>{1});
  return joined;
}
