//===-- DecodePlan.cpp - The shape of a decode kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DecodeBody.h"

#include "llvm/Support/MathExtras.h"

using namespace blockscale;
using namespace blockscale::sm90;

/// Shared memory of a multiprocessor beyond what one block may use, and what
/// the driver takes of it for each block.
static constexpr int64_t kReserved = 1024;
/// What an H200 does in a microsecond: bytes of memory; of it, one
/// multiprocessor at most; weights that a multiprocessor dequantizes with 512
/// threads; bytes of activations that it stages.
static constexpr double kMemory = 3.9e6, kMemoryOfOne = 50e3, kWeights = 72e3,
                        kTokens = 70e3;
/// Clusters of more than two leave some multiprocessors of a group without
/// work.
static constexpr double kLargeClusterShare = 0.9;
/// Bytes under way that keep a multiprocessor's share of the memory busy.
static constexpr double kBytesUnderWay = 40e3;

/// Blocks of `plan` that a multiprocessor holds.
static int64_t residentBlocks(const DecodePlan &plan, const nvidia::Chip &chip,
                              const DecodeProblem &problem) {
  int64_t bytes = decodeSharedBytes(plan, problem);
  if (bytes > chip.sharedBytes)
    return 0;
  // Registers: rows of B and tokens need them.
  int64_t threads = plan.rowTiles * plan.tokens > 8 ? 512 : 1024;
  return std::min((chip.sharedBytes + kReserved) / (bytes + kReserved),
                  threads / plan.threads());
}

/// Microseconds that a plan takes, roughly.
static double costOf(const DecodePlan &plan, int64_t n,
                     const nvidia::Chip &chip, const DecodeProblem &problem,
                     int64_t resident) {
  DecodeLayout layout(plan, problem);
  const WeightFormat &format = problem.format;
  int64_t blocks = plan.cluster * llvm::divideCeil(n, plan.rows());
  double share = plan.cluster > 2 ? kLargeClusterShare : 1;
  int64_t atOnce =
      static_cast<int64_t>(resident * chip.multiprocessors * share);
  double waves = llvm::divideCeil(blocks, atOnce);
  int64_t active = std::min(blocks, atOnce);
  int64_t here = llvm::divideCeil(active, chip.multiprocessors);
  double weights = plan.rows() * layout.chunksPerBlock * layout.chunk;
  double bytes = weights * (format.bits() / 8.0 + 1.0 / format.block());

  double memory =
      std::max(active * bytes / kMemory, here * bytes / kMemoryOfOne);
  double underWay =
      here * (plan.depth - 1.0) * plan.warpsN * plan.warpsK * layout.stageBytes;
  if (underWay < kBytesUnderWay)
    memory *= 1 + 0.3 * (1 - underWay / kBytesUnderWay);
  if (plan.depth == 2)
    memory *= 1.15; // Every chunk waits for the one before.
  double compute = here * weights / kWeights;
  int64_t threads = here * plan.threads();
  if (threads < 512)
    compute *= 1 + 0.3 * (1 - threads / 512.0);
  if (threads > 512)
    compute *= 1.1;
  // Two row tiles of a warp share the activations that it reads, and leave
  // fewer registers.
  if (plan.tokens > 8)
    compute *= plan.rowTiles == 1 ? 1.3 : 1.12;
  else if (plan.rowTiles > 1)
    compute *= 1.08;
  // A loop over chunks computes what straight code knows.
  if (layout.chunksPerWarp * plan.rowTiles > kStraightChunks)
    compute *= 1.05;
  if (plan.warpsK > 4)
    compute *= 1.1; // More parts of sums, and shorter ones.
  double wave = std::max(memory, compute) + 0.25 * std::min(memory, compute) +
                here * plan.tokens * layout.tokenBytes / kTokens + 0.5;
  // Warps at the end of their work wait for the last one.
  if (plan.cluster > 1)
    wave += 1;
  return waves * wave;
}

std::optional<DecodePlan> DecodePlan::choose(int64_t tokens, int64_t n,
                                             const nvidia::Chip &chip,
                                             const DecodeProblem &problem) {
  std::optional<DecodePlan> best;
  double bestCost = 0;
  for (int64_t cluster : {1, 2, 4}) {
    if (cluster > 2 && best)
      break; // Only where activations fit no other way.
    for (int64_t rowTiles : {1, 2})
      for (int64_t warpsN = 1; warpsN <= 8; ++warpsN)
        for (int64_t warpsK : {1, 2, 4, 8})
          for (int64_t depth : {4, 3, 2}) {
            DecodePlan plan;
            plan.tokens = tokens;
            plan.rowTiles = rowTiles;
            plan.warpsN = warpsN;
            plan.warpsK = warpsK;
            plan.cluster = cluster;
            plan.depth = depth;
            if (plan.threads() > 512 || plan.threads() < 128)
              continue;
            int64_t resident = residentBlocks(plan, chip, problem);
            if (resident == 0)
              continue;
            double cost = costOf(plan, n, chip, problem, resident);
            if (!best || cost < bestCost) {
              best = plan;
              bestCost = cost;
            }
          }
  }
  return best;
}
