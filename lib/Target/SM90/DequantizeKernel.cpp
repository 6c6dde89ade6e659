//===-- DequantizeKernel.cpp - Quantized activations to bf16 --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DequantizeKernel.h"

#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using blockscale::kernels::IndexMath;
using nvidia::ThreadCode;

/// A thread does some units of eight elements, a block apart: neighbouring
/// threads read and write neighbouring bytes.
static constexpr int64_t kThreads = 256, kUnit = 8, kUnits = 4,
                         kBlocksIfSet = 1024;

/// The four registers of WeightFormat::decodeUnit in the order of memory.
static SmallVector<Value>
inMemoryOrder(HopperCode &c, const WeightFormat &format, ArrayRef<Value> unit) {
  if (format.bits() == 4) // 0 4, 1 5, 2 6, 3 7
    return {c.pairLow(unit[0], unit[1]), c.pairLow(unit[2], unit[3]),
            c.pairHigh(unit[0], unit[1]), c.pairHigh(unit[2], unit[3])};
  // 0 2, 1 3, 4 6, 5 7
  return {c.pairLow(unit[0], unit[1]), c.pairHigh(unit[0], unit[1]),
          c.pairLow(unit[2], unit[3]), c.pairHigh(unit[2], unit[3])};
}

/// The scale of a unit, as its code.
static Value scaleOf(HopperCode &c, const WeightFormat &format,
                     RankedTensorType scalesType, int64_t cols, ValueRange args,
                     Value unit, Value present) {
  kernels::ScaleAddress address(scalesType);
  // Blocks are whole and rows follow each other without a gap: so do scales.
  if (!address.isTiled()) {
    Value block = c.div(unit, format.block() / kUnit);
    return c.loadUnsigned(c.at(args[1], c.wide(block)), 1, present);
  }
  int64_t perLine = cols / kUnit;
  Value line = c.div(unit, perLine), rows = c.narrow(args[2]);
  Value column = c.div(c.rem(unit, perLine), format.block() / kUnit);
  Value offset =
      address.offset(c.builder, c.loc, c.toIndex(c.div(line, rows)), args[2],
                     c.toIndex(c.rem(line, rows)), c.toIndex(column));
  return c.loadUnsigned(c.at(args[1], c.wideIndex(offset)), 1, present);
}

/// Arguments: elements, scales, rows of a batch, number of units, result, and
/// maybe a word: nothing happens if it is zero.
static void emitBody(HopperCode c, const WeightFormat &format,
                     RankedTensorType scalesType, int64_t cols,
                     ValueRange args) {
  Value count = c.narrow(args[3]);
  if (args.size() > 5)
    count = c.select(c.eq(c.load(c.i32(), args[5], 4), c.constant(0)),
                     c.constant(0), count);
  constexpr int64_t perBlock = kThreads * kUnits;
  c.loop(c.mul(c.blockId(), perBlock), count, c.mul(c.gridSize(), perBlock), {},
         [&](ThreadCode &inner, Value first, ValueRange) {
           HopperCode h(inner);
           int64_t bytes = kUnit * format.bits() / 8;
           SmallVector<Value> units, present, scales;
           SmallVector<SmallVector<Value>> words;
           for (int64_t i = 0; i < kUnits; ++i) {
             units.push_back(h.add(h.add(first, i * kThreads), h.threadId()));
             present.push_back(h.lt(units[i], count));
             words.push_back(
                 h.streamWords(h.at(args[0], h.mul(h.wide(units[i]), bytes)),
                               bytes / 4, present[i]));
             scales.push_back(scaleOf(h, format, scalesType, cols, args,
                                      units[i], present[i]));
           }
           for (int64_t i = 0; i < kUnits; ++i)
             h.branch(present[i], [&](ThreadCode &then) {
               HopperCode w(then);
               SmallVector<Value> values = format.decodeUnit(
                   w, words[i], 0, format.multipliers(w, scales[i], 1));
               w.storeWords(inMemoryOrder(w, format, values),
                            w.at(args[4], w.mul(w.wide(units[i]), kUnit * 2)));
             });
           return SmallVector<Value>();
         });
}

bool sm90::dequantizeSupports(const WeightFormat &format, int64_t cols) {
  return format.block() % kUnit == 0 && cols % format.block() == 0;
}

Value sm90::dequantizeToBF16(OpBuilder &builder, Location loc,
                             nvidia::GPUKernelSet &kernelSet,
                             const WeightFormat &format,
                             RankedTensorType scalesType, ValueRange buffers,
                             Value batch, Value rows, int64_t cols,
                             Value ifSet) {
  IndexMath math(builder, loc);
  Value lines = math.mul(batch, rows);
  Value result = kernels::allocateFlat(builder, loc, builder.getBF16Type(),
                                       math.mul(lines, cols));
  Value units = math.mul(lines, cols / kUnit);
  Type pointer = ThreadCode::globalPointer(builder.getContext());
  Type index = builder.getIndexType();
  SmallVector<Type> types{pointer, pointer, index, index, pointer};
  SmallVector<Value> arguments{buffers[0], buffers[1], rows, units, result};
  if (ifSet) {
    types.push_back(pointer);
    arguments.push_back(ifSet);
  }
  nvidia::LaunchShape shape;
  shape.threads = kThreads;
  func::FuncOp kernel = kernelSet.getOrCreateRaw(
      loc, "blockscale_dequantize_bf16",
      kernels::kernelKey("sm90.dequantize", format.key(), scalesType, cols,
                         bool(ifSet)),
      types, shape, [&](OpBuilder &inner, Location loc, ValueRange args) {
        emitBody(HopperCode(inner, loc), format, scalesType, cols, args);
      });
  Value blocks = math.ceilDiv(units, kThreads * kUnits);
  // Most likely there is nothing to do: few blocks find out.
  if (ifSet)
    blocks = math.min(blocks, math.constant(kBlocksIfSet));
  kernelSet.launchRaw(builder, loc, kernel,
                      {blocks, math.constant(1), math.constant(1)}, arguments);
  return result;
}
