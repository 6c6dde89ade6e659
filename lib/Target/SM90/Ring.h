//===-- Ring.h - Stages between copies and products -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_SM90_RING_H
#define BLOCKSCALE_LIB_TARGET_SM90_RING_H

#include "HopperCode.h"

namespace blockscale::sm90 {

/// Where a block is in a ring of stages, as carried values.
struct RingPlace {
  mlir::Value stage, parity;
};

/// A ring of stages in shared memory: parts of it, `bytes` a stage, and two
/// mbarriers a stage, from `barriers` on.
class Ring {
public:
  Ring(mlir::Value shared, int64_t barriers, int64_t stages)
      : shared(shared), barriers(barriers), stages(stages) {}

  mlir::Value part(HopperCode &c, int64_t offset, mlir::Value stage,
                   int64_t bytes) const {
    return c.at(c.at(shared, offset), c.mul(stage, bytes));
  }
  /// Completes when a stage has been filled, ...
  mlir::Value full(HopperCode &c, mlir::Value stage) const {
    return part(c, barriers, stage, 8);
  }
  /// ... and when it has been used.
  mlir::Value empty(HopperCode &c, mlir::Value stage) const {
    return part(c, barriers + 8 * stages, stage, 8);
  }
  RingPlace after(HopperCode &c, RingPlace place) const {
    mlir::Value next = c.add(place.stage, 1);
    mlir::Value wraps = c.eq(next, c.constant(stages));
    return {c.select(wraps, c.constant(0), next),
            c.select(wraps, c.bxor(place.parity, c.constant(1)), place.parity)};
  }

  /// Sets the mbarriers up, with the arrivals that fill a stage and that free
  /// it; every thread of the block calls it.
  void begin(HopperCode &code, mlir::Value thread, int64_t fills,
             int64_t uses) const;
  /// Tells who copies that this thread is done with a stage. One lane's arrival
  /// for its warp would do, but compute-sanitizer's racecheck credits it to
  /// that lane alone, and it is no faster.
  void release(HopperCode &c, mlir::Value stage) const;

private:
  mlir::Value shared;
  int64_t barriers, stages;
};

/// Registers of a thread that copies, and of one that keeps track of more.
inline constexpr int64_t kCopyRegisters = 40, kManyCopyRegisters = 56;

/// The first `consumers` threads of the block, two warpgroups of three,
/// multiply; the others copy, with `copyRegisters` each.
void splitRoles(HopperCode &code, mlir::Value thread, int64_t consumers,
                int64_t copyRegisters,
                llvm::function_ref<void(HopperCode &)> consume,
                llvm::function_ref<void(HopperCode &)> produce);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_RING_H
