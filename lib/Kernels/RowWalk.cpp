//===-- RowWalk.cpp - A walk over the blocks of each row ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RowWalk.h"

#include "blockscale/Conversion/StorageTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

void RowWalk::emit(
    OpBuilder &builder, Location loc, Value begin, Value end, Value rows,
    llvm::function_ref<void(IRValueBuilder &, const BlockPosition &)> body)
    const {
  forEachBlock(
      builder, loc, itemSize, begin, end, cols, format.blockCols,
      [&](OpBuilder &inner, Value item, Value blockCol, int64_t valid) {
        IRValueBuilder b(inner, loc);
        IndexMath at(inner, loc);
        Value blockRows = at.ceilDiv(rows, format.blockRows);
        // Dividing by a run-time number costs as much as a block's rounding.
        Value batch = singleBatch ? at.constant(0) : at.div(item, rows);
        Value row = singleBatch ? item : at.rem(item, rows);
        Value blockRow = at.div(row, format.blockRows);
        Value col = at.mul(blockCol, format.blockCols);
        BlockPosition position;
        position.real = at.add(at.mul(item, cols), col);
        position.element = at.add(at.mul(item, paddedCols), col);
        position.scale = scaleAddress.offset(inner, loc, batch, blockRows,
                                             blockRow, blockCol);
        position.factor = factorAddress.offset(inner, loc, batch, blockRows,
                                               blockRow, blockCol);
        position.valid = valid;
        body(b, position);
      });
}

void RowWalk::launch(OpBuilder &builder, Location loc, KernelSet &kernelSet,
                     func::FuncOp kernel, const Extents &extents,
                     ValueRange arguments) const {
  IndexMath math(builder, loc);
  kernelSet.launch(
      builder, loc, kernel,
      itemsOf(math, itemSize, extents.allRows(math), cols, format.blockCols),
      grainFor(math, math.constant(cols)), arguments);
}

static ScaleAddress linearLike(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return ScaleAddress(
      RankedTensorType::get(tensor.getShape(), tensor.getElementType()));
}

RowWalk RowWalk::make(const Format &format, RankedTensorType real,
                      RankedTensorType elements, RankedTensorType scales,
                      const KernelSet &kernelSet, bool singleBatch) {
  int64_t cols = real.getShape().back(), padded = elements.getShape().back();
  return {format,
          cols,
          padded,
          ScaleAddress(scales),
          linearLike(scales),
          kernelSet.itemSize(),
          singleBatch,
          alignmentOf(kernelSet.bufferAlignment(), cols, format.blockCols,
                      real.getElementType().getIntOrFloatBitWidth()),
          alignmentOf(kernelSet.bufferAlignment(), padded, format.blockCols,
                      getStorageWidth(elements.getElementType()))};
}

bool kernels::isTiled(Value scales) {
  return scales && cast<RankedTensorType>(scales.getType()).getEncoding();
}

Value kernels::firstReal(IRValueBuilder &b, Value buffer) {
  Value zero = arith::ConstantIndexOp::create(b.getBuilder(), b.getLoc(), 0);
  return loadReal(b, buffer, zero);
}

Value kernels::optionalBuffer(OpBuilder &builder, Location loc, Value tensor) {
  return tensor ? inputBuffer(builder, loc, tensor) : Value();
}

std::pair<Value, Value> kernels::splitWords(OpBuilder &builder, Location loc,
                                            Value wide) {
  Type i32 = builder.getI32Type();
  Value shift = arith::ConstantIntOp::create(builder, loc, 32, 64);
  Value high = arith::ShRUIOp::create(builder, loc, wide, shift);
  return {arith::TruncIOp::create(builder, loc, i32, wide),
          arith::TruncIOp::create(builder, loc, i32, high)};
}

std::pair<Value, Value> kernels::loadSeed(OpBuilder &builder, Location loc,
                                          Value buffer) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value wide = memref::LoadOp::create(builder, loc, buffer, ValueRange{zero});
  return splitWords(builder, loc, wide);
}

Value kernels::randomLanesAt(IRValueBuilder &b, const ThreadOps &ops,
                             Value element, int64_t lanes,
                             std::pair<Value, Value> seedWords) {
  OpBuilder &builder = b.getBuilder();
  Value index = arith::IndexCastOp::create(builder, b.getLoc(),
                                           builder.getI64Type(), element);
  auto [low, high] = splitWords(builder, b.getLoc(), index);
  return ops.randomBits(b, low, high, lanes, seedWords.first, seedWords.second);
}
