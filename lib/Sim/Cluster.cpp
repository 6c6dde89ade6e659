//===-- Cluster.cpp - Runs the warps of a cluster in turns ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Machine.h"
#include "Text.h"

#include <algorithm>

namespace blockscale::sim {

/// A warp falls behind by fewer than 2^6 rounds at a time.
static constexpr uint32_t kLongestLagBits = 6;

static uint64_t specialValue(const Warp &warp, Special special, uint64_t value,
                             unsigned lane) {
  const Cta &cta = *warp.cta;
  const Machine &machine = cta.cluster->machine;
  const Dim3 &block = machine.block, &grid = machine.grid,
             &cluster = machine.cluster;
  uint32_t thread = warp.index * 32 + lane;
  switch (special) {
  case Special::TidX:
    return thread % block.x;
  case Special::TidY:
    return thread / block.x % block.y;
  case Special::TidZ:
    return thread / block.x / block.y % block.z;
  case Special::NtidX:
    return block.x;
  case Special::NtidY:
    return block.y;
  case Special::NtidZ:
    return block.z;
  case Special::CtaidX:
    return cta.id.x;
  case Special::CtaidY:
    return cta.id.y;
  case Special::CtaidZ:
    return cta.id.z;
  case Special::NctaidX:
    return grid.x;
  case Special::NctaidY:
    return grid.y;
  case Special::NctaidZ:
    return grid.z;
  case Special::ClusteridX:
    return cta.id.x / cluster.x;
  case Special::ClusteridY:
    return cta.id.y / cluster.y;
  case Special::ClusteridZ:
    return cta.id.z / cluster.z;
  case Special::NclusteridX:
    return grid.x / cluster.x;
  case Special::NclusteridY:
    return grid.y / cluster.y;
  case Special::NclusteridZ:
    return grid.z / cluster.z;
  case Special::ClusterCtaidX:
    return cta.id.x % cluster.x;
  case Special::ClusterCtaidY:
    return cta.id.y % cluster.y;
  case Special::ClusterCtaidZ:
    return cta.id.z % cluster.z;
  case Special::ClusterNctaidX:
    return cluster.x;
  case Special::ClusterNctaidY:
    return cluster.y;
  case Special::ClusterNctaidZ:
    return cluster.z;
  case Special::ClusterCtarank:
    return cta.rank;
  case Special::ClusterNctarank:
    return cluster.count();
  case Special::IsExplicitCluster:
    return cluster.count() > 1;
  case Special::Laneid:
    return lane;
  case Special::Warpid:
    return warp.index;
  case Special::Nwarpid:
    return cta.warps.size();
  case Special::Smid:
    return 0;
  case Special::Nsmid:
    return 1;
  case Special::Gridid:
    return 0;
  case Special::LanemaskEq:
    return 1u << lane;
  case Special::LanemaskLe:
    return (2u << lane) - 1;
  case Special::LanemaskLt:
    return (1u << lane) - 1;
  case Special::LanemaskGe:
    return uint32_t(~((1u << lane) - 1));
  case Special::LanemaskGt:
    return uint32_t(~((2u << lane) - 1));
  case Special::DynamicSmemSize:
    return machine.launch->sharedBytes;
  case Special::TotalSmemSize:
  case Special::AggrSmemSize:
    return machine.sharedBytes + sharedBase;
  case Special::SharedAddress:
    return (cta.rank << rankShift) + sharedBase + value;
  case Special::DynamicShared:
    return (cta.rank << rankShift) + sharedBase + machine.dynamicOffset + value;
  default:
    return 0;
  }
}

Cluster::Cluster(Machine &machine)
    : machine(machine), options(machine.launch->options), flights(*this) {
  const Program &program = *machine.program;
  ctas.resize(machine.cluster.count());
  uint32_t threads = machine.block.count();
  uint32_t warpsPerCta = (threads + 31) / 32;
  opcodeCounts.resize(program.opcodes.size());
  for (Cta &cta : ctas) {
    cta.cluster = this;
    cta.rank = &cta - ctas.data();
    cta.warps.resize(warpsPerCta);
    for (Warp &warp : cta.warps) {
      warp.cluster = this;
      warp.cta = &cta;
      warp.index = &warp - cta.warps.data();
      warp.agent = warpCount++;
      warp.program = &program;
      warp.values.resize(size_t(program.slots) * 32);
      warp.predicates.resize(program.slots);
      warp.written.resize(program.slots);
      warp.local.resize(program.localBytes * 32);
      warp.localWritten.resize(program.localBytes * 32);
    }
  }
}

void Cluster::start(uint64_t which) {
  number = which;
  const Program &program = *machine.program;
  Dim3 clusters = {machine.grid.x / machine.cluster.x,
                   machine.grid.y / machine.cluster.y,
                   machine.grid.z / machine.cluster.z};
  Dim3 at = {uint32_t(which % clusters.x),
             uint32_t(which / clusters.x % clusters.y),
             uint32_t(which / clusters.x / clusters.y)};
  nextAgent = 4 * warpCount;
  liveWarps = warpCount;
  progress = 0;
  failed = false;
  barrier = {};
  chance.start(options.seed, which);
  flights.start();
  uint32_t threads = machine.block.count();
  for (Cta &cta : ctas) {
    cta.id = {at.x * machine.cluster.x + cta.rank % machine.cluster.x,
              at.y * machine.cluster.y +
                  cta.rank / machine.cluster.x % machine.cluster.y,
              at.z * machine.cluster.z +
                  cta.rank / machine.cluster.x / machine.cluster.y};
    cta.memory.assign(machine.sharedBytes, 0xcb);
    cta.written.assign(machine.sharedBytes, 0);
    if (options.checkRaces)
      cta.races.reset(machine.sharedBytes);
    for (Barrier &barrier : cta.barriers)
      barrier = Barrier();
    cta.mbarriers.clear();
    cta.atomics.clear();
    cta.liveWarps = cta.warps.size();
    for (Warp &warp : cta.warps) {
      warp.reset();
      std::fill(warp.written.begin(), warp.written.end(), 0);
      std::fill(warp.localWritten.begin(), warp.localWritten.end(), 0);
      uint32_t lanes = std::min(32u, threads - warp.index * 32);
      warp.live = lanes == 32 ? allLanes : (1u << lanes) - 1;
      warp.splits[0].mask = warp.live;
      warp.written[alwaysTrue] = allLanes;
      warp.predicates[alwaysTrue] = allLanes;
      for (const Program::Fill &fill : program.immediates) {
        std::fill_n(warp.lanes(fill.slot), 32, fill.bits);
        warp.predicates[fill.slot] = fill.bits & 1 ? allLanes : 0;
        warp.written[fill.slot] = allLanes;
      }
      for (const Program::SpecialFill &fill : program.specials) {
        for (unsigned lane = 0; lane < 32; ++lane)
          warp.lanes(fill.slot)[lane] =
              specialValue(warp, fill.special, fill.value, lane);
        warp.written[fill.slot] = allLanes;
      }
    }
  }
}

/// Every warp that lives waits: who, where, for what.
void Cluster::reportDeadlock() {
  std::string places;
  Warp *first = nullptr;
  unsigned shown = 0;
  for (Cta &cta : ctas)
    for (Warp &warp : cta.warps) {
      if (warp.state == WarpState::Done)
        continue;
      if (!first)
        first = &warp;
      if (++shown > 8)
        continue;
      places += "\n  warp " + std::to_string(warp.index);
      if (ctas.size() > 1)
        places += " of CTA " + std::to_string(cta.rank);
      std::string line = " at line " + std::to_string(warp.waitLine);
      switch (warp.state) {
      case WarpState::AtBarrier: {
        const Barrier &barrier = cta.barriers[warp.waitBarrier];
        uint32_t expected =
            barrier.expected ? barrier.expected : cta.liveWarps * 32;
        places += line + " waits for barrier " +
                  std::to_string(warp.waitBarrier) + ": " +
                  std::to_string(barrier.arrived) + " of " +
                  std::to_string(expected) + " threads have arrived";
        break;
      }
      case WarpState::AtClusterBarrier:
        places += line + " waits for the cluster's barrier: " +
                  std::to_string(barrier.arrived) + " of " +
                  std::to_string(liveWarps) + " warps have arrived";
        break;
      default:
        places += line + " waits for the mbarrier at " + hex(warp.waitObject);
      }
    }
  if (shown > 8)
    places += "\n  and " + std::to_string(shown - 8) + " more";
  Inst inst = machine.program->code[first->split().pc];
  inst.line = first->waitLine;
  for (const Inst &other : machine.program->code)
    if (other.line == first->waitLine)
      inst.opcode = other.opcode;
  first->fault(Fault::Deadlock, inst, -1,
               "no warp can go on; these wait:" + places);
}

/// Warps take turns of random length in random order; now and then one falls
/// behind.
void Cluster::runRound(std::vector<Warp *> &turns, bool &anyReady,
                       bool &allPoll) {
  if (chance)
    for (uint32_t left = turns.size(); left > 1; --left)
      std::swap(turns[left - 1], turns[chance.below(left)]);
  for (Warp *warp : turns) {
    if (warp->state != WarpState::Ready)
      continue;
    anyReady = true;
    unsigned budget = options.quantum;
    if (chance) {
      if (warp->lag == 0 && chance.below(32) == 0)
        warp->lag = chance.spread(kLongestLagBits);
      if (warp->lag) {
        --warp->lag;
        allPoll = false;
        continue;
      }
      budget = 1 + chance.below(2 * std::min(budget, 1u << 30));
    }
    warp->polled = false;
    warp->run(budget);
    if (failed)
      return;
    if (warp->state == WarpState::Ready && !warp->polled)
      allPoll = false;
  }
}

void Cluster::run() {
  std::vector<Warp *> turns;
  for (Cta &cta : ctas)
    for (Warp &warp : cta.warps)
      turns.push_back(&warp);
  uint64_t lastProgress = 0;
  unsigned idleRounds = 0;
  while (liveWarps && !failed) {
    bool anyReady = false, allPoll = true;
    runRound(turns, anyReady, allPoll);
    if (!liveWarps || failed)
      break;
    flights.pass();
    if (progress == lastProgress && allPoll)
      flights.landNext();
    bool moved = progress != lastProgress;
    lastProgress = progress;
    if (moved)
      idleRounds = 0;
    // A suspended try_wait looks again when something has changed; if nothing
    // can change, its time is up and it answers no.
    for (Warp *warp : turns)
      if (warp->state == WarpState::AtMbarrier && (moved || allPoll)) {
        warp->state = WarpState::Ready;
        warp->timedOut = !moved;
        anyReady = true;
      }
    if (!anyReady || (!moved && allPoll && ++idleRounds > 64)) {
      reportDeadlock();
      return;
    }
  }
  flights.landAll();
  if (failed)
    return;
  for (Warp *warp : turns)
    warpInstructions += warp->instructions;
}

/// All have arrived: the waiting warps go on.
void completeBarrier(Cta &cta, Barrier &barrier) {
  for (Warp *warp : barrier.waiting) {
    warp->acquire(barrier.clock, barrier.fenced);
    warp->syncLanes();
    warp->state = WarpState::Ready;
    if (warp->barrierDst == sinkSlot)
      continue;
    uint64_t value = barrier.reduction == 1   ? barrier.all
                     : barrier.reduction == 2 ? barrier.any
                                              : barrier.pop;
    std::fill_n(warp->lanes(warp->barrierDst), 32, value);
    warp->predicate(warp->barrierDst) = value ? allLanes : 0;
  }
  barrier = Barrier();
  ++cta.cluster->progress;
}

void Cluster::checkBarriers() {
  for (Cta &cta : ctas)
    for (Barrier &barrier : cta.barriers)
      if (barrier.inUse && !barrier.expected &&
          barrier.arrived >= cta.liveWarps * 32)
        completeBarrier(cta, barrier);
  if (barrier.arrived && barrier.arrived >= liveWarps) {
    barrier.arrived = 0;
    ++barrier.generation;
    barrier.doneClock.join(barrier.clock);
    barrier.doneFenced.join(barrier.fenced);
    barrier.doneInitFences.join(barrier.initFences);
    for (Warp *warp : barrier.waiting) {
      warp->acquire(barrier.doneClock, barrier.doneFenced);
      warp->initFences.join(barrier.doneInitFences);
      warp->syncLanes();
      warp->state = WarpState::Ready;
    }
    barrier.waiting.clear();
    ++progress;
  }
}

} // namespace blockscale::sim
