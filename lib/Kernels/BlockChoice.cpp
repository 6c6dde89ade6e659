//===-- BlockChoice.cpp - The scale of a block, in a kernel ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BlockChoice.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

TensorLevel<Value> kernels::loadLevel(IRValueBuilder &b, const Format &format,
                                      const ScaleRule &rule, Value amaxBuffer) {
  if (!amaxBuffer)
    return tensorLevel(b, format, rule, b.f32(0));
  Value zero = arith::ConstantIndexOp::create(b.getBuilder(), b.getLoc(), 0);
  Value bits = loadScalarCode(b, amaxBuffer, zero);
  return tensorLevel(b, format, rule, b.asFloat(bits));
}

void BlockChoice::setLevel(OpBuilder &builder, Location loc, Value amaxBuffer) {
  IRValueBuilder b(builder, loc);
  level = loadLevel(b, format, rule, amaxBuffer);
}

void kernels::storeLevel(IRValueBuilder &b, const TensorLevel<Value> &level,
                         Value buffer) {
  IndexMath math(b.getBuilder(), b.getLoc());
  for (auto [index, value] : llvm::enumerate(
           ArrayRef<Value>{level.decode, level.encode, level.block}))
    memref::StoreOp::create(b.getBuilder(), b.getLoc(), value, buffer,
                            ValueRange{math.constant(index)});
}

void BlockChoice::setStoredLevel(OpBuilder &builder, Location loc,
                                 Value levelBuffer) {
  IndexMath math(builder, loc);
  auto load = [&](int64_t index) -> Value {
    return memref::LoadOp::create(builder, loc, levelBuffer,
                                  ValueRange{math.constant(index)});
  };
  level = {load(0), load(1), load(2)};
}

BlockRows BlockChoice::rowsOf(OpBuilder &builder, Location loc, Value rows,
                              Value item, Value blockCol, int64_t valid) const {
  IndexMath at(builder, loc);
  BlockRows block;
  block.blockRows = at.ceilDiv(rows, format.blockRows);
  block.batch = singleBatch ? at.constant(0) : at.div(item, block.blockRows);
  block.blockRow = singleBatch ? item : at.rem(item, block.blockRows);
  Value row = at.mul(block.blockRow, format.blockRows);
  block.rowCount = at.min(at.sub(rows, row), at.constant(format.blockRows));
  block.firstRow = at.add(at.mul(block.batch, rows), row);
  block.index =
      at.add(at.mul(block.firstRow, cols), at.mul(blockCol, format.blockCols));
  block.valid = valid;
  return block;
}

SmallVector<Value> BlockChoice::overRows(
    OpBuilder &builder, Location loc, const BlockRows &block,
    ValueRange initial,
    llvm::function_ref<SmallVector<Value>(IRValueBuilder &, Value, Value,
                                          ValueRange)>
        body) const {
  IndexMath math(builder, loc);
  if (format.blockRows == 1) {
    IRValueBuilder b(builder, loc);
    Value x = block.loaded ? ops.widened(b, block.loaded)
                           : loadReals(b, source, block.index, format.blockCols,
                                       block.valid, alignment);
    return body(b, math.constant(0), x, initial);
  }
  // The first trip makes the state lanewise.
  IRValueBuilder outside(builder, loc);
  SmallVector<Value> states;
  for (Value value : initial)
    states.push_back(
        outside.lanes(value) > 1
            ? value
            : vector::BroadcastOp::create(
                  builder, loc,
                  VectorType::get({format.blockCols}, value.getType()), value)
                  .getResult());
  auto loop = scf::ForOp::create(
      builder, loc, math.constant(0), block.rowCount, math.constant(1), states,
      [&](OpBuilder &inner, Location, Value row, ValueRange state) {
        IRValueBuilder b(inner, loc);
        IndexMath at(inner, loc);
        Value index = at.add(block.index, at.mul(row, cols));
        Value x = loadReals(b, source, index, format.blockCols, block.valid,
                            alignment);
        scf::YieldOp::create(inner, loc, body(b, row, x, state));
      });
  return SmallVector<Value>(loop.getResults());
}

Measure<Value> BlockChoice::measure(OpBuilder &builder, Location loc,
                                    const BlockRows &block) const {
  IRValueBuilder b(builder, loc);
  IndexMath math(builder, loc);
  if (block.loaded && rule.estimator == ScaleRule::Estimator::AbsMax)
    return {ops.maxMagnitude(b, block.loaded), b.f32(0)};
  Measure<Value> initial = measureInit(b, format, rule);
  SmallVector<Value> lanes =
      overRows(builder, loc, block, {initial.a, initial.b},
               [&](IRValueBuilder &b, Value, Value x,
                   ValueRange state) -> SmallVector<Value> {
                 Measure<Value> next =
                     measureRow(b, format, rule, {state[0], state[1]}, x);
                 return {next.a, next.b};
               });
  Value count =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                 math.mul(block.rowCount, format.blockCols));
  return measureReduce(b, format, rule, {lanes[0], lanes[1]}, b.toFloat(count));
}

Candidate<Value> BlockChoice::choose(OpBuilder &builder, Location loc,
                                     const BlockRows &block) const {
  IRValueBuilder b(builder, loc);
  std::vector<Candidate<Value>> choices =
      ops.scaleCandidates(b, format, rule, measure(builder, loc, block), level);
  if (choices.size() == 1)
    return choices[0];
  SmallVector<Value> errors = overRows(
      builder, loc, block, {b.f32(0), b.f32(0)},
      [&](IRValueBuilder &b, Value, Value x, ValueRange sums) {
        SmallVector<Value> next;
        for (auto [choice, sum] : llvm::zip_equal(choices, sums))
          next.push_back(b.fadd(
              sum, candidateErrorRow(b, format, rule, x, choice, level)));
        return next;
      });
  return pick(b, choices[0], b.reduceFAdd(errors[0]), choices[1],
              b.reduceFAdd(errors[1]));
}
