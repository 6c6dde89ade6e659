//===-- UnpackedMatmul.cpp - Operands made bf16 before --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "UnpackedMatmul.h"
#include "DequantizeKernel.h"
#include "ProductKernel.h"
#include "TensorMap.h"

#include "blockscale/Kernels/KernelBuilder.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using namespace blockscale::nvidia;
using blockscale::kernels::IndexMath;

bool sm90::unpackSupports(const MatmulSide &side, int64_t k) {
  if (!side.format)
    return side.type.getElementType().isBF16();
  std::optional<WeightFormat> format =
      WeightFormat::get(*side.format, /*trueValues=*/true);
  return format && dequantizeSupports(*format, k);
}

bool sm90::unpackedSupports(const MatmulProblem &problem) {
  return unpackSupports(problem.lhs, problem.depth) &&
         unpackSupports(problem.rhs, problem.depth);
}

Value sm90::unpackSide(OpBuilder &builder, Location loc,
                       GPUKernelSet &kernelSet, const MatmulSide &side,
                       Value batch, Value rows, int64_t k, Value ifSet) {
  if (!side.format)
    return side.buffers[0];
  return dequantizeToBF16(builder, loc, kernelSet,
                          *WeightFormat::get(*side.format, /*trueValues=*/true),
                          side.scalesType, side.buffers, batch, rows, k, ifSet);
}

void sm90::generateUnpacked(OpBuilder &builder, Location loc,
                            GPUKernelSet &kernelSet,
                            const MatmulProblem &problem,
                            const UnpackedPlan &plan) {
  IndexMath math(builder, loc);
  int64_t k = problem.depth;
  Value batchB = problem.rhsShared ? math.constant(1) : problem.batch;
  auto mapOf = [&](const MatmulSide &side, Value batch, Value rows,
                   int64_t boxRows) {
    Value elements = unpackSide(builder, loc, kernelSet, side, batch, rows, k);
    return makeTensorMap(builder, loc, kernelSet.getModule(),
                         {elements,
                          MapElement::BF16,
                          MapSwizzle::Bytes128,
                          {math.constant(k), rows, batch},
                          {kUnpackedStageK, boxRows, 1}});
  };
  Value mapA =
      mapOf(problem.lhs, problem.batch, problem.rows, UnpackedPlan::rows());
  Value mapB = mapOf(problem.rhs, batchB, problem.cols, plan.cols);
  func::FuncOp kernel = unpackedKernel(
      kernelSet, loc, plan, {k, problem.rhsShared}, problem.epilogue);
  Value tiles =
      math.mul(math.mul(math.ceilDiv(problem.rows, UnpackedPlan::rows()),
                        math.ceilDiv(problem.cols, plan.cols)),
               problem.batch);
  launchInTurns(builder, loc, kernelSet, kernel, problem, tiles, {mapA, mapB});
}
