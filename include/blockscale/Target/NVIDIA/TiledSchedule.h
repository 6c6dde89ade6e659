//===-- TiledSchedule.h - Schedules around the mma.sync loop ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_NVIDIA_TILEDSCHEDULE_H
#define BLOCKSCALE_TARGET_NVIDIA_TILEDSCHEDULE_H

#include "blockscale/Target/NVIDIA/TileChoice.h"

namespace blockscale::nvidia {

/// A schedule whose kernels are the loop of TiledMatmul.h. It knows which tiles
/// there are and which is fastest, from what a derived class says of them.
class TiledSchedule : public MatmulSchedule {
public:
  llvm::SmallVector<MatmulVariant> decide(const MatmulProblem &problem,
                                          const Chip &chip) const final;
  bool accepts(const MatmulProblem &problem, const Chip &chip,
               const MatmulTile &tile, std::string &why) const final;
  bool quantizes(const MatmulTile &tile, int64_t block) const final {
    return tile.n % block == 0;
  }

protected:
  /// A tile worth trying, with as many stages as are worth it.
  struct Candidate {
    int64_t m, n, stages;
  };
  virtual llvm::ArrayRef<Candidate> candidates() const = 0;
  virtual TileRates rates(const MatmulProblem &problem) const = 0;
  /// Of a tile's row: elements, and bytes in shared memory.
  virtual int64_t rowElements(const MatmulProblem &problem) const = 0;
  virtual int64_t rowBytes(const MatmulProblem &problem) const = 0;
  /// Shared memory of a stage of both sides.
  virtual int64_t stageBytes(const MatmulProblem &problem,
                             const TileShape &shape) const = 0;
  /// Of the sources of both sides.
  virtual int64_t registers(const MatmulProblem &, const TileShape &,
                            const Chip &) const {
    return 0;
  }

  TileShape shapeOf(const MatmulProblem &problem,
                    const MatmulTile &tile) const {
    return {tile.m, tile.n, rowBytes(problem), tile.stages};
  }
};

} // namespace blockscale::nvidia

#endif // BLOCKSCALE_TARGET_NVIDIA_TILEDSCHEDULE_H
