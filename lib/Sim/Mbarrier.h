//===-- Mbarrier.h - Barriers in shared memory ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_MBARRIER_H
#define BLOCKSCALE_LIB_SIM_MBARRIER_H

#include "Machine.h"

namespace blockscale::sim {

/// The 64 bits in shared memory.
struct MbarrierState {
  uint32_t pending = 0;  ///< Arrivals still expected; 20 bits.
  uint32_t expected = 0; ///< Of the next phase; 20 bits.
  int32_t bytes = 0;     ///< Still to come; 22 bits, signed.
  bool phase = false;

  uint64_t bits() const {
    return pending | uint64_t(expected) << 20 |
           uint64_t(uint32_t(bytes) & 0x3fffff) << 40 | uint64_t(1) << 62 |
           uint64_t(phase) << 63;
  }
  /// False if the bits are no mbarrier.
  bool set(uint64_t bits) {
    pending = bits & 0xfffff;
    expected = bits >> 20 & 0xfffff;
    bytes = static_cast<int32_t>((bits >> 40 & 0x3fffff) << 10) >> 10;
    phase = bits >> 63;
    return bits >> 62 & 1;
  }
};

/// An mbarrier that an instruction names, by its shared::cluster address.
struct MbarrierPlace {
  Cta *cta = nullptr;
  uint8_t *bits = nullptr;
  MbarrierShadow *shadow = nullptr;
  uint32_t address = 0;
};

/// False after a fault: no shared memory there, or no mbarrier.
bool findMbarrier(Warp &w, const Inst &i, unsigned lane, uint32_t address,
                  MbarrierPlace &place);
/// The same of a bulk copy, which sees a fresh mbarrier only behind a fence.
bool findMbarrierOfCopy(Warp &w, const Inst &i, unsigned lane, uint32_t address,
                        MbarrierPlace &place);
/// Changes what it waits for, and ends the phase if that is all.
bool updateMbarrier(Warp &w, const Inst &i, unsigned lane, MbarrierPlace &place,
                    uint32_t arrivals, int64_t expectBytes, uint32_t drops = 0);
/// The agent and time of a copy that will signal this mbarrier.
Accessor copyFor(Warp &w, MbarrierPlace &place);

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_MBARRIER_H
