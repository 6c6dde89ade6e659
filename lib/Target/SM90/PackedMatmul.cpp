//===-- PackedMatmul.cpp - Packed weights times bf16 on Hopper ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BatchKernel.h"
#include "DecodeKernel.h"
#include "DequantizeKernel.h"
#include "FoldedMatmul.h"
#include "PrefillKernel.h"
#include "ReorderKernel.h"
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
/// Numbers of rows of A that the kernels which stream the weights are made for,
/// and the largest that mma.sync multiplies.
static constexpr int64_t kStreamTokens[] = {8, 16, 32, 64};
static constexpr int64_t kDecodeTokens = 16;
/// Numbers of rows of A that a tile of the other kernel has; the last one if
/// only the run time knows the rows.
static constexpr int64_t kPrefillTokens[] = {128, 256};
/// Shared memory and stages that hide the latency of memory.
static constexpr int64_t kRingBytes = 170 * 1024, kMaxStages = 8;
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
  SmallVector<StringRef>
  otherOperands(const MatmulProblem &problem) const override {
    if (foldedSupports(problem))
      return {kFoldedOperands};
    return {};
  }
  bool accepts(const MatmulProblem &problem, const Chip &chip,
               const MatmulTile &tile, std::string &why) const override;
  std::string describe(const MatmulProblem &problem,
                       ArrayRef<MatmulVariant> variants) const override;
  void generate(OpBuilder &builder, Location loc, GPUKernelSet &kernelSet,
                const MatmulProblem &problem,
                const MatmulTile &tile) const override;

private:
  void generateStream(OpBuilder &builder, Location loc, GPUKernelSet &kernelSet,
                      const MatmulProblem &problem, int64_t tokens) const;
  /// `misfits`: the words that say which tiles to do, or null: all.
  void generatePrefill(OpBuilder &builder, Location loc,
                       GPUKernelSet &kernelSet, const MatmulProblem &problem,
                       const PrefillPlan &plan, Value misfits = {}) const;
};

} // namespace

static StreamProblem streamProblem(const MatmulProblem &problem) {
  return {*WeightFormat::get(*problem.rhs.format), problem.depth,
          problem.rhs.scalesType, problem.rhsShared};
}

static std::optional<DecodePlan> decodePlan(const MatmulProblem &problem,
                                            const Chip &chip, int64_t tokens) {
  return DecodePlan::choose(tokens, problem.staticCols().value_or(kUnknownCols),
                            chip, streamProblem(problem));
}

static std::optional<BatchPlan> batchPlan(const MatmulProblem &problem,
                                          const Chip &chip, int64_t tokens) {
  return BatchPlan::choose(tokens, problem.staticCols().value_or(kUnknownCols),
                           chip, streamProblem(problem));
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

static MatmulTile tileOf(const DecodePlan &plan) {
  return {plan.tokens, plan.rows(), kStreamK, plan.stages};
}
/// `k` is what a cluster advances by.
static MatmulTile tileOf(const BatchPlan &plan) {
  return {plan.tokens, plan.rows(), kStreamK * plan.split, plan.stages};
}
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
static MatmulTile tileOf(const FoldedPlan &plan) {
  return {FoldedPlan::rows(), FoldedPlan::cols(), kFoldedStageK, plan.stages,
          kFoldedOperands.str()};
}
static bool isFolded(const MatmulTile &tile) {
  return tile.operands == kFoldedOperands;
}
static bool isStreamed(const MatmulTile &tile) {
  return llvm::is_contained(kStreamTokens, tile.m);
}
/// The tile for `tokens` of kStreamTokens, unless shared memory is too small.
static std::optional<MatmulTile> streamTile(const MatmulProblem &problem,
                                            const Chip &chip, int64_t tokens) {
  if (tokens <= kDecodeTokens) {
    if (std::optional<DecodePlan> plan = decodePlan(problem, chip, tokens))
      return tileOf(*plan);
  } else if (std::optional<BatchPlan> plan = batchPlan(problem, chip, tokens)) {
    return tileOf(*plan);
  }
  return std::nullopt;
}

bool PackedMatmul::isSupported(const MatmulProblem &problem,
                               const Chip &chip) const {
  const MatmulSide &lhs = problem.lhs, &rhs = problem.rhs;
  if (!chip.wgmma || !rhs.format)
    return false;
  std::optional<WeightFormat> weights = WeightFormat::get(*rhs.format);
  if (!weights ||
      !prefillSupports(*weights, problem.depth, rhs.hasTiledScales()))
    return false;
  if (!lhs.format)
    return lhs.type.getElementType().isBF16();
  std::optional<WeightFormat> activations =
      WeightFormat::get(*lhs.format, /*trueValues=*/true);
  return activations && dequantizeSupports(*activations, problem.depth);
}

SmallVector<MatmulVariant> PackedMatmul::decide(const MatmulProblem &problem,
                                                const Chip &chip) const {
  SmallVector<MatmulVariant> variants;
  std::optional<int64_t> rows = problem.staticRows();
  for (int64_t tokens : kStreamTokens) {
    if (rows && *rows > tokens)
      continue;
    if (std::optional<MatmulTile> tile = streamTile(problem, chip, tokens))
      variants.push_back({*tile, tokens});
    if (rows && !variants.empty())
      return {{variants.front().tile, std::nullopt}};
  }
  constexpr int64_t largest = kPrefillTokens[std::size(kPrefillTokens) - 1];
  bool folds = foldedSupports(problem);
  if (rows && folds && *rows >= foldedRows(problem, chip))
    return {{tileOf(FoldedPlan()), std::nullopt}};
  if (rows) {
    int64_t tokens = *llvm::find_if(kPrefillTokens, [&](int64_t tokens) {
      return tokens >= std::min(*rows, largest);
    });
    PrefillPlan plan = prefillPlan(problem, chip, tokens, *rows <= tokens);
    return {{tileOf(plan), std::nullopt}};
  }
  PrefillPlan many = prefillPlan(problem, chip, largest, /*oneTile=*/false);
  variants.push_back(
      {tileOf(prefillPlan(problem, chip, largest, /*oneTile=*/true)), largest});
  if (variants.back().tile.text() == tileOf(many).text())
    variants.back().maxRows = std::nullopt;
  else
    variants.push_back({tileOf(many), std::nullopt});
  if (folds) {
    variants.back().maxRows = foldedRows(problem, chip) - 1;
    variants.push_back({tileOf(FoldedPlan()), std::nullopt});
  }
  return variants;
}

bool PackedMatmul::accepts(const MatmulProblem &problem, const Chip &chip,
                           const MatmulTile &tile, std::string &why) const {
  if (isFolded(tile)) {
    MatmulTile only = tileOf(FoldedPlan());
    if (only.text() != tile.text())
      why = "expects " + only.text();
    return why.empty();
  }
  if (isStreamed(tile)) {
    std::optional<MatmulTile> chosen = streamTile(problem, chip, tile.m);
    if (!chosen)
      why = "expects more rows for so much K";
    else if (chosen->text() != tile.text())
      why = "expects " + chosen->text() + " for " + std::to_string(tile.m) +
            " rows";
    return why.empty();
  }
  PrefillPlan plan = planOf(tile);
  if (tile.n != PrefillPlan::rows() || tile.m % 32 || tile.m < 96 ||
      tile.m > 256 || tile.k < kStageK || tile.k % kStageK ||
      plan.split > kMaxSplit || tile.stages < 2 ||
      prefillSplit(problem.depth, plan.split) != plan.split)
    why = "expects m of 8, 16, 32, 64 or a multiple of 32 up to 256, k of " +
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

std::string PackedMatmul::describe(const MatmulProblem &problem,
                                   ArrayRef<MatmulVariant> variants) const {
  std::string units[3];
  for (const MatmulVariant &variant : variants) {
    if (isFolded(variant.tile))
      units[0] = "wgmma.m64k32";
    else if (variant.tile.m > kDecodeTokens)
      units[2] = "wgmma.m64k16";
    else
      units[1] = "mma.m16n8k16";
  }
  std::string text;
  if (!units[0].empty())
    text = "exact via e4m3 " + units[0] + ", both sides folded";
  if (units[1].empty() && units[2].empty())
    return text + ", or where scales spread too far via bf16 wgmma.m64k16";
  text += (text.empty() ? "exact via bf16 " : ", or via bf16 ") + units[1];
  if (!units[1].empty() && !units[2].empty())
    text += " or ";
  text += units[2] + ", rhs unpacked in registers";
  if (problem.lhs.format)
    text += ", lhs unpacked before";
  return text;
}

/// The lhs as bf16. `ifSet`: see dequantizeToBF16.
static Value tokensOf(OpBuilder &builder, Location loc, GPUKernelSet &kernelSet,
                      const MatmulProblem &problem, Value ifSet = {}) {
  if (!problem.lhs.format)
    return problem.lhs.buffers[0];
  return dequantizeToBF16(
      builder, loc, kernelSet,
      *WeightFormat::get(*problem.lhs.format, /*trueValues=*/true),
      problem.lhs.scalesType, problem.lhs.buffers, problem.batch, problem.rows,
      problem.depth, ifSet);
}

void PackedMatmul::generate(OpBuilder &builder, Location loc,
                            GPUKernelSet &kernelSet,
                            const MatmulProblem &problem,
                            const MatmulTile &tile) const {
  const Chip &chip = kernelSet.getChip();
  if (isFolded(tile)) {
    Value misfits = generateFolded(builder, loc, kernelSet, problem);
    PrefillPlan plan = prefillPlan(problem, chip, Misfits::kTileRows,
                                   /*oneTile=*/false);
    generatePrefill(builder, loc, kernelSet, problem, plan, misfits);
    return;
  }
  if (isStreamed(tile))
    generateStream(builder, loc, kernelSet, problem, tile.m);
  else
    generatePrefill(builder, loc, kernelSet, problem, planOf(tile));
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
                                  int64_t tokens) const {
  IndexMath math(builder, loc);
  const Chip &chip = kernelSet.getChip();
  StreamProblem streamed = streamProblem(problem);
  Value activations = tokensOf(builder, loc, kernelSet, problem);
  func::FuncOp kernel;
  int64_t depth = problem.depth, rows = 0, split = 1;
  if (tokens <= kDecodeTokens) {
    DecodePlan plan = *decodePlan(problem, chip, tokens);
    rows = plan.rows();
    kernel = decodeKernel(kernelSet, loc, plan, streamed, problem.epilogue);
  } else {
    BatchPlan plan = *batchPlan(problem, chip, tokens);
    rows = plan.rows();
    split = plan.split;
    activations =
        reorderActivations(builder, loc, kernelSet, streamed.format,
                           activations, problem.batch, problem.rows, depth);
    depth = llvm::alignTo(depth, kReorderedK);
    kernel = batchKernel(kernelSet, loc, plan, streamed, problem.epilogue);
  }
  SmallVector<Value> arguments =
      tensorMaps(builder, loc, kernelSet, problem, activations, depth, tokens,
                 rows, 128, MapSwizzle::Bytes128);
  llvm::append_range(arguments, ValueRange{problem.rhs.buffers[1], problem.rows,
                                           problem.cols});
  llvm::append_range(arguments, problem.epilogue.arguments());
  kernelSet.launchRaw(builder, loc, kernel,
                      {math.mul(math.ceilDiv(problem.cols, rows), split),
                       math.ceilDiv(problem.rows, tokens), problem.batch},
                      arguments);
}

void PackedMatmul::generatePrefill(OpBuilder &builder, Location loc,
                                   GPUKernelSet &kernelSet,
                                   const MatmulProblem &problem,
                                   const PrefillPlan &plan,
                                   Value misfits) const {
  IndexMath math(builder, loc);
  PrefillProblem prefill = prefillProblem(problem);
  prefill.onlyMisfits = bool(misfits);
  func::FuncOp kernel =
      prefillKernel(kernelSet, loc, plan, prefill, problem.epilogue);
  SmallVector<Value> arguments =
      tensorMaps(builder, loc, kernelSet, problem,
                 tokensOf(builder, loc, kernelSet, problem, misfits),
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
