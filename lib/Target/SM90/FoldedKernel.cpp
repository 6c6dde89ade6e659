//===-- FoldedKernel.cpp - Products of folded operands --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FoldedBody.h"
#include "ProductKernel.h"

#include "blockscale/Kernels/Patterns.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::MatmulEpilogue;
using nvidia::ThreadCode;

void FoldedBody::emit() {
  shared = code.sharedMemory();
  thread = code.threadId();
  rowsM = code.narrow(args[5]);
  rowsN = code.narrow(args[6]);
  batches = code.narrow(args[7]);
  ring().begin(code, thread, /*fills=*/1, /*uses=*/kConsumers);
  splitCopier(
      code, thread, kConsumers, [&](HopperCode &c) { consume(c); },
      [&](HopperCode &c) { copyTiles(c); });
}

void FoldedBody::forTiles(HopperCode &outer, ValueRange initial,
                          TileOrder::Body body) const {
  TileOrder order{FoldedPlan::rows(), FoldedPlan::cols(), plan.group};
  Misfits misfits(args[4], rowsM, rowsN, batches, problem.sharedB);
  Value any = misfits.any(outer);
  Value no = outer.zero(outer.builder.getI1Type());
  order.forTiles(
      outer, rowsM, rowsN, batches, initial,
      [&](HopperCode &c, Value row, Value col, Value batch,
          ValueRange carried) {
        Value left = c.choose(any, no, [&](ThreadCode &some) {
          HopperCode h(some);
          return SmallVector<Value>{misfits.ofTile(h, row, col, batch)};
        })[0];
        return c.choose(c.eq(left, no), carried, [&](ThreadCode &inner) {
          HopperCode h(inner);
          return body(h, row, col, batch, carried);
        });
      });
}

/// One thread asks TMA for the tiles.
void FoldedBody::copyTiles(HopperCode outer) const {
  // The stages are empty at first: the first wait must not block.
  forTiles(outer, {outer.constant(0), outer.constant(1)},
           [&](HopperCode &tileCode, Value row0, Value col0, Value batch,
               ValueRange carried) {
             Value batchB = problem.sharedB ? tileCode.constant(0) : batch;
             return layout.tiles.copy(
                 tileCode, ring(),
                 {args[0], args[1], row0, col0, batch, batchB}, steps(),
                 kFoldedStageK, carried);
           });
}

int64_t sm90::foldedSharedBytes(const FoldedPlan &plan) {
  return FoldedLayout(plan).sharedBytes;
}

func::FuncOp sm90::foldedKernel(nvidia::GPUKernelSet &kernelSet, Location loc,
                                const FoldedPlan &plan,
                                const OperandProblem &problem,
                                const MatmulEpilogue &epilogue) {
  ProductKernel kernel{
      "blockscale_folded",
      kernels::kernelKey("sm90.folded", plan.stages, plan.group, problem.k,
                         problem.sharedB, epilogue.key()),
      productTypes(loc.getContext(), 3),
      soleBlock(FoldedPlan::threads(), foldedSharedBytes(plan))};
  return kernel.make<FoldedBody>(kernelSet, loc, plan, problem, epilogue);
}
