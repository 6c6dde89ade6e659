//===-- TileChoice.h - Which tile is fastest --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cost of a tile: blocks run in waves of as many as the chip holds; a step
// of a block takes the longer of its multiplications and its loads, plus what
// a barrier costs.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TARGET_NVIDIA_TILECHOICE_H
#define BLOCKSCALE_TARGET_NVIDIA_TILECHOICE_H

#include "blockscale/Target/NVIDIA/TiledMatmul.h"

namespace blockscale::nvidia {

/// Rates of one multiprocessor, per cycle.
struct TileRates {
  double multiplications;   ///< Products of two elements.
  double bytes;             ///< From L2 or memory.
  double elementsConverted; ///< Elements dequantized; 0: they are not.
};

struct TileCandidate {
  MatmulTile tile;
  TileShape shape;
  int64_t stageBytes;  ///< Shared memory.
  int64_t loadedBytes; ///< Global memory, per step.
  int64_t registers;   ///< Of the sources.
};

/// Estimated cycles of rows x cols x depth.
double tileCost(const TileCandidate &candidate, const TileRates &rates,
                const Chip &chip, int64_t rows, int64_t cols, int64_t depth);

/// The best candidate for static sizes; for a run-time M the best ones for few
/// rows and for many.
llvm::SmallVector<MatmulVariant>
chooseTiles(llvm::ArrayRef<TileCandidate> candidates, const TileRates &rates,
            const Chip &chip, const MatmulProblem &problem);

} // namespace blockscale::nvidia

#endif // BLOCKSCALE_TARGET_NVIDIA_TILECHOICE_H
