//===-- ReorderKernel.cpp - Activations in the order of fragments ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ReorderKernel.h"

#include "blockscale/Kernels/HostSide.h"
#include "blockscale/Kernels/KernelBuilder.h"
#include "blockscale/Kernels/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using blockscale::kernels::IndexMath;
using nvidia::ThreadCode;

static constexpr int64_t kThreads = 256;

/// A thread moves 8 elements of each of the four runs of 64. Arguments: the
/// activations, rows of all batches, the result.
static void emitBody(HopperCode c, const WeightFormat &weights, int64_t cols,
                     ValueRange args) {
  c.releaseNext();
  int64_t blocks = llvm::divideCeil(cols, kReorderedK);
  Value item = c.add(c.mul(c.blockId(), kThreads), c.threadId());
  Value count = c.mul(c.narrow(args[1]), blocks * 8);
  c.branch(c.lt(item, count), [&](ThreadCode &inner) {
    HopperCode h(inner);
    Value eighth = h.band(item, 7); // Eight elements of a run.
    Value block = h.rem(h.shr(item, 3), blocks);
    Value line = h.wide(h.div(item, 8 * blocks));
    Value first = h.add(h.mul(block, kReorderedK), h.mul(eighth, 8));
    std::array<int, 8> order = weights.order();
    SmallVector<SmallVector<Value>> ordered;
    for (int64_t run = 0; run < 4; ++run) {
      Value k = h.add(first, run * 64);
      Value offset = h.add(h.mul(line, cols * 2), h.wide(h.mul(k, 2)));
      SmallVector<Value> words =
          h.streamWords(h.at(args[0], offset), 4, h.lt(k, h.constant(cols)));
      SmallVector<Value> &pairs = ordered.emplace_back();
      for (int i = 0; i < 8; i += 2) {
        int low = order[i], high = order[i + 1];
        // Both halves are low or both are high in every order there is.
        pairs.push_back(low % 2 ? h.pairHigh(words[low / 2], words[high / 2])
                                : h.pairLow(words[low / 2], words[high / 2]));
      }
    }
    Value out =
        h.add(h.mul(line, blocks * kReorderedK * 2),
              h.wide(h.add(h.mul(block, kReorderedK * 2), h.mul(eighth, 64))));
    for (int64_t pair = 0; pair < 4; ++pair)
      h.storeWords({ordered[0][pair], ordered[1][pair], ordered[2][pair],
                    ordered[3][pair]},
                   h.at(h.at(args[2], out), pair * 16));
  });
}

Value sm90::reorderActivations(OpBuilder &builder, Location loc,
                               nvidia::GPUKernelSet &kernelSet,
                               const WeightFormat &weights, Value activations,
                               Value batch, Value rows, int64_t cols) {
  IndexMath math(builder, loc);
  int64_t blocks = llvm::divideCeil(cols, kReorderedK);
  Value lines = math.mul(batch, rows);
  Value result = kernels::allocateFlat(builder, loc, builder.getBF16Type(),
                                       math.mul(lines, blocks * kReorderedK));
  Type pointer = ThreadCode::globalPointer(builder.getContext());
  nvidia::LaunchShape shape;
  shape.threads = kThreads;
  std::string order;
  for (int index : weights.order())
    order += std::to_string(index);
  func::FuncOp kernel = kernelSet.getOrCreateRaw(
      loc, "blockscale_reorder",
      kernels::kernelKey("sm90.reorder", order, cols),
      {pointer, builder.getIndexType(), pointer}, shape,
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        emitBody(HopperCode(inner, loc), weights, cols, args);
      });
  kernelSet.launchRaw(builder, loc, kernel,
                      {math.ceilDiv(math.mul(lines, blocks * 8), kThreads),
                       math.constant(1), math.constant(1)},
                      {activations, lines, result});
  return result;
}
