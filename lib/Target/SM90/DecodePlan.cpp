//===-- DecodePlan.cpp - The shape of a decode kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DecodeBody.h"

#include "llvm/Support/MathExtras.h"

using namespace blockscale;
using namespace blockscale::sm90;

/// Shared memory of a multiprocessor beyond what one block may use, and what
/// the driver takes of it for each block.
static constexpr int64_t kReserved = 1024;
/// Threads of a multiprocessor that give this kernel its best speed: more only
/// share the same memory.
static constexpr int64_t kBestThreads = 512;

/// Relative time of a plan, from measurements on an H200.
static double costOf(const DecodePlan &plan, int64_t n,
                     const nvidia::Chip &chip, const DecodeProblem &problem,
                     int64_t blocksPerProcessor) {
  int64_t chunk = 4 * problem.format.run();
  int64_t chunksPerWarp = llvm::divideCeil(llvm::divideCeil(problem.k, chunk),
                                           plan.cluster * plan.warpsK);
  chunksPerWarp = std::max(chunksPerWarp, plan.depth - 1);
  double tiles =
      llvm::divideCeil(llvm::divideCeil(n, plan.rows()), plan.blocks);
  int64_t resident = std::min<int64_t>(
      blocksPerProcessor,
      llvm::divideCeil(plan.blocks * plan.cluster, chip.multiprocessors));
  // Weights that the busiest multiprocessor goes through.
  double cost =
      resident * tiles * plan.rows() * chunksPerWarp * plan.warpsK * chunk;
  int64_t threads = resident * plan.threads();
  if (threads < kBestThreads)
    cost *= 1 + 0.3 * (1 - double(threads) / kBestThreads);
  if (threads > kBestThreads)
    cost *= 1.1;
  // What the end of a tile costs, as weights: its sums meet, and the blocks of
  // a cluster wait for each other and for their copies.
  cost += tiles * (plan.cluster > 1 ? 36e3 : 5e3);
  if (plan.cluster > 2)
    cost *= 2; // Larger clusters do not fill all multiprocessors.
  if (plan.depth < 4)
    cost *= 1.02;
  // A loop over chunks computes what straight code knows.
  if (chunksPerWarp > kStraightChunks)
    cost *= 1.15;
  if (plan.rowTiles > 1)
    cost *= 1.05; // Fewer registers are free.
  // A little less for blocks that finish their tiles at different times.
  return resident > 1 ? cost * 0.98 : cost;
}

std::optional<DecodePlan> DecodePlan::choose(int64_t tokens, int64_t n,
                                             const nvidia::Chip &chip,
                                             const DecodeProblem &problem) {
  std::optional<DecodePlan> best;
  double bestCost = 0;
  int64_t perProcessor = chip.sharedBytes + kReserved;
  for (int64_t cluster : {1, 2, 4})
    for (int64_t rowTiles : {1, 2})
      for (int64_t warpsN : {1, 2, 4})
        for (int64_t warpsK : {4, 8, 16})
          for (int64_t depth : {4, 3}) {
            DecodePlan plan;
            plan.tokens = tokens;
            plan.rowTiles = rowTiles;
            plan.warpsN = warpsN;
            plan.warpsK = warpsK;
            plan.cluster = cluster;
            plan.depth = depth;
            if (plan.threads() > 512 || plan.threads() < 256)
              continue;
            // Registers: two row tiles or many tokens do not fit 512 threads.
            if (plan.threads() == 512 && rowTiles * tokens > 16)
              continue;
            int64_t bytes = decodeSharedBytes(plan, problem);
            if (bytes > chip.sharedBytes)
              continue;
            int64_t resident = std::min<int64_t>(
                perProcessor / (bytes + kReserved), 1024 / plan.threads());
            int64_t tiles = llvm::divideCeil(n, plan.rows());
            plan.blocks = std::min<int64_t>(
                tiles, resident * chip.multiprocessors / cluster);
            double cost = costOf(plan, n, chip, problem, resident);
            if (!best || cost < bestCost) {
              best = plan;
              bestCost = cost;
            }
          }
  return best;
}
