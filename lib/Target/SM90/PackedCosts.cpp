//===-- PackedCosts.cpp - How long kernels for many rows take -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PackedCosts.h"
#include "FoldedKernel.h"
#include "PrefillKernel.h"

#include <algorithm>
#include <cmath>

using namespace blockscale;
using namespace blockscale::sm90;

/// Seconds of a tile for each column of K.
static constexpr double kPrefillTile = 13.3e-9, kFoldedTile = 6.6e-9;
/// The same of fewer tokens: of one, and what does not depend on them.
static constexpr double kPrefillToken = 26.5e-12, kPrefillWeights = 3.6e-9;
/// The same of a column of the tile, and of what a tile costs whatever its
/// columns.
static constexpr double kUnpackedCol = 45e-12, kUnpackedTile = 0.5e-9;
/// Seconds of a byte that a kernel reads or writes, and of one more launch.
static constexpr double kByte = 0.27e-12, kLaunch = 2e-6;

PackedCosts::PackedCosts(const nvidia::MatmulProblem &problem,
                         const nvidia::Chip &chip)
    : problem(problem), multiprocessors(chip.multiprocessors),
      cols(problem.staticCols().value_or(kUnknownCols)), k(problem.depth) {}

double PackedCosts::turns(int64_t rows, int64_t tileRows,
                          int64_t tileCols) const {
  return std::ceil(std::ceil(double(rows) / tileRows) *
                   std::ceil(cols / tileCols) / multiprocessors);
}

double PackedCosts::tiles(int64_t rows, int64_t tileRows, int64_t tileCols,
                          double secondsOfK) const {
  return turns(rows, tileRows, tileCols) * k * secondsOfK;
}

double PackedCosts::pass(const nvidia::MatmulSide &side, double rows,
                         double bytes) const {
  return rows * k * (side.storageBits() / 8.0 + bytes) * kByte + kLaunch;
}

double PackedCosts::prefill(int64_t rows, int64_t tokens) const {
  double before = problem.lhs.format ? pass(problem.lhs, rows, 2) : 0;
  double most = PrefillPlan().tokens, tile = kPrefillTile * tokens / most;
  // Alone, a smaller tile is not limited by power.
  if (tokens < most) {
    double alone = kPrefillWeights + kPrefillToken * tokens;
    bool once = turns(rows, tokens, PrefillPlan::rows()) == 1;
    tile = once ? alone : std::max(alone, tile);
  }
  return before + tiles(rows, tokens, PrefillPlan::rows(), tile);
}

double PackedCosts::unpacked(int64_t rows, const UnpackedPlan &plan) const {
  double before = problem.lhs.format ? pass(problem.lhs, rows, 2) : 0;
  return before + pass(problem.rhs, cols, 2) +
         tiles(rows, UnpackedPlan::rows(), plan.cols,
               kUnpackedTile + kUnpackedCol * plan.cols);
}

double PackedCosts::folded(int64_t rows) const {
  return pass(problem.lhs, rows, 1) + pass(problem.rhs, cols, 1) +
         tiles(rows, FoldedPlan::rows(), FoldedPlan::cols(), kFoldedTile);
}
