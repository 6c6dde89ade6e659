//===-- TiledSchedule.cpp - Schedules around the mma.sync loop ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/NVIDIA/TiledSchedule.h"

using namespace blockscale;
using namespace blockscale::nvidia;

llvm::SmallVector<MatmulVariant>
TiledSchedule::decide(const MatmulProblem &problem, const Chip &chip) const {
  int64_t k = rowElements(problem);
  llvm::SmallVector<TileCandidate> possible;
  for (auto [m, n, wanted] : candidates()) {
    TileShape shape = shapeOf(problem, {m, n, k, 0});
    int64_t bytes = stageBytes(problem, shape);
    shape.stages = stagesThatFit(shape, bytes, chip, wanted);
    if (!shape.stages)
      continue;
    int64_t loaded =
        k * (m * problem.lhs.storageBits() + n * problem.rhs.storageBits()) / 8;
    possible.push_back({{m, n, k, shape.stages},
                        shape,
                        bytes,
                        loaded,
                        registers(problem, shape, chip)});
  }
  return chooseTiles(possible, rates(problem), chip, problem);
}

bool TiledSchedule::accepts(const MatmulProblem &problem, const Chip &chip,
                            const MatmulTile &tile, std::string &why) const {
  TileShape shape = shapeOf(problem, tile);
  int64_t k = rowElements(problem);
  if (!shape.isPossible() || tile.k != k)
    why = "expects m of 16, 32, 64 or 128, n of 64 or 128, k of " +
          std::to_string(k) + " and at least 2 stages";
  else
    why = chip.whyNoRoom(tiledMatmulBytes(shape, stageBytes(problem, shape)));
  return why.empty();
}
