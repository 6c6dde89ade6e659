//===-- Epilogue.cpp - From f32 accumulators to the result ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/NVIDIA/Epilogue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace blockscale::nvidia;

/// Whether an operand of `type` differs along dimension `fromRight` (0: the
/// columns) of the result.
static bool variesAlong(RankedTensorType type, int64_t fromRight) {
  int64_t rank = type.getRank();
  return fromRight < rank && type.getDimSize(rank - 1 - fromRight) != 1;
}

static int64_t batchRank(RankedTensorType result) {
  return result.getRank() - 2;
}

std::optional<int64_t> MatmulEpilogue::staticCols() const {
  int64_t cols = resultType.getShape().back();
  if (ShapedType::isDynamic(cols))
    return std::nullopt;
  return cols;
}

bool MatmulEpilogue::needsBatchSizes() const {
  return batchRank(resultType) > 1 &&
         llvm::any_of(operands, [](const Operand &operand) {
           return operand.type.getRank() > 2;
         });
}

std::string MatmulEpilogue::key() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << scalars.size() << '|' << resultType << '|';
  if (c)
    os << c.getType() << '|';
  for (const Operand &operand : operands)
    os << operand.type << '|';
  if (region)
    for (Operation &op : region->front())
      os << op << '|';
  if (amax)
    os << "amax|";
  if (quantized)
    os << "quantized|" << (out ? "stored|" : "") << quantized->key();
  return text;
}

SmallVector<Type> MatmulEpilogue::argumentTypes() const {
  MLIRContext *context = resultType.getContext();
  size_t pointers = (out ? 1 : 0) + (c ? 1 : 0) + (amax ? 1 : 0) +
                    scalars.size() + operands.size();
  SmallVector<Type> types(pointers, ThreadCode::globalPointer(context));
  if (needsBatchSizes())
    types.append(batchSizes.size(), IndexType::get(context));
  if (quantized)
    llvm::append_range(types, ValueRange(quantized->buffers()).getTypes());
  return types;
}

SmallVector<Value> MatmulEpilogue::arguments() const {
  SmallVector<Value> values;
  if (out)
    values.push_back(out);
  if (c)
    values.push_back(c);
  if (amax)
    values.push_back(amax);
  llvm::append_range(values, scalars);
  for (const Operand &operand : operands)
    values.push_back(operand.buffer);
  if (needsBatchSizes())
    llvm::append_range(values, batchSizes);
  if (quantized)
    llvm::append_range(values, quantized->buffers());
  return values;
}

MatmulEpilogue::Arguments MatmulEpilogue::split(ValueRange args) const {
  Arguments parts;
  auto take = [&](size_t count) {
    ValueRange taken = args.take_front(count);
    args = args.drop_front(count);
    return taken;
  };
  if (out)
    parts.out = take(1).front();
  if (c)
    parts.c = take(1).front();
  if (amax)
    parts.amax = take(1).front();
  parts.scalars = take(scalars.size());
  parts.operands = take(operands.size());
  parts.batchSizes = take(needsBatchSizes() ? batchSizes.size() : 0);
  parts.quantized = args;
  return parts;
}

Value MatmulEpilogue::loadAlpha(ThreadCode &code, ValueRange args) const {
  OpBuilder &builder = code.builder;
  Location loc = code.loc;
  // The product of a few scales may leave the range of f32 on its way, and
  // costs nothing in f64.
  Type f64 = builder.getF64Type();
  Value product;
  for (Value pointer : split(args).scalars) {
    Value scale = code.load(code.f32(), pointer, 4);
    if (scalars.size() == 1)
      return scale;
    scale = arith::ExtFOp::create(builder, loc, f64, scale);
    product =
        product
            ? arith::MulFOp::create(builder, loc, product, scale).getResult()
            : scale;
  }
  if (!product)
    return {};
  return arith::TruncFOp::create(builder, loc, code.f32(), product);
}

MatmulEpilogue::State MatmulEpilogue::begin(ThreadCode &code, ValueRange args,
                                            Value batch, Value rows, Value cols,
                                            Value alpha) const {
  State state;
  state.alpha = alpha;
  state.batch = batch;
  state.rows = rows;
  // What is known when compiled makes addresses cheap.
  if (std::optional<int64_t> known = staticCols())
    cols = code.constant(*known);
  state.cols = cols;
  Value rows64 = code.wide(rows), cols64 = code.wide(cols);
  state.outBase = code.mul(code.mul(code.wide(batch), rows64), cols64);
  // The sizes of the result, batch first.
  SmallVector<Value> sizes;
  if (needsBatchSizes())
    for (Value size : split(args).batchSizes)
      sizes.push_back(code.wideIndex(size));
  else
    sizes.assign(std::max<int64_t>(batchRank(resultType), 0), Value());
  size_t batchDims = sizes.size();
  sizes.append({rows64, cols64});
  for (const Operand &operand : operands) {
    Value base = code.constant64(0), stride = code.constant64(1);
    int64_t rank = operand.type.getRank();
    for (int64_t dim = rank - 1; dim >= 0; --dim) {
      if (!variesAlong(operand.type, rank - 1 - dim))
        continue;
      size_t resultDim = dim + resultType.getRank() - rank;
      if (resultDim < batchDims) {
        Value index = code.wide(batch);
        if (batchDims > 1) {
          Value after = code.constant64(1);
          for (size_t d = resultDim + 1; d < batchDims; ++d)
            after = code.mul(after, sizes[d]);
          index = code.rem(code.div(index, after), sizes[resultDim]);
        }
        base = code.add(base, code.mul(index, stride));
        if (resultDim == 0)
          break;
      }
      stride = code.mul(stride, sizes[resultDim]);
    }
    state.operandBases.push_back(base);
  }
  return state;
}

Value MatmulEpilogue::applyRegion(ThreadCode &code,
                                  ArrayRef<Value> blockArguments) const {
  IRMapping mapping;
  Block &block = region->front();
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), blockArguments))
    mapping.map(argument, value);
  for (Operation &op : block.without_terminator()) {
    // The chip converts by itself; arith's conversions of bf16 become integer
    // arithmetic.
    if (auto truncate = dyn_cast<arith::TruncFOp>(op);
        truncate && truncate.getIn().getType().isF32()) {
      mapping.map(
          truncate.getOut(),
          code.roundTo(mapping.lookup(truncate.getIn()), truncate.getType()));
      continue;
    }
    if (auto extend = dyn_cast<arith::ExtFOp>(op);
        extend && extend.getType().isF32()) {
      mapping.map(extend.getOut(), code.toF32(mapping.lookup(extend.getIn())));
      continue;
    }
    code.builder.clone(op, mapping);
  }
  return mapping.lookup(block.getTerminator()->getOperand(0));
}

void MatmulEpilogue::emit(ThreadCode &outer, ValueRange args,
                          const State &state, ArrayRef<Value> accumulators,
                          Value row, Value col, Value staged) const {
  int64_t lanes = accumulators.size();
  // Then a group that begins inside ends inside, and is aligned.
  bool whole = staticCols() && *staticCols() % lanes == 0;
  Arguments parts = split(args);
  Value outPointer = parts.out, cPointer = parts.c;
  Value inside =
      outer.band(outer.lt(row, state.rows), outer.lt(col, state.cols));
  outer.branch(inside, [&](ThreadCode &code) {
    OpBuilder &builder = code.builder;
    Location loc = code.loc;
    Value rowStart = code.mul(code.wide(row), code.wide(state.cols));
    SmallVector<Value> columns, present;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Value column = code.add(col, lane);
      present.push_back(code.lt(column, state.cols));
      // Lanes past the end read what the first one reads.
      columns.push_back(code.wide(
          whole || lane == 0 ? column
                             : code.select(present.back(), column, col)));
    }
    auto loadLanes = [&](Value pointer, Type type, Value base) {
      SmallVector<Value> values;
      if (whole && lanes > 1) {
        Value vector =
            code.load(VectorType::get({lanes}, type),
                      code.element(pointer, type, code.add(base, columns[0])),
                      lanes * type.getIntOrFloatBitWidth() / 8);
        return code.unpack(vector);
      }
      for (Value column : columns)
        values.push_back(code.load(
            type, code.element(pointer, type, code.add(base, column))));
      return values;
    };
    Value outRow = code.add(state.outBase, rowStart);

    SmallVector<Value> results(accumulators);
    if (state.alpha)
      for (Value &value : results)
        value = arith::MulFOp::create(builder, loc, value, state.alpha);
    if (cPointer) {
      Type type = cast<MemRefType>(c.getType()).getElementType();
      SmallVector<Value> addends = loadLanes(cPointer, type, outRow);
      for (auto [value, addend] : llvm::zip_equal(results, addends))
        value = arith::AddFOp::create(builder, loc, value, code.toF32(addend));
    }
    Type resultElement = resultType.getElementType();
    if (region) {
      SmallVector<SmallVector<Value>> blockArguments;
      for (Value value : results)
        blockArguments.push_back({value});
      for (auto [operand, pointer, operandBase] :
           llvm::zip_equal(operands, parts.operands, state.operandBases)) {
        Type type = operand.type.getElementType();
        bool isBit = type.isInteger(1); // A byte in memory.
        Type stored = isBit ? builder.getI8Type() : type;
        bool byRow = variesAlong(operand.type, 1);
        bool byCol = variesAlong(operand.type, 0);
        Value base = operandBase;
        if (byRow)
          base = code.add(base, byCol ? rowStart : code.wide(row));
        SmallVector<Value> values;
        if (byCol)
          values = loadLanes(pointer, stored, base);
        else
          values.assign(lanes,
                        code.load(stored, code.element(pointer, stored, base)));
        for (auto [arguments, value] :
             llvm::zip_equal(blockArguments, values)) {
          if (isBit)
            value = arith::TruncIOp::create(builder, loc, type, value);
          arguments.push_back(value);
        }
      }
      for (auto [value, arguments] : llvm::zip_equal(results, blockArguments))
        value = applyRegion(code, arguments);
    } else {
      for (Value &value : results)
        value = code.roundTo(value, resultElement);
    }

    if (staged) {
      SmallVector<Value> wide;
      for (Value value : results)
        wide.push_back(code.toF32(value));
      code.store(code.pack(wide), staged, lanes * 4);
    }
    if (!outPointer)
      return;
    if (whole) {
      code.store(
          code.pack(results),
          code.element(outPointer, resultElement, code.add(outRow, columns[0])),
          lanes * resultElement.getIntOrFloatBitWidth() / 8);
      return;
    }
    for (int64_t lane = 0; lane < lanes; ++lane) {
      auto storeLane = [&](ThreadCode &inner) {
        inner.store(results[lane],
                    inner.element(outPointer, resultElement,
                                  inner.add(outRow, columns[lane])));
      };
      if (lane == 0)
        storeLane(code);
      else
        code.branch(present[lane], storeLane);
    }
  });
}

void MatmulEpilogue::emitTile(
    ThreadCode &code, ValueRange args, const State &state, Value shared,
    int64_t rows, int64_t cols, int64_t stride, int64_t threads,
    llvm::function_ref<Value(ThreadCode &, Value)> rowOf, Value col0,
    Value thread, int64_t together) const {
  constexpr int64_t lanes = kTileLanes;
  int64_t groups = cols / lanes;
  int64_t rowsAtOnce = threads / groups;
  if (!thread)
    thread = code.threadId();
  Value col = code.mul(code.rem(thread, groups), lanes);
  Value first = code.div(thread, groups);
  if (region)
    together = 1;
  while (together > 1 && rows % (rowsAtOnce * together))
    together /= 2;
  code.loop(
      first, code.constant(rows), rowsAtOnce * together, {},
      [&](ThreadCode &inner, Value row, ValueRange) {
        SmallVector<Value> places, vectors;
        for (int64_t i = 0; i < together; ++i) {
          Value offset =
              inner.add(inner.mul(inner.add(row, i * rowsAtOnce), stride), col);
          places.push_back(inner.element(shared, inner.f32(), offset));
          vectors.push_back(inner.load(VectorType::get({lanes}, inner.f32()),
                                       places.back(), 16));
        }
        for (int64_t i = 0; i < together; ++i)
          emit(inner, args, state, inner.unpack(vectors[i]),
               rowOf(inner, inner.add(row, i * rowsAtOnce)),
               inner.add(col0, col), quantized || amax ? places[i] : Value());
        return SmallVector<Value>();
      });
  if (!quantized)
    return;
  code.barrier();
  quantizeTile(code, args, state, shared, rows, cols, stride, threads, rowOf,
               col0);
}
