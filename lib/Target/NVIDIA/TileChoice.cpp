//===-- TileChoice.cpp - Which tile is fastest ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/NVIDIA/TileChoice.h"

#include <cmath>

using namespace blockscale;
using namespace blockscale::nvidia;

/// Cycles of a step that are neither loads nor multiplications.
static constexpr double kStepOverhead = 60;
/// Rows and columns assumed where only the run time knows them.
static constexpr int64_t kManyRows = 4096, kUnknownCols = 4096;
/// Rows up to which a matmul of run-time M takes the kernel for few rows.
static constexpr int64_t kFewRows = 16;

double nvidia::tileCost(const TileCandidate &candidate, const TileRates &rates,
                        const Chip &chip, int64_t rows, int64_t cols,
                        int64_t depth) {
  const MatmulTile &tile = candidate.tile;
  double blocks =
      std::ceil(double(rows) / tile.m) * std::ceil(double(cols) / tile.n);
  double steps = std::ceil(double(depth) / tile.k);
  double resident = residentBlocks(candidate.shape, candidate.stageBytes,
                                   candidate.registers, chip);
  double multiply = double(tile.m) * tile.n * tile.k / rates.multiplications;
  double load = candidate.loadedBytes / rates.bytes;
  double convert = rates.elementsConverted ? double(tile.m + tile.n) * tile.k /
                                                 rates.elementsConverted
                                           : 0;
  // Blocks of one multiprocessor share its units and hide each other's waits.
  double waves = std::ceil(blocks / (chip.multiprocessors * resident));
  double together =
      std::min(resident, std::ceil(blocks / chip.multiprocessors));
  double step =
      std::max(std::max(multiply, load) + convert, kStepOverhead / together);
  return waves * together * steps * step;
}

llvm::SmallVector<MatmulVariant>
nvidia::chooseTiles(llvm::ArrayRef<TileCandidate> candidates,
                    const TileRates &rates, const Chip &chip,
                    const MatmulProblem &problem) {
  int64_t cols = problem.staticCols().value_or(kUnknownCols);
  auto best = [&](int64_t rows) {
    const TileCandidate *chosen = nullptr;
    double cost = 0;
    for (const TileCandidate &candidate : candidates) {
      double its = tileCost(candidate, rates, chip, rows, cols, problem.depth);
      // Among equals, the one that loads less for each product.
      auto perProduct = [](const TileCandidate &c) {
        return double(c.loadedBytes) / (c.tile.m * c.tile.n);
      };
      if (!chosen || its < cost ||
          (its == cost && perProduct(candidate) < perProduct(*chosen))) {
        chosen = &candidate;
        cost = its;
      }
    }
    return chosen->tile;
  };
  if (std::optional<int64_t> rows = problem.staticRows())
    return {{best(*rows), std::nullopt}};
  MatmulTile few = best(kFewRows), many = best(kManyRows);
  if (few.m == many.m && few.n == many.n)
    return {{many, std::nullopt}};
  return {{few, kFewRows}, {many, std::nullopt}};
}
