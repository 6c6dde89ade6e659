//===-- LaneAccess.cpp - Lanes between flat buffers and registers ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LaneAccess.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::cpu;

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

static Value widen(IRValueBuilder &b, Value reals) {
  OpBuilder &builder = b.getBuilder();
  if (getElementTypeOrSelf(reals.getType()).isF32())
    return reals;
  return arith::ExtFOp::create(
      builder, b.getLoc(), withLanesOf(builder.getF32Type(), reals.getType()),
      reals);
}

Value cpu::roundReals(IRValueBuilder &b, Value reals, Type element) {
  if (element.isF32())
    return reals;
  return arith::TruncFOp::create(b.getBuilder(), b.getLoc(),
                                 withLanesOf(element, reals.getType()), reals);
}

Value cpu::loadReals(IRValueBuilder &b, Value buffer, Value index, int64_t lanes,
                     int64_t valid) {
  OpBuilder &builder = b.getBuilder();
  Type element = elementOf(buffer);
  auto type = VectorType::get({lanes}, element);
  Value loaded;
  if (valid == lanes) {
    loaded = vector::LoadOp::create(builder, b.getLoc(), type, buffer,
                                    ValueRange{index});
  } else {
    Value zero = arith::ConstantOp::create(builder, b.getLoc(),
                                           builder.getZeroAttr(type));
    loaded = vector::MaskedLoadOp::create(builder, b.getLoc(), type, buffer,
                                          ValueRange{index},
                                          prefixMask(b, lanes, valid), zero);
  }
  return widen(b, loaded);
}

Value cpu::loadReal(IRValueBuilder &b, Value buffer, Value index) {
  return widen(b, memref::LoadOp::create(b.getBuilder(), b.getLoc(), buffer,
                                         ValueRange{index}));
}

void cpu::storeReals(IRValueBuilder &b, Value reals, Value buffer, Value index,
                     int64_t valid) {
  OpBuilder &builder = b.getBuilder();
  int64_t lanes = b.lanes(reals);
  Value rounded = roundReals(b, reals, elementOf(buffer));
  if (valid == lanes) {
    vector::StoreOp::create(builder, b.getLoc(), rounded, buffer,
                            ValueRange{index});
    return;
  }
  vector::MaskedStoreOp::create(builder, b.getLoc(), buffer, ValueRange{index},
                                prefixMask(b, lanes, valid), rounded);
}

Value cpu::loadCodes(IRValueBuilder &b, Value buffer, Value index, int64_t lanes,
                     unsigned width) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  bool packed = width == 4;
  int64_t bytes = packed ? lanes / 2 : lanes;
  if (packed)
    index = IndexMath(builder, loc).div(index, 2);
  auto byteType = VectorType::get({bytes}, builder.getI8Type());
  Value loaded = vector::LoadOp::create(builder, loc, byteType, buffer,
                                        ValueRange{index});
  auto wideType = VectorType::get({bytes}, builder.getI32Type());
  Value wide = arith::ExtUIOp::create(builder, loc, wideType, loaded);
  if (!packed)
    return wide;
  return vector::InterleaveOp::create(builder, loc, b.band(wide, b.i32(15)),
                                      b.lshr(wide, b.i32(4)));
}

void cpu::storeCodes(IRValueBuilder &b, Value codes, Value buffer, Value index,
                     unsigned width) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  if (width == 4) {
    index = IndexMath(builder, loc).div(index, 2);
    auto pair = vector::DeinterleaveOp::create(builder, loc, codes);
    codes = b.bor(pair.getRes1(), b.shl(pair.getRes2(), b.i32(4)));
  }
  Value bytes = arith::TruncIOp::create(
      builder, loc, withLanesOf(builder.getI8Type(), codes.getType()), codes);
  vector::StoreOp::create(builder, loc, bytes, buffer, ValueRange{index});
}

Value cpu::loadScalarCode(IRValueBuilder &b, Value buffer, Value index) {
  OpBuilder &builder = b.getBuilder();
  Location loc = b.getLoc();
  Value loaded = memref::LoadOp::create(builder, loc, buffer, ValueRange{index});
  unsigned width = loaded.getType().getIntOrFloatBitWidth();
  if (isa<FloatType>(loaded.getType()))
    loaded = arith::BitcastOp::create(builder, loc,
                                      builder.getIntegerType(width), loaded);
  if (width == 32)
    return loaded;
  return arith::ExtUIOp::create(builder, loc, builder.getI32Type(), loaded);
}

void cpu::storeScalarCode(IRValueBuilder &b, Value code, Value buffer,
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
