//===-- PackedMatmul.cpp - Packed weights times bf16 on Hopper ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FoldedMatmul.h"
#include "PackedTiles.h"
#include "ReorderKernel.h"
#include "TensorMap.h"
#include "UnpackedMatmul.h"
#include "blockscale/Kernels/KernelBuilder.h"
#include "blockscale/Target/SM90/Schedules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using namespace blockscale::nvidia;
using blockscale::kernels::IndexMath;

namespace {

struct PackedMatmul : MatmulSchedule {
  bool isSupported(const MatmulProblem &problem,
                   const Chip &chip) const override;
  SmallVector<MatmulVariant> decide(const MatmulProblem &problem,
                                    const Chip &chip) const override {
    return packedVariants(problem, chip);
  }
  SmallVector<StringRef>
  otherOperands(const MatmulProblem &problem) const override {
    SmallVector<StringRef> others;
    if (unpackedSupports(problem))
      others.push_back(kUnpackedOperands);
    if (foldedSupports(problem))
      others.push_back(kFoldedOperands);
    return others;
  }
  bool accepts(const MatmulProblem &problem, const Chip &chip,
               const MatmulTile &tile, std::string &why) const override {
    return packedAccepts(problem, chip, tile, why);
  }
  std::string describe(const MatmulProblem &problem, const Chip &chip,
                       ArrayRef<MatmulVariant> variants) const override;
  void generate(OpBuilder &builder, Location loc, GPUKernelSet &kernelSet,
                const MatmulProblem &problem,
                const MatmulTile &tile) const override;

private:
  void generateStream(OpBuilder &builder, Location loc, GPUKernelSet &kernelSet,
                      const MatmulProblem &problem,
                      const MatmulTile &tile) const;
  /// `misfits`: the words that say which tiles to do, or null: all.
  void generatePrefill(OpBuilder &builder, Location loc,
                       GPUKernelSet &kernelSet, const MatmulProblem &problem,
                       const PrefillPlan &plan, Value misfits = {}) const;
};

} // namespace

bool PackedMatmul::isSupported(const MatmulProblem &problem,
                               const Chip &chip) const {
  const MatmulSide &lhs = problem.lhs, &rhs = problem.rhs;
  if (!chip.wgmma || !rhs.format)
    return false;
  std::optional<WeightFormat> weights = WeightFormat::get(*rhs.format);
  if (!weights ||
      !prefillSupports(*weights, problem.depth, rhs.hasTiledScales()))
    return false;
  return unpackSupports(lhs, problem.depth);
}

std::string PackedMatmul::describe(const MatmulProblem &problem,
                                   const Chip &chip,
                                   ArrayRef<MatmulVariant> variants) const {
  bool folds = false, unpacks = false, streams = false, decodes = false;
  for (const MatmulVariant &variant : variants) {
    if (isFolded(variant.tile))
      folds = true;
    else if (isUnpacked(variant.tile))
      unpacks = true;
    else if (isDecoded(problem, chip, variant.tile))
      decodes = true;
    else
      streams = true;
  }
  std::string text;
  if (folds)
    text = "exact via e4m3 wgmma.m64k32, both sides folded";
  if (!unpacks && !streams && !decodes)
    return text + ", or where scales spread too far via bf16 wgmma.m64k16";
  text += text.empty() ? "exact via bf16 " : ", or via bf16 ";
  bool wide = unpacks || streams, packed = streams || decodes;
  text += decodes ? "mma.m16n8k16" : "";
  text += decodes && wide ? " or " : "";
  text += wide ? "wgmma.m64k16" : "";
  text += packed ? ", rhs unpacked in registers" : ", rhs unpacked before";
  if (packed && unpacks)
    text += " or, for many rows, before";
  if (problem.lhs.format)
    text += ", lhs unpacked before";
  return text;
}

void PackedMatmul::generate(OpBuilder &builder, Location loc,
                            GPUKernelSet &kernelSet,
                            const MatmulProblem &problem,
                            const MatmulTile &tile) const {
  const Chip &chip = kernelSet.getChip();
  if (isFolded(tile)) {
    Value misfits = generateFolded(builder, loc, kernelSet, problem);
    PrefillPlan plan = misfitsPlan(problem, chip);
    generatePrefill(builder, loc, kernelSet, problem, plan, misfits);
    return;
  }
  if (isUnpacked(tile))
    generateUnpacked(builder, loc, kernelSet, problem, unpackedPlanOf(tile));
  else if (isStreamed(tile))
    generateStream(builder, loc, kernelSet, problem, tile);
  else
    generatePrefill(builder, loc, kernelSet, problem, prefillPlanOf(tile));
}

/// The tensor maps of A and of B's bytes.
static SmallVector<Value> tensorMaps(OpBuilder &builder, Location loc,
                                     GPUKernelSet &kernelSet,
                                     const MatmulProblem &problem, Value tokens,
                                     int64_t depth, int64_t tokenRows,
                                     int64_t weightRows, int64_t weightBytes,
                                     MapSwizzle weightSwizzle) {
  IndexMath math(builder, loc);
  int64_t rowBytes =
      problem.depth * WeightFormat::get(*problem.rhs.format)->bits() / 8;
  Value weightBatches = problem.rhsShared ? math.constant(1) : problem.batch;
  return {makeTensorMap(builder, loc, kernelSet.getModule(),
                        {tokens,
                         MapElement::BF16,
                         MapSwizzle::Bytes128,
                         {math.constant(depth), problem.rows, problem.batch},
                         {64, tokenRows, 1}}),
          makeTensorMap(builder, loc, kernelSet.getModule(),
                        {problem.rhs.buffers[0],
                         MapElement::UInt8,
                         weightSwizzle,
                         {math.constant(rowBytes), problem.cols, weightBatches},
                         {weightBytes, weightRows, 1}})};
}

void PackedMatmul::generateStream(OpBuilder &builder, Location loc,
                                  GPUKernelSet &kernelSet,
                                  const MatmulProblem &problem,
                                  const MatmulTile &tile) const {
  IndexMath math(builder, loc);
  const Chip &chip = kernelSet.getChip();
  StreamProblem streamed = streamProblem(problem);
  Value activations = unpackSide(builder, loc, kernelSet, problem.lhs,
                                 problem.batch, problem.rows, problem.depth);
  func::FuncOp kernel;
  int64_t depth = problem.depth, split = 1;
  if (isDecoded(problem, chip, tile)) {
    kernel = decodeKernel(kernelSet, loc, *decodePlan(problem, chip, tile.m),
                          decodeProblem(problem), problem.epilogue);
  } else {
    BatchPlan plan = batchPlanOf(tile);
    split = plan.split;
    activations =
        reorderActivations(builder, loc, kernelSet, streamed.format,
                           activations, problem.batch, problem.rows, depth);
    depth = llvm::alignTo(depth, kReorderedK);
    // The kernel that reorders does not overlap: it started after them.
    streamed.weightsReady = true;
    kernel = batchKernel(kernelSet, loc, plan, streamed, problem.epilogue);
  }
  SmallVector<Value> arguments =
      tensorMaps(builder, loc, kernelSet, problem, activations, depth, tile.m,
                 tile.n, 128, MapSwizzle::Bytes128);
  llvm::append_range(arguments, ValueRange{problem.rhs.buffers[1], problem.rows,
                                           problem.cols});
  llvm::append_range(arguments, problem.epilogue.arguments());
  kernelSet.launchRaw(builder, loc, kernel,
                      {math.mul(math.ceilDiv(problem.cols, tile.n), split),
                       math.ceilDiv(problem.rows, tile.m), problem.batch},
                      arguments);
}

void PackedMatmul::generatePrefill(OpBuilder &builder, Location loc,
                                   GPUKernelSet &kernelSet,
                                   const MatmulProblem &problem,
                                   const PrefillPlan &plan,
                                   Value misfits) const {
  IndexMath math(builder, loc);
  PrefillProblem prefill = prefillProblem(problem, plan, kernelSet.getChip());
  prefill.onlyMisfits = bool(misfits);
  func::FuncOp kernel =
      prefillKernel(kernelSet, loc, plan, prefill, problem.epilogue);
  SmallVector<Value> arguments =
      tensorMaps(builder, loc, kernelSet, problem,
                 unpackSide(builder, loc, kernelSet, problem.lhs, problem.batch,
                            problem.rows, problem.depth, misfits),
                 problem.depth, plan.tokens, PrefillPlan::rows(),
                 kStageK * prefill.format.bits() / 8, MapSwizzle::None);
  Value tiles = math.mul(math.mul(math.ceilDiv(problem.rows, plan.tokens),
                                  math.ceilDiv(problem.cols, plan.rows())),
                         problem.batch);
  // Tiles that share K need their blocks at once, others take turns.
  Value blocks =
      plan.split > 1
          ? math.mul(tiles, plan.split)
          : math.min(tiles, math.constant(kernelSet.getChip().multiprocessors));
  llvm::append_range(arguments, ValueRange{problem.rhs.buffers[1], problem.rows,
                                           problem.cols, problem.batch});
  if (misfits)
    arguments.push_back(misfits);
  llvm::append_range(arguments, problem.epilogue.arguments());
  kernelSet.launchRaw(builder, loc, kernel,
                      {blocks, math.constant(1), math.constant(1)}, arguments);
}

std::unique_ptr<MatmulSchedule> sm90::createPackedMatmul() {
  return std::make_unique<PackedMatmul>();
}
