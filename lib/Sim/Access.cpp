//===-- Access.cpp - Checked loads and stores -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Machine.h"
#include "Text.h"

#include <algorithm>
#include <set>

namespace blockscale::sim {

static const char *verb(AccessKind kind) {
  return kind == AccessKind::Read    ? "reads "
         : kind == AccessKind::Write ? "writes "
                                     : "updates ";
}

/// Reads check the flags of bytes, writes set them.
static bool checkWritten(Warp &warp, const Inst &inst, int lane,
                         uint8_t *written, uint32_t bytes, AccessKind kind,
                         uint64_t address, const char *where) {
  if (kind != AccessKind::Write && warp.cluster->options.checkMemory) {
    if (const void *hole = std::memchr(written, 0, bytes)) {
      size_t index = static_cast<const uint8_t *>(hole) - written;
      warp.fault(Fault::Uninitialized, inst, lane,
                 std::string("reads ") + where + " memory that was never " +
                     "written, byte " + std::to_string(index) + " of " +
                     std::to_string(bytes),
                 address);
      return false;
    }
  }
  if (kind != AccessKind::Read)
    std::memset(written, 1, bytes);
  return true;
}

Accessor Warp::accessor(unsigned lane) const {
  Accessor by;
  by.agent = by.warpAgent = agent;
  by.time = time;
  by.lane = lane;
  by.known = &clock;
  by.genericAgents = 2 * cluster->warpCount;
  by.syncTime = cluster->options.checkWarpRaces ? syncTime : ~0u;
  return by;
}

uint8_t *Warp::global(const Inst &inst, int lane, uint64_t address,
                      uint32_t bytes, AccessKind kind, uint32_t align) {
  if (align > 1 && address % align) {
    fault(Fault::Misaligned, inst, lane,
          "expects an address that is a multiple of " + std::to_string(align),
          address);
    return nullptr;
  }
  Memory &memory = *cluster->machine.memory;
  Allocation *allocation = memory.find(address, bytes);
  if (!allocation) {
    fault(Fault::OutOfBounds, inst, lane,
          verb(kind) + std::to_string(bytes) +
              " bytes out of bounds: " + memory.describe(address),
          address);
    return nullptr;
  }
  if (allocation->readOnly && kind != AccessKind::Read) {
    fault(Fault::OutOfBounds, inst, lane, "writes constant memory", address);
    return nullptr;
  }
  uint64_t offset = address - allocation->base;
  if (!checkWritten(*this, inst, lane, allocation->written.get() + offset,
                    bytes, kind, address, "global"))
    return nullptr;
  if (kind != AccessKind::Read)
    ++cluster->progress;
  return allocation->data.get() + offset;
}

uint8_t *Warp::shared(const Inst &inst, int lane, uint32_t address,
                      uint32_t bytes, AccessKind kind, uint32_t align,
                      const Accessor *by) {
  uint32_t rank = address >> rankShift;
  uint32_t offset = (address & ((1u << rankShift) - 1)) - sharedBase;
  if (align > 1 && address % align) {
    fault(Fault::Misaligned, inst, lane,
          "expects a shared address that is a multiple of " +
              std::to_string(align),
          address);
    return nullptr;
  }
  uint32_t size = cluster->machine.sharedBytes;
  if (rank >= cluster->ctas.size() || offset > size || bytes > size - offset) {
    fault(Fault::OutOfBounds, inst, lane,
          verb(kind) + std::to_string(bytes) + " bytes of shared memory at " +
              "offset " + std::to_string(int32_t(offset)) +
              ", but the CTA has " + std::to_string(size) + " bytes",
          address);
    return nullptr;
  }
  Cta &owner = cluster->ctas[rank];
  if (owner.liveWarps == 0 && &owner != cta) {
    fault(Fault::OutOfBounds, inst, lane,
          "accesses shared memory of CTA " + std::to_string(rank) +
              " of the cluster, which has exited",
          address);
    return nullptr;
  }
  if (cluster->options.checkRaces) {
    Accessor mine;
    if (!by) {
      mine = accessor(lane);
      mine.atomic = kind == AccessKind::Atomic;
      by = &mine;
    }
    Conflict conflict;
    bool good = kind == AccessKind::Read
                    ? owner.races.read(offset, bytes, *by, conflict)
                    : owner.races.write(offset, bytes, *by, conflict);
    if (!good) {
      uint32_t warps = cluster->warpCount, perCta = cta->warps.size();
      std::string other;
      uint32_t agent = conflict.agent;
      if (agent >= 4 * warps) {
        other = "a bulk copy";
      } else {
        if (agent >= 3 * warps)
          other = "a wgmma of ";
        else if (agent >= 2 * warps)
          other = "a bulk copy of ";
        else if (agent >= warps)
          other = "a cp.async of ";
        agent %= warps;
        other += "warp " + std::to_string(agent % perCta);
        if (agent < warps && conflict.agent < warps)
          other += " lane " + std::to_string(conflict.lane);
        if (cluster->ctas.size() > 1)
          other += " of CTA " + std::to_string(agent / perCta);
      }
      std::string message = verb(kind);
      message += "shared memory that " + other +
                 (conflict.otherWrote ? " wrote" : " read");
      if (conflict.proxy)
        message += " with no fence.proxy.async between";
      else if (conflict.sameWarp)
        message += " with no bar.warp.sync between the lanes";
      else
        message += " with nothing that orders the two";
      fault(Fault::Race, inst, lane, message, address);
      return nullptr;
    }
  }
  if (!checkWritten(*this, inst, lane, owner.written.data() + offset, bytes,
                    kind, address, "shared"))
    return nullptr;
  if (kind != AccessKind::Read)
    ++cluster->progress;
  return owner.memory.data() + offset;
}

bool Warp::toShared(const Inst &inst, int lane, Space space, uint64_t address,
                    uint32_t &result) {
  if (space == Space::Shared) {
    result = static_cast<uint32_t>(address);
    return true;
  }
  if (inWindow(address, sharedWindow)) {
    result = static_cast<uint32_t>(address);
    return true;
  }
  fault(Fault::OutOfBounds, inst, lane, "expects an address of shared memory",
        address);
  return false;
}

uint8_t *Warp::access(const Inst &inst, unsigned lane, Space space,
                      uint64_t address, uint32_t bytes, AccessKind kind,
                      uint32_t align) {
  if (space == Space::Generic) {
    if (inWindow(address, sharedWindow))
      space = Space::Shared;
    else if (inWindow(address, localWindow))
      space = Space::Local;
    else if (inWindow(address, paramWindow))
      space = Space::Param, address &= 0xffffffff;
    else
      space = Space::Global;
  }
  // Parameters of calls lie in local memory.
  if (space == Space::Param && (address & 0x80000000)) {
    space = Space::Local;
    address &= 0x7fffffff;
  }
  switch (space) {
  case Space::Generic:
  case Space::Global:
  case Space::Const:
    return global(inst, lane, address, bytes, kind, align);
  case Space::Shared:
    return shared(inst, lane, static_cast<uint32_t>(address), bytes, kind,
                  align);
  case Space::Param: {
    std::vector<uint8_t> &params = cluster->machine.params;
    if (address > params.size() || bytes > params.size() - address ||
        kind != AccessKind::Read) {
      fault(Fault::OutOfBounds, inst, lane,
            verb(kind) + std::to_string(bytes) + " bytes at byte " +
                std::to_string(address) + " of the " +
                std::to_string(params.size()) + " bytes of parameters",
            address);
      return nullptr;
    }
    return params.data() + address;
  }
  case Space::Local: {
    uint64_t offset = static_cast<uint32_t>(address);
    if (align > 1 && address % align) {
      fault(Fault::Misaligned, inst, lane,
            "expects a local address that is a multiple of " +
                std::to_string(align),
            address);
      return nullptr;
    }
    uint64_t size = program->localBytes;
    if (offset > size || bytes > size - offset) {
      fault(Fault::OutOfBounds, inst, lane,
            verb(kind) + std::to_string(bytes) + " bytes at byte " +
                std::to_string(offset) + " of the " + std::to_string(size) +
                " bytes of local memory",
            address);
      return nullptr;
    }
    offset += lane * size;
    if (!checkWritten(*this, inst, lane, localWritten.data() + offset, bytes,
                      kind, address, "local"))
      return nullptr;
    return local.data() + offset;
  }
  }
  return nullptr;
}

/// Bank conflicts and sectors of one warp instruction.
void countAccess(Warp &warp, const Inst &inst, uint32_t mask, Space space,
                 const uint64_t *addresses, int64_t offset, uint32_t bytes) {
  (void)inst;
  unsigned first = __builtin_ctz(mask);
  uint64_t address = addresses[first] + offset;
  Profile &profile = warp.cluster->profile;
  bool isShared = space == Space::Shared ||
                  (space == Space::Generic && inWindow(address, sharedWindow));
  if (isShared) {
    // 32 banks of 4 bytes; a wavefront reads one word of each. Wide accesses
    // are served for as many lanes at a time as 128 bytes hold.
    unsigned lanesAtOnce = bytes <= 4 ? 32 : std::max(1u, 128 / bytes);
    ++profile.sharedAccesses;
    for (unsigned start = 0; start < 32; start += lanesAtOnce) {
      std::set<uint64_t> words[32];
      size_t wavefronts = 0, total = 0;
      for (unsigned lane = start; lane < start + lanesAtOnce; ++lane)
        if (mask >> lane & 1)
          for (uint32_t b = 0; b < std::max(bytes, 4u); b += 4) {
            uint64_t word = (addresses[lane] + offset + b) / 4;
            total += words[word % 32].insert(word).second;
            wavefronts = std::max(wavefronts, words[word % 32].size());
          }
      profile.sharedWavefronts += wavefronts;
      profile.sharedIdealWavefronts += (total + 31) / 32;
    }
    return;
  }
  bool isGlobal = space == Space::Global ||
                  (space == Space::Generic && !inWindow(address, localWindow) &&
                   !inWindow(address, paramWindow));
  if (!isGlobal)
    return;
  std::set<uint64_t> sectors;
  forLanes(mask, [&](unsigned lane) {
    uint64_t a = addresses[lane] + offset;
    for (uint64_t s = a / 32; s <= (a + bytes - 1) / 32; ++s)
      sectors.insert(s);
    profile.globalBytes += bytes;
  });
  ++profile.globalAccesses;
  profile.globalSectors += sectors.size();
}

} // namespace blockscale::sim
