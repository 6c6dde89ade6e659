//===-- PackedCosts.h - How long kernels for many rows take -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_PACKEDCOSTS_H
#define BLOCKSCALE_LIB_TARGET_SM90_PACKEDCOSTS_H

#include "UnpackedKernel.h"

#include "blockscale/Target/NVIDIA/Matmul.h"

namespace blockscale::sm90 {

/// Columns of the result assumed where only the run time knows them.
inline constexpr int64_t kUnknownCols = 4096;

/// Estimates of seconds for `rows` rows of A, from measurements on an H200. A
/// block does a tile at a time, so time grows in turns of all multiprocessors.
class PackedCosts {
public:
  PackedCosts(const nvidia::MatmulProblem &problem, const nvidia::Chip &chip);

  /// B stays packed until it reaches the registers; tiles of `tokens` rows.
  double prefill(int64_t rows, int64_t tokens) const;
  /// B is made bf16 first.
  double unpacked(int64_t rows, const UnpackedPlan &plan) const;
  /// Both sides are folded to E4M3 first.
  double folded(int64_t rows) const;

  /// How many tiles a multiprocessor has.
  double turns(int64_t rows, int64_t tileRows, int64_t tileCols) const;

private:
  double tiles(int64_t rows, int64_t tileRows, int64_t tileCols,
               double secondsOfK) const;
  /// Of reading elements of a side's `rows` and writing `bytes` for each.
  double pass(const nvidia::MatmulSide &side, double rows, double bytes) const;

  const nvidia::MatmulProblem &problem;
  double multiprocessors, cols, k;
};

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_PACKEDCOSTS_H
