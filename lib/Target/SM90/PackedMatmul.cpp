//===-- PackedMatmul.cpp - Packed weights times bf16 on Hopper ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DecodeKernel.h"
#include "DequantizeKernel.h"
#include "PrefillKernel.h"
#include "TensorMap.h"
#include "blockscale/Kernels/KernelBuilder.h"
#include "blockscale/Target/SM90/Schedules.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using namespace blockscale::nvidia;
using blockscale::kernels::IndexMath;

/// Columns of the result assumed where only the run time knows them.
static constexpr int64_t kUnknownCols = 4096;
/// Rows of A up to which the weights are streamed, and the numbers of rows
/// that such kernels are made for.
static constexpr int64_t kDecodeRows = 16;
static constexpr int64_t kDecodeTokens[] = {1, 4, 8, 16};
/// Numbers of rows of A that a tile of the other kernels has.
static constexpr int64_t kPrefillTokens[] = {32, 64, 128, 256};
/// Of these, the ones for a number of rows known at run time only.
static constexpr int64_t kPrefillTokensAtRunTime[] = {64, 256};
/// Shared memory and stages that hide the latency of memory.
static constexpr int64_t kRingBytes = 168 * 1024, kMaxStages = 8;
/// Blocks of a cluster that every chip runs; clusters of more than two leave
/// some multiprocessors of a group without work, so fewer of them run at once.
static constexpr int64_t kMaxSplit = 8;
static constexpr double kLargeClusterShare = 0.85;

namespace {

struct PackedMatmul : MatmulSchedule {
  bool isSupported(const MatmulProblem &problem,
                   const Chip &chip) const override;
  SmallVector<MatmulVariant> decide(const MatmulProblem &problem,
                                    const Chip &chip) const override;
  bool accepts(const MatmulProblem &problem, const Chip &chip,
               const MatmulTile &tile, std::string &why) const override;
  std::string describe(const MatmulProblem &problem) const override;
  void generate(OpBuilder &builder, Location loc, GPUKernelSet &kernelSet,
                const MatmulProblem &problem,
                const MatmulTile &tile) const override;
};

} // namespace

static DecodeProblem decodeProblem(const MatmulProblem &problem) {
  return {*WeightFormat::get(*problem.rhs.format), problem.depth,
          problem.rhs.scalesType, problem.rhsShared};
}

static std::optional<DecodePlan> decodePlan(const MatmulProblem &problem,
                                            const Chip &chip, int64_t tokens) {
  return DecodePlan::choose(tokens, problem.staticCols().value_or(kUnknownCols),
                            chip, decodeProblem(problem));
}

static PrefillProblem prefillProblem(const MatmulProblem &problem) {
  return {*WeightFormat::get(*problem.rhs.format), problem.depth,
          problem.rhs.scalesType, problem.rhsShared};
}

/// `oneTile`: one tile of tokens holds all rows, so that blocks may be few.
static PrefillPlan prefillPlan(const MatmulProblem &problem, const Chip &chip,
                               int64_t tokens, bool oneTile) {
  PrefillPlan plan;
  plan.tokens = tokens;
  PrefillProblem prefill = prefillProblem(problem);
  int64_t tiles = llvm::divideCeil(problem.staticCols().value_or(kUnknownCols),
                                   plan.rows());
  if (oneTile)
    while (plan.split < kMaxSplit &&
           2 * plan.split * tiles <=
               chip.multiprocessors *
                   (plan.split > 1 ? kLargeClusterShare : 1.0) &&
           prefillSplit(problem.depth, 2 * plan.split) == 2 * plan.split)
      plan.split *= 2;
  plan.stages = 2;
  while (plan.stages < kMaxStages) {
    PrefillPlan more = plan;
    ++more.stages;
    if (prefillSharedBytes(more, prefill) > kRingBytes)
      break;
    plan = more;
  }
  return plan;
}

static MatmulTile tileOf(const DecodePlan &plan, const DecodeProblem &problem) {
  return {plan.tokens, plan.rows(), 4 * problem.format.run(), plan.depth};
}
/// `k` is what a cluster advances by.
static MatmulTile tileOf(const PrefillPlan &plan) {
  return {plan.tokens, plan.rows(), kStageK * plan.split, plan.stages};
}
static PrefillPlan planOf(const MatmulTile &tile) {
  PrefillPlan plan;
  plan.tokens = tile.m;
  plan.split = tile.k / kStageK;
  plan.stages = tile.stages;
  return plan;
}
/// Decode tiles are narrower.
static bool isPrefill(const MatmulTile &tile) {
  return tile.n == PrefillPlan::rows();
}

bool PackedMatmul::isSupported(const MatmulProblem &problem,
                               const Chip &chip) const {
  const MatmulSide &lhs = problem.lhs, &rhs = problem.rhs;
  if (!chip.wgmma || !rhs.format)
    return false;
  std::optional<WeightFormat> weights = WeightFormat::get(*rhs.format);
  if (!weights || !decodeSupports(*weights, problem.depth) ||
      !prefillSupports(*weights, problem.depth, rhs.hasTiledScales()))
    return false;
  if (!lhs.format)
    return lhs.type.getElementType().isBF16();
  std::optional<WeightFormat> activations =
      WeightFormat::get(*lhs.format, /*trueValues=*/true);
  return activations && decodeSupports(*activations, problem.depth) &&
         problem.depth / activations->block() % activations->scalesPerRun() ==
             0 &&
         decodePlan(problem, chip, 1);
}

SmallVector<MatmulVariant> PackedMatmul::decide(const MatmulProblem &problem,
                                                const Chip &chip) const {
  SmallVector<MatmulVariant> variants;
  std::optional<int64_t> rows = problem.staticRows();
  for (int64_t tokens : kDecodeTokens) {
    if (rows && (*rows > kDecodeRows || *rows > tokens))
      continue;
    if (std::optional<DecodePlan> plan = decodePlan(problem, chip, tokens))
      variants.push_back({tileOf(*plan, decodeProblem(problem)), tokens});
    if (rows && !variants.empty())
      return {{variants.front().tile, std::nullopt}};
  }
  constexpr int64_t largest = kPrefillTokens[std::size(kPrefillTokens) - 1];
  if (rows) {
    int64_t tokens = *llvm::find_if(kPrefillTokens, [&](int64_t tokens) {
      return tokens >= std::min(*rows, largest);
    });
    PrefillPlan plan = prefillPlan(problem, chip, tokens, *rows <= tokens);
    return {{tileOf(plan), std::nullopt}};
  }
  for (int64_t tokens : kPrefillTokensAtRunTime)
    variants.push_back(
        {tileOf(prefillPlan(problem, chip, tokens, /*oneTile=*/true)), tokens});
  PrefillPlan many = prefillPlan(problem, chip, largest, /*oneTile=*/false);
  if (variants.back().tile.text() == tileOf(many).text())
    variants.back().maxRows = std::nullopt;
  else
    variants.push_back({tileOf(many), std::nullopt});
  return variants;
}

bool PackedMatmul::accepts(const MatmulProblem &problem, const Chip &chip,
                           const MatmulTile &tile, std::string &why) const {
  if (!isPrefill(tile)) {
    std::optional<DecodePlan> plan = decodePlan(problem, chip, tile.m);
    if (plan && llvm::is_contained(kDecodeTokens, tile.m)) {
      MatmulTile chosen = tileOf(*plan, decodeProblem(problem));
      if (chosen.text() == tile.text())
        return true;
      why = "expects " + chosen.text() + " for " + std::to_string(tile.m) +
            " rows";
      return false;
    }
    why = "expects m of 1, 4, 8 or 16, or n of " +
          std::to_string(PrefillPlan::rows());
    return false;
  }
  PrefillPlan plan = planOf(tile);
  if (tile.m % 32 || tile.m < 32 || tile.m > 256 || tile.k < kStageK ||
      tile.k % kStageK || plan.split > kMaxSplit || tile.stages < 2 ||
      prefillSplit(problem.depth, plan.split) != plan.split)
    why = "expects m a multiple of 32 up to 256, k of " +
          std::to_string(kStageK) + " times at most " +
          std::to_string(kMaxSplit) + " blocks that share K " +
          "and at least 2 stages with n of " +
          std::to_string(PrefillPlan::rows());
  else if (int64_t bytes = prefillSharedBytes(plan, prefillProblem(problem));
           bytes > chip.sharedBytes)
    why = "expects at most " + std::to_string(chip.sharedBytes) +
          " bytes of shared memory, but it needs " + std::to_string(bytes);
  return why.empty();
}

std::string PackedMatmul::describe(const MatmulProblem &problem) const {
  std::optional<int64_t> rows = problem.staticRows();
  std::string unit = !rows                  ? "mma.m16n8k16 or wgmma.m64k16"
                     : *rows <= kDecodeRows ? "mma.m16n8k16"
                                            : "wgmma.m64k16";
  std::string text = "exact via bf16 " + unit + ", rhs unpacked in registers";
  if (problem.lhs.format)
    text += ", lhs unpacked before";
  return text;
}

void PackedMatmul::generate(OpBuilder &builder, Location loc,
                            GPUKernelSet &kernelSet,
                            const MatmulProblem &problem,
                            const MatmulTile &tile) const {
  IndexMath math(builder, loc);
  const Chip &chip = kernelSet.getChip();
  int64_t k = problem.depth;
  Value tokens = problem.lhs.buffers[0];
  if (problem.lhs.format)
    tokens = dequantizeToBF16(
        builder, loc, kernelSet,
        *WeightFormat::get(*problem.lhs.format, /*trueValues=*/true),
        problem.lhs.scalesType, problem.lhs.buffers, problem.batch,
        problem.rows, k);
  Value weights = problem.rhs.buffers[0], scales = problem.rhs.buffers[1];
  SmallVector<Value> epilogue = problem.epilogue.arguments();

  if (!isPrefill(tile)) {
    DecodePlan plan = *decodePlan(problem, chip, tile.m);
    func::FuncOp kernel = decodeKernel(
        kernelSet, loc, plan, decodeProblem(problem), problem.epilogue);
    SmallVector<Value> arguments{tokens, weights, scales, problem.rows,
                                 problem.cols};
    llvm::append_range(arguments, epilogue);
    kernelSet.launchRaw(builder, loc, kernel,
                        {math.constant(plan.cluster * plan.blocks),
                         math.ceilDiv(problem.rows, plan.tokens),
                         problem.batch},
                        arguments);
    return;
  }

  PrefillPlan plan = planOf(tile);
  PrefillProblem prefill = prefillProblem(problem);
  func::FuncOp kernel =
      prefillKernel(kernelSet, loc, plan, prefill, problem.epilogue);
  Value tokensMap =
      makeTensorMap(builder, loc, kernelSet.getModule(),
                    {tokens,
                     MapElement::BF16,
                     MapSwizzle::Bytes128,
                     {math.constant(k), problem.rows, problem.batch},
                     {kStageK, plan.tokens, 1}});
  int64_t rowBytes = k * prefill.format.bits() / 8;
  Value weightBatches = problem.rhsShared ? math.constant(1) : problem.batch;
  Value weightsMap = makeTensorMap(
      builder, loc, kernelSet.getModule(),
      {weights,
       MapElement::UInt8,
       MapSwizzle::None,
       {math.constant(rowBytes), problem.cols, weightBatches},
       {kStageK * prefill.format.bits() / 8, PrefillPlan::rows(), 1}});
  Value tiles = math.mul(math.mul(math.ceilDiv(problem.rows, plan.tokens),
                                  math.ceilDiv(problem.cols, plan.rows())),
                         problem.batch);
  // Tiles that share K need their blocks at once, others take turns.
  Value blocks = plan.split > 1
                     ? math.mul(tiles, plan.split)
                     : math.min(tiles, math.constant(chip.multiprocessors));
  SmallVector<Value> arguments{tokensMap,    weightsMap,   scales,
                               problem.rows, problem.cols, problem.batch};
  llvm::append_range(arguments, epilogue);
  kernelSet.launchRaw(builder, loc, kernel,
                      {blocks, math.constant(1), math.constant(1)}, arguments);
}

std::unique_ptr<MatmulSchedule> sm90::createPackedMatmul() {
  return std::make_unique<PackedMatmul>();
}
