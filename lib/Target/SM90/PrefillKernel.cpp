//===-- PrefillKernel.cpp - Many tokens times packed weights --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PrefillBody.h"
#include "ProductKernel.h"

#include "blockscale/Kernels/Patterns.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using nvidia::MatmulEpilogue;
using nvidia::ThreadCode;

void PrefillBody::emit() {
  shared = code.sharedMemory();
  thread = code.threadId();
  rowsM = code.narrow(args[3]);
  rowsN = code.narrow(args[4]);
  batches = code.narrow(args[5]);
  rank = plan.split > 1 ? code.clusterRank() : code.constant(0);
  firstStep = code.mul(rank, stepsPerBlock());
  endStep =
      code.min(code.add(firstStep, stepsPerBlock()), code.constant(steps()));
  // One thread announces bytes, 32 lanes their copies of scales.
  ring().begin(code, thread, /*fills=*/33, /*uses=*/kConsumers);
  // Where its part of K is known at run time only, or scales come for few
  // steps.
  bool tracksMore = plan.split > 1 || layout.scaleRow < 16;
  splitRoles(
      code, thread, kConsumers,
      tracksMore ? kManyCopyRegisters : kCopyRegisters,
      [&](HopperCode &c) { consume(c); },
      [&](HopperCode &c) {
        Value warp = c.shr(c.sub(thread, c.constant(kConsumers)), 5);
        c.branch(c.eq(thread, c.constant(kConsumers)),
                 [&](ThreadCode &single) { copyBoxes(single); });
        c.branch(c.eq(warp, c.constant(1)),
                 [&](ThreadCode &copies) { copyScales(copies); });
      });
}

bool sm90::prefillSupports(const WeightFormat &format, int64_t k,
                           bool tiledScales) {
  int64_t columns = k / format.block();
  return k % format.block() == 0 && format.block() >= 16 &&
         (k * format.bits() / 8) % 16 == 0 && k % 8 == 0 &&
         (tiledScales || columns % 4 == 0);
}

int64_t sm90::prefillSplit(int64_t k, int64_t wanted) {
  int64_t steps = llvm::divideCeil(k, kStageK);
  while (wanted > 1 &&
         (wanted - 1) * int64_t(llvm::divideCeil(steps, wanted)) >= steps)
    --wanted;
  return wanted;
}

int64_t sm90::prefillSharedBytes(const PrefillPlan &plan,
                                 const PrefillProblem &problem) {
  return PrefillLayout(plan, problem).sharedBytes;
}

func::FuncOp sm90::prefillKernel(nvidia::GPUKernelSet &kernelSet, Location loc,
                                 const PrefillPlan &plan,
                                 const PrefillProblem &problem,
                                 const MatmulEpilogue &epilogue) {
  MLIRContext *context = loc.getContext();
  ProductKernel kernel{
      "blockscale_prefill",
      kernels::kernelKey("sm90.prefill", plan.tokens, plan.stages, plan.group,
                         plan.split, problem.format.key(), problem.k,
                         problem.scalesType, problem.sharedWeights,
                         problem.onlyMisfits, epilogue.key()),
      productTypes(context, 1),
      soleBlock(PrefillPlan::threads(), prefillSharedBytes(plan, problem))};
  if (problem.onlyMisfits)
    kernel.types.push_back(ThreadCode::globalPointer(context));
  kernel.shape.cluster = static_cast<int32_t>(plan.split);
  return kernel.make<PrefillBody>(kernelSet, loc, plan, problem, epilogue);
}
