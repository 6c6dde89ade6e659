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

static constexpr int64_t kThreads = 256, kBlocksIfSet = 1024;

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

/// A thread does a run, and others a grid further. Arguments: elements, scales,
/// rows of a batch, number of runs, result, and maybe a word: nothing happens
/// if it is zero.
static void emitBody(HopperCode c, const WeightFormat &format,
                     RankedTensorType scalesType, int64_t cols,
                     ValueRange args) {
  Value first = c.add(c.mul(c.blockId(), kThreads), c.threadId());
  Value count = c.narrow(args[3]);
  if (args.size() > 5)
    count = c.select(c.eq(c.load(c.i32(), args[5], 4), c.constant(0)),
                     c.constant(0), count);
  Value step = c.mul(c.gridSize(), kThreads);
  c.loop(first, count, step, {},
         [&](ThreadCode &inner, Value item, ValueRange) {
           HopperCode h(inner);
           int64_t runs = cols / format.run();
           Value line = h.div(item, runs);
           Value k = h.mul(h.rem(item, runs), format.run());
           Value rows = h.narrow(args[2]);
           Value offset =
               kernels::ScaleAddress(scalesType)
                   .offset(h.builder, h.loc, h.toIndex(h.div(line, rows)),
                           args[2], h.toIndex(h.rem(line, rows)),
                           h.toIndex(h.div(k, format.block())));
           Value yes = arith::ConstantOp::create(h.builder, h.loc,
                                                 h.builder.getBoolAttr(true));
           SmallVector<Value> words =
               h.streamWords(h.at(args[0], h.mul(h.wide(item), 16)), 4, yes);
           Value scales = h.loadUnsigned(h.at(args[1], h.wideIndex(offset)),
                                         format.scalesPerRun(), yes);
           WeightFormat::Multipliers multipliers =
               format.multipliers(h, scales, format.scalesPerRun());
           Value out = h.at(args[4], h.mul(h.wide(item), format.run() * 2));
           for (int64_t unit = 0; unit < format.run() / 8; ++unit)
             h.storeWords(
                 inMemoryOrder(h, format,
                               format.decodeUnit(h, words, unit, multipliers)),
                 h.at(out, unit * 16));
           return SmallVector<Value>();
         });
}

bool sm90::dequantizeSupports(const WeightFormat &format, int64_t cols) {
  return cols % format.run() == 0 && cols % format.block() == 0 &&
         cols / format.block() % format.scalesPerRun() == 0;
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
  Value runs = math.mul(lines, cols / format.run());
  Type pointer = ThreadCode::globalPointer(builder.getContext());
  Type index = builder.getIndexType();
  SmallVector<Type> types{pointer, pointer, index, index, pointer};
  SmallVector<Value> arguments{buffers[0], buffers[1], rows, runs, result};
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
  Value blocks = math.ceilDiv(runs, kThreads);
  // Most likely there is nothing to do: few blocks find out.
  if (ifSet)
    blocks = math.min(blocks, math.constant(kBlocksIfSet));
  kernelSet.launchRaw(builder, loc, kernel,
                      {blocks, math.constant(1), math.constant(1)}, arguments);
  return result;
}
