//===-- DecodePlan.cpp - The shape of a decode kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DecodeKernel.h"

#include "llvm/Support/MathExtras.h"

using namespace blockscale;
using namespace blockscale::sm90;

/// Registers hold the sums of so many tiles of 16 rows and 8 tokens.
static constexpr int64_t kMaxTiles = 14;
/// Tokens up to which nothing else is faster.
static constexpr int64_t kAlways = 16;
/// Stages beyond which nothing gets faster.
static constexpr int64_t kMaxStages = 8;
/// Groups that keep the units busy: with more, only the sums to add up grow.
static constexpr int64_t kMaxGroups = 3;

std::optional<DecodePlan> DecodePlan::choose(int64_t tokens, int64_t n,
                                             const nvidia::Chip &chip,
                                             const StreamProblem &problem) {
  DecodePlan plan;
  plan.tokens = tokens;
  // A multiprocessor has one block at a time: as few rows in all its turns as
  // can be, then as few turns.
  int64_t least = 0;
  for (int64_t tiles = 1; tiles * (tokens / 8) <= kMaxTiles; ++tiles) {
    int64_t turns =
        llvm::divideCeil(llvm::divideCeil(n, 16 * tiles), chip.multiprocessors);
    if (least == 0 || turns * tiles <= least) {
      least = turns * tiles;
      plan.rowTiles = tiles;
    }
  }
  // The batch kernel is better if a multiprocessor had several turns.
  if (tokens > kAlways && least > plan.rowTiles)
    return std::nullopt;
  int64_t steps = WeightStream::steps(problem.k);
  plan.groups = std::min(kMaxGroups, steps);
  for (plan.stages = stagesInTurns(
           std::min(kMaxStages, std::max<int64_t>(2, steps)), plan.groups);
       plan.stages > 1; plan.stages -= plan.groups)
    if (decodeSharedBytes(plan, problem) <= chip.sharedBytes)
      return plan;
  return std::nullopt;
}
