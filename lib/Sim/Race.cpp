//===-- Race.cpp - Order between accesses to shared memory ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Race.h"

#include <algorithm>

namespace blockscale::sim {

void RaceShadow::reset(uint32_t bytes) {
  entries.assign((bytes + 3) / 4, Entry());
  readers.clear();
  freeReaders.clear();
}

bool RaceShadow::ordered(uint32_t agent, uint32_t time, uint8_t lane,
                         bool wrote, bool thisWrites, const Accessor &by,
                         Conflict &conflict) {
  conflict.otherWrote = wrote;
  conflict.agent = agent;
  conflict.lane = lane;
  conflict.sameWarp = conflict.proxy = false;
  if (agent == by.agent) {
    // Lanes of a warp: two writes may as well be one instruction's.
    if (agent != by.warpAgent || lane == by.lane || (wrote && thisWrites) ||
        time <= by.syncTime)
      return true;
    conflict.sameWarp = true;
    return false;
  }
  if ((*by.known)[agent] < time)
    return false;
  if (by.fenced && agent < by.genericAgents && (*by.fenced)[agent] < time) {
    conflict.proxy = true;
    // Reads need no fence before an asynchronous write that a barrier orders.
    return !wrote;
  }
  return true;
}

template <bool isWrite>
bool RaceShadow::access(uint32_t offset, uint32_t bytes, const Accessor &by,
                        Conflict &conflict) {
  uint32_t end = offset + bytes;
  for (uint32_t i = offset / 4; i * 4 < end; ++i) {
    uint32_t low = std::max(offset, i * 4) - i * 4;
    uint32_t high = std::min(end, i * 4 + 4) - i * 4;
    uint8_t mask = (0xf >> (4 - (high - low))) << low;
    Entry &e = entries[i];
    if (e.writeMask & mask) {
      bool bothAtomic = by.atomic && (e.writeMask & atomicBit);
      if (!bothAtomic && !ordered(e.writeAgent, e.writeTime, e.writeLane, true,
                                  isWrite, by, conflict))
        return false;
    }
    if constexpr (isWrite) {
      if (e.readMask & mask) {
        bool bothAtomic = by.atomic && (e.readMask & atomicBit);
        if (e.readAgent != manyReaders) {
          if (!bothAtomic && !ordered(e.readAgent, e.readTime, e.readLane,
                                      false, true, by, conflict))
            return false;
        } else {
          for (const Read &read : readers[e.readTime])
            if (!bothAtomic && !ordered(read.agent, read.time, read.lane, false,
                                        true, by, conflict))
              return false;
        }
        if (e.readAgent == manyReaders)
          freeReaders.push_back(e.readTime);
        e.readMask = 0;
        e.readAgent = 0;
      }
      bool merges = e.writeAgent == by.agent && e.writeTime == by.time;
      e.writeMask =
          mask | (merges ? e.writeMask & 0xf : 0) | (by.atomic ? atomicBit : 0);
      e.writeAgent = by.agent;
      e.writeTime = by.time;
      e.writeLane = by.lane;
    } else if (!(e.readMask & 0xf) ||
               (e.readAgent == by.agent && e.readAgent != manyReaders) ||
               (e.readAgent != manyReaders &&
                (*by.known)[e.readAgent] >= e.readTime)) {
      // One reader suffices if it comes after the one before.
      bool same = e.readAgent == by.agent && e.readTime == by.time;
      e.readMask =
          mask | (same ? e.readMask & 0xf : 0) | (by.atomic ? atomicBit : 0);
      e.readAgent = by.agent;
      e.readTime = by.time;
      e.readLane = by.lane;
    } else {
      if (e.readAgent != manyReaders) {
        uint32_t index = readers.size();
        if (!freeReaders.empty()) {
          index = freeReaders.back();
          freeReaders.pop_back();
          readers[index].clear();
        } else {
          readers.emplace_back();
        }
        readers[index].push_back({e.readAgent, e.readTime, e.readLane});
        e.readAgent = manyReaders;
        e.readTime = index;
      }
      std::vector<Read> &all = readers[e.readTime];
      auto mine = std::find_if(all.begin(), all.end(), [&](const Read &read) {
        return read.agent == by.agent;
      });
      if (mine == all.end())
        all.push_back({by.agent, by.time, by.lane});
      else
        mine->time = by.time, mine->lane = by.lane;
      if (!by.atomic)
        e.readMask &= ~atomicBit;
      e.readMask |= mask;
    }
  }
  return true;
}

template bool RaceShadow::access<false>(uint32_t, uint32_t, const Accessor &,
                                        Conflict &);
template bool RaceShadow::access<true>(uint32_t, uint32_t, const Accessor &,
                                       Conflict &);

} // namespace blockscale::sim
