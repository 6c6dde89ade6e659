//===-- TileResults.cpp - What is made of a finished tile -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Conversion/IRValueBuilder.h"
#include "blockscale/Numerics/BlockScaling.h"
#include "blockscale/Target/NVIDIA/Epilogue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::nvidia;

/// `x` where its columns, from `col` on, exist; zero elsewhere.
static Value zeroPast(ThreadCode &code, Value x, Value col, Value cols) {
  auto type = cast<VectorType>(x.getType());
  auto indices = VectorType::get(type.getShape(), code.i32());
  SmallVector<int32_t> lanes = llvm::to_vector(
      llvm::seq<int32_t>(0, static_cast<int32_t>(type.getNumElements())));
  Value lane = arith::ConstantOp::create(
      code.builder, code.loc, DenseElementsAttr::get(indices, ArrayRef(lanes)));
  Value left = vector::BroadcastOp::create(code.builder, code.loc, indices,
                                           code.sub(cols, col));
  return code.select(code.lt(lane, left), x, code.zero(type));
}

void MatmulEpilogue::quantizeTile(
    ThreadCode &code, ValueRange args, const State &state, Value shared,
    int64_t rows, int64_t cols, int64_t stride, int64_t threads,
    llvm::function_ref<Value(ThreadCode &, Value)> rowOf, Value col0) const {
  int64_t block = quantized->getScale().getFormat().getValue().blockCols;
  assert(cols % block == 0 && "blocks within the tile");
  bool whole = staticCols() && *staticCols() % block == 0;
  // Neighbouring threads take rows, which lie in different banks.
  code.loop(code.threadId(), code.constant(rows * cols / block), threads, {},
            [&](ThreadCode &inner, Value item, ValueRange) {
              Value staged = inner.rem(item, rows);
              Value tileCol = inner.mul(inner.div(item, rows), block);
              Value row = rowOf(inner, staged), col = inner.add(col0, tileCol);
              Value inside = inner.band(inner.lt(row, state.rows),
                                        inner.lt(col, state.cols));
              inner.branch(inside, [&](ThreadCode &at) {
                Value offset = at.add(at.mul(staged, stride), tileCol);
                Value x = at.load(VectorType::get({block}, at.f32()),
                                  at.element(shared, at.f32(), offset), 16);
                if (!whole)
                  x = zeroPast(at, x, col, state.cols);
                quantized->emitBlock(
                    at.builder, at.loc, *kernelSet, split(args).quantized, x,
                    at.toIndex(state.batch), at.toIndex(state.rows),
                    at.toIndex(row), at.toIndex(at.div(col, block)));
              });
              return SmallVector<Value>();
            });
}

Value MatmulEpilogue::amaxOfTile(
    ThreadCode &code, const State &state, Value bits, Value shared,
    int64_t rows, int64_t cols, int64_t stride, int64_t threads,
    llvm::function_ref<Value(ThreadCode &, Value)> rowOf, Value col0) const {
  // The values that this thread has left there.
  int64_t groups = cols / kTileLanes;
  Value thread = code.threadId();
  Value tileCol = code.mul(code.rem(thread, groups), kTileLanes);
  Value col = code.add(col0, tileCol);
  SmallVector<Value> result = code.loop(
      code.div(thread, groups), code.constant(rows), threads / groups, {bits},
      [&](ThreadCode &inner, Value staged, ValueRange carried) {
        auto type = VectorType::get({kTileLanes}, inner.f32());
        Value offset = inner.add(inner.mul(staged, stride), tileCol);
        Value x =
            inner.load(type, inner.element(shared, inner.f32(), offset), 16);
        Value inside = inner.band(inner.lt(rowOf(inner, staged), state.rows),
                                  inner.lt(col, state.cols));
        x = inner.select(inside, zeroPast(inner, x, col, state.cols),
                         inner.zero(type));
        IRValueBuilder b(inner.builder, inner.loc);
        Value largest = b.reduceUMax(tensorAmaxRow(b, b.i32(0), x));
        return SmallVector<Value>{b.umax(carried[0], largest)};
      });
  return result[0];
}

void MatmulEpilogue::storeAmax(ThreadCode &code, ValueRange args,
                               Value bits) const {
  Value all = code.constant(-1);
  Value largest = NVVM::ReduxOp::create(code.builder, code.loc, code.i32(),
                                        bits, NVVM::ReduxKind::UMAX, all);
  Value isFirst = code.eq(code.band(code.threadId(), 31), code.constant(0));
  code.branch(isFirst, [&](ThreadCode &inner) {
    // The bits of magnitudes order like them.
    LLVM::AtomicRMWOp::create(inner.builder, inner.loc, LLVM::AtomicBinOp::umax,
                              split(args).amax, largest,
                              LLVM::AtomicOrdering::monotonic);
  });
}
