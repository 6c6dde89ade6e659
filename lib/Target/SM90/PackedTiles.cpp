//===-- PackedTiles.cpp - Which kernel for how many rows ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PackedTiles.h"
#include "FoldedMatmul.h"
#include "Misfits.h"
#include "PackedCosts.h"
#include "UnpackedMatmul.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using namespace blockscale::nvidia;

/// Numbers of rows of A that the kernels which stream the weights are made for,
/// and the most that one block has.
static constexpr int64_t kStreamRows[] = {8, 16, 24, 32, 40, 48, 64, 128, 256};
static constexpr int64_t kBatchTokens = 64;
/// Numbers of rows of A that a tile of the other kernel has; the last one if
/// only the run time knows the rows.
static constexpr int64_t kPrefillTokens[] = {128, 256};
/// Tokens that its tiles can have.
static constexpr int64_t kTokensStep = 32, kLeastTokens = 96, kMostTokens = 256;
/// Columns of the smallest tiles of unpacked operands.
static constexpr int64_t kNarrowCols = 128;
/// Shared memory and stages that hide the latency of memory.
static constexpr int64_t kRingBytes = 170 * 1024, kMaxStages = 8;
/// Blocks of a cluster that every chip runs; clusters of more than two leave
/// some multiprocessors of a group without work, so fewer of them run at once.
static constexpr int64_t kMaxSplit = 8;
static constexpr double kLargeClusterShare = 0.85;

StreamProblem sm90::streamProblem(const MatmulProblem &problem) {
  return {*WeightFormat::get(*problem.rhs.format), problem.depth,
          problem.rhs.scalesType, problem.rhsShared, problem.rhs.invariant};
}

StreamProblem sm90::decodeProblem(const MatmulProblem &problem) {
  StreamProblem result = streamProblem(problem);
  if (result.format.bits() == 4)
    result.format = result.format.lookingUp();
  return result;
}

std::optional<DecodePlan> sm90::decodePlan(const MatmulProblem &problem,
                                           const Chip &chip, int64_t tokens) {
  return DecodePlan::choose(tokens, problem.staticCols().value_or(kUnknownCols),
                            chip, decodeProblem(problem));
}

static std::optional<BatchPlan> batchPlan(const MatmulProblem &problem,
                                          const Chip &chip, int64_t rows) {
  return BatchPlan::choose(std::min(rows, kBatchTokens),
                           llvm::divideCeil(rows, kBatchTokens),
                           problem.staticCols().value_or(kUnknownCols), chip,
                           streamProblem(problem));
}

static PrefillProblem prefillProblemOf(const MatmulProblem &problem) {
  return {*WeightFormat::get(*problem.rhs.format), problem.depth,
          problem.rhs.scalesType, problem.rhsShared};
}

PrefillProblem sm90::prefillProblem(const MatmulProblem &problem,
                                    const PrefillPlan &plan, const Chip &chip) {
  PrefillProblem plain = prefillProblemOf(problem);
  if (plain.format.bits() != 4)
    return plain;
  PrefillProblem table = plain;
  table.format = plain.format.lookingUp();
  return prefillSharedBytes(plan, table) <= chip.sharedBytes ? table : plain;
}

/// `oneTile`: one tile of tokens holds all rows, so that blocks may be few.
static PrefillPlan prefillPlan(const MatmulProblem &problem, const Chip &chip,
                               int64_t tokens, bool oneTile) {
  PrefillPlan plan;
  plan.tokens = tokens;
  PrefillProblem prefill = prefillProblemOf(problem);
  int64_t tiles = llvm::divideCeil(problem.staticCols().value_or(kUnknownCols),
                                   plan.rows());
  if (oneTile)
    while (plan.split < kMaxSplit &&
           2 * plan.split * tiles <=
               chip.multiprocessors *
                   (plan.split > 1 ? kLargeClusterShare : 1.0) &&
           prefillSplit(problem.depth, 2 * plan.split) == 2 * plan.split)
      plan.split *= 2;
  // A table is worth more than stages beyond the fourth.
  plan.stages = 4;
  if (prefillProblem(problem, plan, chip).format.looksUp())
    return plan;
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
PrefillPlan sm90::prefillPlanOf(const MatmulTile &tile) {
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
static MatmulTile tileOf(const UnpackedPlan &plan) {
  return {UnpackedPlan::rows(), plan.cols, kUnpackedStageK, plan.stages,
          kUnpackedOperands.str()};
}
UnpackedPlan sm90::unpackedPlanOf(const MatmulTile &tile) {
  UnpackedPlan plan;
  plan.cols = tile.n;
  plan.stages = tile.stages;
  return plan;
}
bool sm90::isFolded(const MatmulTile &tile) {
  return tile.operands == kFoldedOperands;
}
bool sm90::isUnpacked(const MatmulTile &tile) {
  return tile.operands == kUnpackedOperands;
}
bool sm90::isStreamed(const MatmulTile &tile) { return tile.m <= kBatchTokens; }
bool sm90::isDecoded(const MatmulProblem &problem, const Chip &chip,
                     const MatmulTile &tile) {
  if (!isStreamed(tile) || tile.m % 8 || tile.m > kDecodeTokens)
    return false;
  std::optional<DecodePlan> plan = decodePlan(problem, chip, tile.m);
  return plan && tileOf(*plan).text() == tile.text();
}
BatchPlan sm90::batchPlanOf(const MatmulTile &tile) {
  BatchPlan plan;
  plan.tokens = tile.m;
  plan.rowGroups = tile.n / 64;
  plan.split = tile.k / kStreamK;
  plan.stages = tile.stages;
  return plan;
}
PrefillPlan sm90::misfitsPlan(const MatmulProblem &problem, const Chip &chip) {
  return prefillPlan(problem, chip, Misfits::kTileRows, /*oneTile=*/false);
}

/// The tile for `rows` rows of kStreamRows, if such a kernel is good for them.
static std::optional<MatmulTile> streamTile(const MatmulProblem &problem,
                                            const Chip &chip, int64_t rows) {
  if (rows <= kDecodeTokens)
    if (std::optional<DecodePlan> plan = decodePlan(problem, chip, rows))
      return tileOf(*plan);
  if (std::optional<BatchPlan> plan = batchPlan(problem, chip, rows))
    return tileOf(*plan);
  return std::nullopt;
}

namespace {

/// The kernels for more rows than one tile has.
class ManyRows {
public:
  struct Choice {
    MatmulTile tile;
    double seconds;
  };
  ManyRows(const MatmulProblem &problem, const Chip &chip)
      : problem(problem), chip(chip), costs(problem, chip),
        unpacks(unpackedSupports(problem)), folds(foldedSupports(problem)) {}

  /// Of tiles, those whose tokens, or columns of unpacked weights, are
  /// `prefillStep` and `colsStep` apart.
  Choice fastest(int64_t rows, int64_t prefillStep, int64_t colsStep) const {
    auto prefill = [&](int64_t tokens) {
      return Choice{tileOf(prefillPlan(problem, chip, tokens, false)),
                    costs.prefill(rows, tokens)};
    };
    Choice best = prefill(kMostTokens);
    auto consider = [&](const MatmulTile &tile, double seconds) {
      if (seconds < best.seconds)
        best = {tile, seconds};
    };
    for (int64_t tokens = kMostTokens - prefillStep; tokens >= kLeastTokens;
         tokens -= prefillStep) {
      // They are for rows that larger tiles would leave without work.
      if (costs.turns(rows, tokens, PrefillPlan::rows()) > 1)
        break;
      Choice fewer = prefill(tokens);
      consider(fewer.tile, fewer.seconds);
    }
    for (int64_t cols = 256; unpacks && cols >= kNarrowCols; cols -= colsStep) {
      UnpackedPlan plan;
      plan.cols = cols;
      consider(tileOf(plan), costs.unpacked(rows, plan));
    }
    if (folds)
      consider(tileOf(FoldedPlan()), costs.folded(rows));
    return best;
  }
  double seconds(const MatmulTile &tile, int64_t rows) const {
    if (isFolded(tile))
      return costs.folded(rows);
    return isUnpacked(tile) ? costs.unpacked(rows, unpackedPlanOf(tile))
                            : costs.prefill(rows, tile.m);
  }
  /// The kernels for more than `above` rows. What fills the chip with some rows
  /// may not with others: it goes back and forth, where that is worth it.
  void append(SmallVectorImpl<MatmulVariant> &variants, int64_t above) const {
    constexpr int64_t step = 128, most = 2048;
    size_t first = variants.size();
    auto from = [&](int64_t rows, const MatmulTile &tile) {
      if (variants.back().tile.text() == tile.text())
        return;
      variants.back().maxRows = rows;
      variants.push_back({tile, std::nullopt});
    };
    for (int64_t rows = above + step; rows <= most; rows += step) {
      Choice best = fastest(rows, kFewTokens, kNarrowCols);
      if (variants.size() == first ||
          seconds(variants.back().tile, rows) > kWorthIt * best.seconds)
        from(rows - step, best.tile);
    }
    from(most, fastest(4 * most, kFewTokens, kNarrowCols).tile);
    variants.back().maxRows = std::nullopt; // It may have been there before.
  }

private:
  static constexpr double kWorthIt = 1.15;
  /// How far apart the tokens of tiles are where each is one more kernel.
  static constexpr int64_t kFewTokens = 64;
  const MatmulProblem &problem;
  const Chip &chip;
  PackedCosts costs;
  bool unpacks, folds;
};

} // namespace

SmallVector<MatmulVariant> sm90::packedVariants(const MatmulProblem &problem,
                                                const Chip &chip) {
  SmallVector<MatmulVariant> variants;
  std::optional<int64_t> rows = problem.staticRows();
  for (int64_t most : kStreamRows) {
    if (rows && *rows > most)
      continue;
    if (std::optional<MatmulTile> tile = streamTile(problem, chip, most))
      variants.push_back({*tile, most});
    if (rows && !variants.empty())
      return {{variants.front().tile, std::nullopt}};
  }
  constexpr int64_t largest = kPrefillTokens[std::size(kPrefillTokens) - 1];
  if (rows && *rows <= largest) {
    int64_t tokens = *llvm::find_if(
        kPrefillTokens, [&](int64_t tokens) { return tokens >= *rows; });
    PrefillPlan plan = prefillPlan(problem, chip, tokens, /*oneTile=*/true);
    return {{tileOf(plan), std::nullopt}};
  }
  ManyRows many(problem, chip);
  if (rows)
    return {{many.fastest(*rows, kTokensStep, UnpackedPlan::kColsStep).tile,
             std::nullopt}};
  if (variants.empty() || *variants.back().maxRows < largest)
    variants.push_back(
        {tileOf(prefillPlan(problem, chip, largest, /*oneTile=*/true)),
         largest});
  many.append(variants, largest);
  return variants;
}

bool sm90::packedAccepts(const MatmulProblem &problem, const Chip &chip,
                         const MatmulTile &tile, std::string &why) {
  if (isUnpacked(tile)) {
    UnpackedPlan plan = unpackedPlanOf(tile);
    if (tile.m != UnpackedPlan::rows() || tile.k != kUnpackedStageK ||
        tile.n < UnpackedPlan::kColsStep || tile.n > 256 ||
        tile.n % UnpackedPlan::kColsStep || tile.stages < 2 ||
        unpackedSharedBytes(plan) > chip.sharedBytes)
      why = "expects m of " + std::to_string(UnpackedPlan::rows()) +
            ", n a multiple of " + std::to_string(UnpackedPlan::kColsStep) +
            " up to 256, k of " + std::to_string(kUnpackedStageK) +
            " and at least 2 stages that fit into " +
            std::to_string(chip.sharedBytes) + " bytes of shared memory";
    return why.empty();
  }
  if (isFolded(tile)) {
    MatmulTile only = tileOf(FoldedPlan());
    if (only.text() != tile.text())
      why = "expects " + only.text();
    return why.empty();
  }
  if (isDecoded(problem, chip, tile))
    return true;
  if (isStreamed(tile)) {
    BatchPlan plan = batchPlanOf(tile);
    if (tile.m % 8 || tile.n % 64 || tile.n < 64 || tile.n > 128 ||
        tile.k % kStreamK || !plan.splits(problem.depth) || tile.stages < 2 ||
        tile.stages % BatchPlan::kGroups ||
        batchSharedBytes(plan, streamProblem(problem)) > chip.sharedBytes)
      why = "expects m a multiple of 8, n of 64 or 128, k of " +
            std::to_string(kStreamK) + " times blocks that share K, and an " +
            "even number of stages that fit into " +
            std::to_string(chip.sharedBytes) + " bytes of shared memory";
    std::optional<MatmulTile> chosen;
    if (llvm::is_contained(kStreamRows, tile.m))
      chosen = streamTile(problem, chip, tile.m);
    if (!why.empty() && chosen)
      why += ", or " + chosen->text();
    return why.empty();
  }
  PrefillPlan plan = prefillPlanOf(tile);
  if (tile.n != PrefillPlan::rows() || tile.m % kTokensStep ||
      tile.m < kLeastTokens || tile.m > kMostTokens || tile.k < kStageK ||
      tile.k % kStageK || plan.split > kMaxSplit || tile.stages < 2 ||
      prefillSplit(problem.depth, plan.split) != plan.split)
    why = "expects m of at most " + std::to_string(kBatchTokens) +
          " or a multiple of " + std::to_string(kTokensStep) + " up to " +
          std::to_string(kMostTokens) + ", k of " + std::to_string(kStageK) +
          " times at most " + std::to_string(kMaxSplit) +
          " blocks that share K " + "and at least 2 stages with n of " +
          std::to_string(PrefillPlan::rows());
  else
    why = chip.whyNoRoom(prefillSharedBytes(plan, prefillProblemOf(problem)));
  return why.empty();
}
