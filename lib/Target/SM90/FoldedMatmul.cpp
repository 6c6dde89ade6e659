//===-- FoldedMatmul.cpp - Exact products on the FP8 tensor cores ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FoldedMatmul.h"
#include "FoldKernel.h"
#include "ProductKernel.h"
#include "TensorMap.h"

#include "blockscale/Kernels/HostSide.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using namespace blockscale::nvidia;
using blockscale::kernels::IndexMath;

bool sm90::foldedSupports(const MatmulProblem &problem) {
  for (const MatmulSide *side : {&problem.lhs, &problem.rhs}) {
    if (!side->format)
      return false;
    std::optional<FoldFormat> format = FoldFormat::get(*side->format);
    if (!format || !foldSupports(*format, problem.depth))
      return false;
  }
  return true;
}

static FoldedSide fold(OpBuilder &builder, Location loc,
                       GPUKernelSet &kernelSet, const MatmulSide &side,
                       Value batch, Value rows, Value misfits, Value firstWord,
                       int64_t group) {
  FoldSide fold{*FoldFormat::get(*side.format),
                side.scalesType,
                side.buffers,
                batch,
                rows,
                side.cols()};
  return foldToE4M3(builder, loc, kernelSet, fold, misfits, firstWord, group);
}

Value sm90::generateFolded(OpBuilder &builder, Location loc,
                           GPUKernelSet &kernelSet,
                           const MatmulProblem &problem) {
  IndexMath math(builder, loc);
  FoldedPlan plan;
  int64_t k = problem.depth;
  Value batchB = problem.rhsShared ? math.constant(1) : problem.batch;
  Value tilesM = math.ceilDiv(problem.rows, FoldedPlan::rows());
  Value tilesN = math.ceilDiv(problem.cols, FoldedPlan::cols());
  Value firstB = math.add(math.mul(problem.batch, tilesM), 1);
  Value misfits =
      kernels::allocateFlat(builder, loc, builder.getI32Type(),
                            math.add(firstB, math.mul(batchB, tilesN)));
  kernelSet.fillZero(builder, loc, misfits);
  FoldedSide a =
      fold(builder, loc, kernelSet, problem.lhs, problem.batch, problem.rows,
           misfits, math.constant(1), FoldedPlan::rows());
  FoldedSide b = fold(builder, loc, kernelSet, problem.rhs, batchB,
                      problem.cols, misfits, firstB, FoldedPlan::cols());

  auto mapOf = [&](Value elements, Value rows, Value batch, int64_t boxRows) {
    return makeTensorMap(builder, loc, kernelSet.getModule(),
                         {elements,
                          MapElement::UInt8,
                          MapSwizzle::Bytes128,
                          {math.constant(k), rows, batch},
                          {kFoldedStageK, boxRows, 1}});
  };
  Value mapA =
      mapOf(a.elements, problem.rows, problem.batch, FoldedPlan::rows());
  Value mapB = mapOf(b.elements, problem.cols, batchB, FoldedPlan::cols());
  func::FuncOp kernel = foldedKernel(kernelSet, loc, plan,
                                     {k, problem.rhsShared}, problem.epilogue);
  Value tiles = math.mul(math.mul(tilesM, tilesN), problem.batch);
  launchInTurns(builder, loc, kernelSet, kernel, problem, tiles,
                {mapA, mapB, a.factors, b.factors, misfits});
  return misfits;
}
