//===-- Race.h - Order between accesses to shared memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Happens-before by vector clocks. An *agent* is a warp, the non-bulk copies
// (cp.async) of a warp, the bulk copies that read for a warp, or the bulk
// copies that signal one mbarrier. Each agent counts its own time; a warp's
// clock says up to which time of each agent it has been ordered behind. A
// barrier collects the clocks of those that arrive and hands them to those that
// wait.
//
// The memory's shadow keeps, per 4 bytes, the last write and the reads since. A
// second clock per warp, the *fenced* one, says which generic accesses lie
// before a fence.proxy.async; asynchronous copies need those.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_RACE_H
#define BLOCKSCALE_LIB_SIM_RACE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace blockscale::sim {

class Clock {
public:
  uint32_t operator[](uint32_t agent) const {
    return agent < times.size() ? times[agent] : 0;
  }
  void raise(uint32_t agent, uint32_t time) {
    if (agent >= times.size())
      times.resize(agent + 1);
    if (times[agent] < time)
      times[agent] = time;
  }
  void join(const Clock &other) {
    if (other.times.size() > times.size())
      times.resize(other.times.size());
    for (size_t i = 0; i < other.times.size(); ++i)
      if (times[i] < other.times[i])
        times[i] = other.times[i];
  }
  void clear() { times.clear(); }

private:
  std::vector<uint32_t> times;
};

/// Who accesses, and what it is ordered behind.
struct Accessor {
  uint32_t agent = 0;
  uint32_t time = 0;
  uint8_t lane = 0;
  bool atomic = false;
  const Clock *known = nullptr;
  /// For asynchronous copies: the generic accesses behind a proxy fence.
  const Clock *fenced = nullptr;
  uint32_t genericAgents = 0; ///< Agents below are of the generic proxy.
  /// The warp whose lanes are ordered only up to `syncTime`.
  uint32_t warpAgent = ~0u;
  uint32_t syncTime = 0;
};

struct Conflict {
  bool otherWrote = false;
  bool sameWarp = false;
  bool proxy = false; ///< Ordered, but for the missing proxy fence.
  uint32_t agent = 0;
  uint8_t lane = 0;
};

class RaceShadow {
public:
  void reset(uint32_t bytes);
  /// False, and the earlier access, if it is not ordered before this one.
  bool read(uint32_t offset, uint32_t bytes, const Accessor &by,
            Conflict &conflict) {
    return access<false>(offset, bytes, by, conflict);
  }
  bool write(uint32_t offset, uint32_t bytes, const Accessor &by,
             Conflict &conflict) {
    return access<true>(offset, bytes, by, conflict);
  }

private:
  struct Read {
    uint32_t agent, time;
    uint8_t lane;
  };
  struct Entry {
    uint32_t writeTime = 0, readTime = 0;
    uint16_t writeAgent = 0, readAgent = 0;
    uint8_t writeLane = 0, writeMask = 0, readLane = 0, readMask = 0;
  };
  static constexpr uint16_t manyReaders = 0xffff;
  static constexpr uint8_t atomicBit = 0x80;

  template <bool isWrite>
  bool access(uint32_t offset, uint32_t bytes, const Accessor &by,
              Conflict &conflict);
  bool ordered(uint32_t agent, uint32_t time, uint8_t lane, bool wrote,
               bool thisWrites, const Accessor &by, Conflict &conflict);

  std::vector<Entry> entries;
  std::vector<std::vector<Read>> readers; ///< Where there are several.
  std::vector<uint32_t> freeReaders;
};

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_RACE_H
