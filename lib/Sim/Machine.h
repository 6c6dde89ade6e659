//===-- Machine.h - Warps, CTAs and clusters in execution -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_MACHINE_H
#define BLOCKSCALE_LIB_SIM_MACHINE_H

#include "Chance.h"
#include "Flights.h"
#include "Memory.h"
#include "Program.h"
#include "Race.h"
#include "blockscale/Sim/Simulator.h"

#include <atomic>
#include <functional>
#include <set>

namespace blockscale::sim {

struct Cta;
struct Cluster;

constexpr uint32_t allLanes = 0xffffffff;

template <class F> inline void forLanes(uint32_t mask, F &&f) {
  if (mask == allLanes) {
    for (unsigned lane = 0; lane < 32; ++lane)
      f(lane);
    return;
  }
  for (; mask; mask &= mask - 1)
    f(static_cast<unsigned>(__builtin_ctz(mask)));
}

/// Lanes of a warp that run together. A divergent branch turns one into a
/// parent, which goes on at the post-dominator when its children have come
/// there.
struct Split {
  uint32_t pc = 0;
  uint32_t reconverge = noTarget;
  uint32_t mask = 0;
  int32_t parent = -1;
  uint32_t children = 0;
  bool waiting = false; ///< At a warp-synchronous instruction, for others.
  bool free = false;
};

enum class AccessKind : uint8_t { Read, Write, Atomic };

enum class WarpState : uint8_t {
  Ready,
  AtBarrier,
  AtClusterBarrier,
  AtMbarrier, ///< A try_wait that was not answered yet.
  Done,
};

struct Warp {
  Cluster *cluster = nullptr;
  Cta *cta = nullptr;
  uint32_t index = 0; ///< In the CTA.
  uint32_t agent = 0; ///< In the cluster.
  const Program *program = nullptr;

  std::vector<uint64_t> values; ///< 32 per slot.
  std::vector<uint32_t> predicates;
  std::vector<uint32_t> written; ///< Lanes whose slot has a value.
  std::vector<uint8_t> local, localWritten;

  uint32_t selected = 0; ///< Of selp, prmt: lanes whose choice has a value.
  uint32_t live = 0;
  std::vector<Split> splits;
  int32_t current = 0;
  uint32_t next = 0; ///< The instruction after this one.
  WarpState state = WarpState::Ready;
  bool polled = false;   ///< A wait failed in this turn.
  bool retries = false;  ///< The instruction was not executed: once more.
  bool timedOut = false; ///< A suspended try_wait must answer now.
  bool yields = false;   ///< Ends the turn after this instruction.
  uint32_t lag = 0;      ///< Rounds that it sits out.
  uint32_t waitLine = 0;
  uint64_t waitObject = 0;
  uint32_t waitBarrier = 0; ///< Of bar.sync.
  uint32_t barrierDst = sinkSlot;
  uint32_t clusterGeneration = 0; ///< Arrived for; 0: not arrived.
  uint64_t instructions = 0;

  Clock clock, fenced;
  uint32_t time = 1, syncTime = 0;
  /// Of fence.mbarrier_init: when it came last, and those of other warps that a
  /// cluster barrier, be it relaxed, brought here.
  uint32_t initFence = 0;
  Clock initFences;
  uint32_t copyGroup = 1; ///< Of cp.async, the one being filled.
  uint32_t bulkGroup = 1; ///< Of cp.async.bulk, likewise.

  /// Registers that a wgmma writes until a wait covers its group.
  struct PendingRegister {
    uint32_t slot, group;
  };
  uint32_t warpgroupGroup = 1;
  std::vector<PendingRegister> pending;
  bool isPending(uint32_t slot) const;
  void makePending(uint32_t slot);
  void completePending(uint32_t group);

  uint64_t *lanes(uint32_t slot) { return &values[size_t(slot) * 32]; }
  uint32_t &predicate(uint32_t slot) { return predicates[slot]; }
  Split &split() { return splits[current]; }
  uint32_t mask() { return split().mask; }

  void reset();
  /// Runs until it blocks, ends, yields or `budget` instructions are over.
  void run(unsigned budget);
  void branch(const Inst &inst, uint32_t takenMask, uint32_t mask);
  /// Of brx.idx: lanes by target.
  void branchMany(const Inst &inst, const std::map<uint32_t, uint32_t> &lanes);
  void exit(uint32_t mask);
  /// Whether the lanes of `needed` that live are all here. If not, lets other
  /// lanes of the warp run first, or reports that they cannot come.
  bool gather(const Inst &inst, uint32_t needed, uint32_t mask);

  void fault(Fault kind, const Inst &inst, int lane, std::string message);
  void fault(Fault kind, const Inst &inst, int lane, std::string message,
             uint64_t address);

  /// A checked access: null after a fault.
  uint8_t *access(const Inst &inst, unsigned lane, Space space,
                  uint64_t address, uint32_t bytes, AccessKind kind,
                  uint32_t align);
  /// Shared memory of any CTA of the cluster, `address` as shared::cluster.
  uint8_t *shared(const Inst &inst, int lane, uint32_t address, uint32_t bytes,
                  AccessKind kind, uint32_t align,
                  const Accessor *by = nullptr);
  uint8_t *global(const Inst &inst, int lane, uint64_t address, uint32_t bytes,
                  AccessKind kind, uint32_t align);
  /// A generic address in a shared window becomes a shared::cluster one.
  bool toShared(const Inst &inst, int lane, Space space, uint64_t address,
                uint32_t &result);
  Accessor accessor(unsigned lane) const;

  /// Everything before happens before what is ordered behind `clock` later.
  void release(Clock &into, Clock &fencedInto);
  void acquire(const Clock &from, const Clock &fencedFrom);
  /// Whether such copies are on their way: then the warp tries again later.
  bool waitsFor(const Inst &inst, Flight::Kind kind, uint32_t group);
  void syncLanes() { syncTime = time++, clock.raise(agent, time); }
  uint32_t copyAgent() const;
  uint32_t bulkReadAgent() const;
  uint32_t warpgroupAgent() const;

private:
  int32_t newSplit();
  void finish(int32_t index);
  bool chooseOther();
  void checkRegisters(const Inst &inst, uint32_t mask);
};

struct Barrier {
  uint32_t arrived = 0;  ///< Threads, whole warps.
  uint32_t expected = 0; ///< 0: all threads of the CTA.
  bool inUse = false;
  uint64_t pop = 0;
  bool all = true, any = false;
  uint8_t reduction = 0;
  std::vector<Warp *> waiting;
  Clock clock, fenced;
};

/// What shared memory's 64 bits of an mbarrier do not say.
struct MbarrierShadow {
  uint32_t initAgent = 0, initTime = 0; ///< The warp that initialised it.
  bool isInitFenced = false;
  uint32_t agent = 0; ///< Of the bulk copies that signal it.
  uint32_t copies = 0;
  std::set<uint32_t> inFlight; ///< Copies that have not landed.
  /// Phases that have ended, and the agent whose time they are.
  uint32_t phases = 0, phaseAgent = 0;
  Clock clock, fenced;         ///< Of the phase being filled.
  Clock doneClock, doneFenced; ///< Of the phases before.
};

struct Cta {
  Cluster *cluster = nullptr;
  uint32_t rank = 0;
  Dim3 id;
  std::vector<uint8_t> memory, written; ///< From sharedBase on.
  RaceShadow races;
  Barrier barriers[16];
  std::map<uint32_t, MbarrierShadow> mbarriers;
  std::map<uint32_t, std::pair<Clock, Clock>> atomics; ///< By address.
  std::vector<Warp> warps;
  uint32_t liveWarps = 0;
};

/// What all clusters of a launch share.
struct Machine {
  Memory *memory = nullptr;
  const Program *program = nullptr;
  const Launch *launch = nullptr;
  Dim3 grid, block, cluster;
  std::vector<uint8_t> params;
  uint32_t sharedBytes = 0; ///< All of a CTA, from sharedBase on.
  uint32_t dynamicOffset = 0;
  std::atomic<bool> failed{false};
  std::mutex reportLock;
  Report report;
  uint64_t reportCluster = ~0ull; ///< The first cluster's fault is reported.
};

struct Cluster {
  Machine &machine;
  const Options &options;
  uint64_t number = 0;
  std::vector<Cta> ctas;
  uint32_t agents = 0; ///< Those of warps; mbarriers get the next.
  uint32_t nextAgent = 0;
  uint64_t progress = 0;
  uint32_t warpCount = 0, liveWarps = 0;
  struct {
    uint32_t arrived = 0, generation = 0;
    std::vector<Warp *> waiting;
    Clock clock, fenced, doneClock, doneFenced;
    Clock initFences, doneInitFences;
  } barrier;
  bool failed = false;
  Chance chance;
  Flights flights;

  // Profile
  std::vector<uint64_t> opcodeCounts;
  Profile profile;
  uint64_t warpInstructions = 0;

  explicit Cluster(Machine &machine);
  void start(uint64_t number);
  void run();
  void runRound(std::vector<Warp *> &turns, bool &anyReady, bool &allPoll);
  void reportDeadlock();
  /// A barrier waits for the warps that live.
  void checkBarriers();
};

void completeBarrier(Cta &cta, Barrier &barrier);
void countAccess(Warp &warp, const Inst &inst, uint32_t mask, Space space,
                 const uint64_t *addresses, int64_t offset, uint32_t bytes);

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_MACHINE_H
