//===-- Warp.cpp - Steps of a warp, divergence ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Machine.h"
#include "Text.h"

namespace blockscale::sim {

void Warp::fault(Fault kind, const Inst &inst, int lane, std::string message) {
  cluster->failed = true;
  Machine &machine = cluster->machine;
  std::lock_guard<std::mutex> guard(machine.reportLock);
  machine.failed = true;
  // Clusters run in any order; the report should not depend on it.
  if (cluster->number >= machine.reportCluster)
    return;
  machine.reportCluster = cluster->number;
  Report &report = machine.report;
  report = Report();
  report.fault = kind;
  report.message = std::move(message);
  report.line = inst.line;
  report.instruction = program->opcodes[inst.opcode];
  report.cta = cta->id;
  report.hasThread = true;
  uint32_t thread = index * 32 + (lane < 0 ? 0 : lane);
  const Dim3 &block = machine.block;
  report.thread = {thread % block.x, thread / block.x % block.y,
                   thread / block.x / block.y};
}

void Warp::fault(Fault kind, const Inst &inst, int lane, std::string message,
                 uint64_t address) {
  bool first = !cluster->failed;
  fault(kind, inst, lane, std::move(message));
  if (first && cluster->machine.reportCluster == cluster->number) {
    cluster->machine.report.address = address;
    cluster->machine.report.hasAddress = true;
  }
}

int32_t Warp::newSplit() {
  for (size_t i = 0; i < splits.size(); ++i)
    if (splits[i].free) {
      splits[i] = Split();
      return i;
    }
  splits.emplace_back();
  return splits.size() - 1;
}

/// The split is over: it has come to its parent, or all its lanes have exited.
void Warp::finish(int32_t index) {
  for (Split &split : splits)
    split.waiting = false;
  while (index >= 0) {
    int32_t parent = splits[index].parent;
    splits[index].free = true;
    if (parent < 0)
      break;
    if (--splits[parent].children == 0 && splits[parent].mask == 0) {
      index = parent;
      continue;
    }
    current = parent;
    break;
  }
  if (splits[current].free || splits[current].children)
    chooseOther();
}

/// Some lanes that can go on; the ones that diverged last.
bool Warp::chooseOther() {
  for (int32_t i = splits.size() - 1; i >= 0; --i)
    if (!splits[i].free && !splits[i].children && !splits[i].waiting) {
      current = i;
      return true;
    }
  return false;
}

void Warp::branchMany(const Inst &inst,
                      const std::map<uint32_t, uint32_t> &lanes) {
  if (lanes.size() == 1) {
    split().pc = lanes.begin()->first;
    return;
  }
  int32_t parent = current;
  splits[parent].pc = inst.reconverge;
  int32_t last = parent;
  for (auto [target, mask] : lanes) {
    if (target == inst.reconverge)
      continue;
    int32_t child = newSplit();
    Split &split = splits[child];
    split.pc = target;
    split.mask = mask;
    split.reconverge = inst.reconverge;
    split.parent = parent;
    ++splits[parent].children;
    last = child;
  }
  current = last;
}

void Warp::branch(const Inst &inst, uint32_t takenMask, uint32_t mask) {
  if (takenMask == mask)
    split().pc = inst.target;
  else
    branchMany(inst, {{inst.target, takenMask}, {next, mask & ~takenMask}});
}

void Warp::exit(uint32_t mask) {
  live &= ~mask;
  int32_t here = current;
  for (Split &split : splits)
    split.mask &= ~mask;
  splits[here].pc = next;
  if (splits[here].mask == 0)
    finish(here);
  for (Split &split : splits)
    split.waiting = false;
  if (live == 0) {
    state = WarpState::Done;
    --cta->liveWarps;
    --cluster->liveWarps;
    ++cluster->progress;
    cluster->checkBarriers();
  }
}

bool Warp::gather(const Inst &inst, uint32_t needed, uint32_t mask) {
  uint32_t missing = needed & live & ~mask;
  if (!missing)
    return true;
  Split &here = split();
  if (missing & ~here.mask) {
    // Let the others come here, or exit.
    here.waiting = true;
    int32_t mine = current;
    if (chooseOther()) {
      retries = true;
      return false;
    }
    uint32_t merged = 0;
    for (Split &other : splits)
      if (!other.free && other.waiting && &other != &here &&
          other.pc == here.pc && other.parent == here.parent) {
        here.mask |= other.mask;
        merged |= other.mask;
        other.free = true;
        --splits[here.parent].children;
      }
    current = mine;
    here.waiting = false;
    if (merged) {
      retries = true;
      return false;
    }
  }
  std::string place;
  for (const Split &other : splits)
    if (!other.free && !other.children && (other.mask & missing) &&
        &other != &here)
      place = " (some wait at line " +
              std::to_string(program->code[other.pc].line) + ")";
  fault(Fault::BadSync, inst, __builtin_ctz(mask),
        "expects lanes " + hex(needed) +
            " to execute this together, but lanes " + hex(missing) + " do not" +
            place);
  return false;
}

void Warp::checkRegisters(const Inst &inst, uint32_t mask) {
  for (unsigned i = 0; i < inst.srcs; ++i) {
    uint32_t missing = mask & ~written[inst.src(i)];
    if (missing) {
      uint32_t slot = inst.src(i);
      fault(Fault::Uninitialized, inst, __builtin_ctz(missing),
            "reads register '" + program->slotNames[slot] +
                (isPending(slot)
                     ? "', which a wgmma writes that no wait_group has covered"
                     : "', which has no value"));
      return;
    }
  }
}

void Warp::run(unsigned budget) {
  const Inst *code = program->code.data();
  const bool checks = cluster->options.checkRegisters;
  const bool profile = cluster->options.profile;
  const uint64_t limit = cluster->options.maxInstructions;
  yields = false;
  for (; budget && state == WarpState::Ready && !yields; --budget) {
    while (split().pc == split().reconverge)
      finish(current);
    const int32_t here = current;
    const Inst &inst = code[splits[here].pc];
    next = splits[here].pc + 1;
    retries = false;
    uint32_t mask = splits[here].mask;
    if (inst.guard != alwaysTrue) {
      uint32_t guard = predicates[inst.guard];
      if (checks && (mask & ~written[inst.guard])) {
        fault(Fault::Uninitialized, inst,
              __builtin_ctz(mask & ~written[inst.guard]),
              "reads predicate '" + program->slotNames[inst.guard] +
                  "', which has no value");
        return;
      }
      mask &= inst.guardNegated ? ~guard : guard;
    }
    ++instructions;
    if (mask) {
      if (inst.propagates || inst.selects) {
        uint32_t from = 0;
        for (unsigned i = 0; i < inst.srcs; ++i)
          from |= written[inst.src(i)];
        inst.run(*this, inst, mask);
        if (inst.selects)
          from = selected;
        for (unsigned i = 0; i < inst.dsts; ++i) {
          uint32_t &to = written[inst.dst(i)];
          to = (to & ~mask) | (from & mask);
        }
      } else {
        if (checks) {
          checkRegisters(inst, mask);
          if (cluster->failed)
            return;
        }
        inst.run(*this, inst, mask);
        if (!retries)
          for (unsigned i = 0; i < inst.dsts; ++i)
            written[inst.dst(i)] |= mask;
      }
      if (cluster->failed)
        return;
      if (profile && !retries) {
        ++cluster->opcodeCounts[inst.opcode];
        cluster->profile.threadInstructions += __builtin_popcount(mask);
      }
      if (!inst.branches && !retries)
        splits[here].pc = next;
    } else {
      splits[here].pc = next;
    }
    if (limit && instructions > limit) {
      fault(Fault::TooLong, inst, -1,
            "the warp has executed " + std::to_string(limit) +
                " instructions, the limit");
      return;
    }
    if (cluster->machine.failed.load(std::memory_order_relaxed) &&
        cluster->machine.reportCluster < cluster->number) {
      cluster->failed = true;
      return;
    }
  }
}

void Warp::reset() {
  live = 0;
  splits.assign(1, Split());
  current = 0;
  state = WarpState::Ready;
  polled = retries = timedOut = yields = false;
  instructions = 0;
  lag = 0;
  clock.clear();
  fenced.clear();
  time = 1;
  syncTime = 0;
  initFence = 0;
  initFences.clear();
  copyGroup = bulkGroup = 1;
  clusterGeneration = 0;
  warpgroupGroup = 1;
  pending.clear();
}

void Warp::release(Clock &into, Clock &fencedInto) {
  clock.raise(agent, time);
  into.join(clock);
  fencedInto.join(fenced);
  ++time;
  clock.raise(agent, time);
}

void Warp::acquire(const Clock &from, const Clock &fencedFrom) {
  clock.join(from);
  fenced.join(fencedFrom);
}

bool Warp::isPending(uint32_t slot) const {
  for (const PendingRegister &other : pending)
    if (other.slot == slot)
      return true;
  return false;
}

void Warp::makePending(uint32_t slot) {
  written[slot] = 0;
  for (PendingRegister &other : pending)
    if (other.slot == slot) {
      other.group = warpgroupGroup;
      return;
    }
  pending.push_back({slot, warpgroupGroup});
}

void Warp::completePending(uint32_t group) {
  size_t kept = 0;
  for (const PendingRegister &other : pending) {
    if (other.group <= group)
      written[other.slot] = allLanes;
    else
      pending[kept++] = other;
  }
  pending.resize(kept);
}

bool Warp::waitsFor(const Inst &inst, Flight::Kind kind, uint32_t group) {
  if (!cluster->flights.isPending(*this, kind, group))
    return false;
  waitLine = inst.line;
  retries = polled = yields = true;
  return true;
}

uint32_t Warp::copyAgent() const { return cluster->warpCount + agent; }
uint32_t Warp::bulkReadAgent() const { return 2 * cluster->warpCount + agent; }

uint32_t Warp::warpgroupAgent() const { return 3 * cluster->warpCount + agent; }

} // namespace blockscale::sim
