//===-- ControlFlow.cpp - Branches and where they meet again ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Immediate post-dominators by Cooper, Harvey and Kennedy's iteration over the
// reversed graph of basic blocks.
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Moves.h"

#include <algorithm>

namespace blockscale::sim {

namespace {
constexpr uint64_t endsProgram = 1; ///< Inst::mode of exit and trap.

void runBranch(Warp &warp, const Inst &inst, uint32_t mask) {
  warp.branch(inst, mask, warp.mask());
}

void runIndexedBranch(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &targets = inst.as<std::vector<uint32_t>>();
  const uint64_t *index = warp.lanes(inst.src(0));
  std::map<uint32_t, uint32_t> lanes;
  bool good = true;
  forLanes(mask, [&](unsigned lane) {
    uint32_t which = index[lane];
    if (which >= targets.size())
      good = false;
    else
      lanes[targets[which]] |= 1u << lane;
  });
  if (!good)
    return warp.fault(Fault::BadOperand, inst, __builtin_ctz(mask),
                      "expects an index below " +
                          std::to_string(targets.size()));
  if (uint32_t rest = warp.mask() & ~mask)
    lanes[warp.next] |= rest;
  warp.branchMany(inst, lanes);
}

void runExit(Warp &warp, const Inst &, uint32_t mask) { warp.exit(mask); }

void runTrap(Warp &warp, const Inst &inst, uint32_t mask) {
  warp.fault(Fault::Trap, inst, __builtin_ctz(mask), "the program trapped");
}

void runNothing(Warp &, const Inst &, uint32_t) {}

void runYield(Warp &warp, const Inst &, uint32_t) { warp.yields = true; }

bool decodeNothing(Decoder &d) { return d.run(runNothing); }
bool decodeYield(Decoder &d) { return d.run(runYield); }

bool decodeBranch(Decoder &d) {
  d.inst.branches = true;
  return d.expectOperands(1, 1) && d.label(d.operand(0), d.inst.target) &&
         d.run(runBranch);
}

bool decodeIndexedBranch(Decoder &d) {
  auto targets = std::make_shared<std::vector<uint32_t>>();
  d.inst.branches = true;
  if (!d.expectOperands(2, 2) || !d.src(0, Type::U32) ||
      !d.targets(d.operand(1), *targets))
    return false;
  d.inst.data = targets;
  return d.run(runIndexedBranch);
}

bool decodeExit(Decoder &d) {
  d.inst.branches = true;
  d.inst.mode = endsProgram;
  return d.run(runExit);
}

bool decodeTrap(Decoder &d) {
  d.inst.mode = endsProgram;
  return d.run(runTrap);
}
} // namespace

Handler branchHandler() { return runBranch; }
Handler trapHandler() { return runTrap; }

bool decodeReturn(Decoder &d) {
  if (d.frames.size() == 1)
    return decodeExit(d);
  d.inst.branches = true;
  d.inst.target = d.frames.back().end;
  return d.run(runBranch);
}

void addControl(OpcodeTable &table) {
  table["bra"] = decodeBranch;
  table["brx"] = decodeIndexedBranch;
  table["ret"] = decodeReturn;
  table["exit"] = decodeExit;
  table["trap"] = decodeTrap;
  table["brkpt"] = decodeTrap;
  table["nanosleep"] = decodeYield;
  // Order and hints that one memory without caches has anyway. fence.proxy and
  // mbarrier's fences are in Barriers.cpp.
  for (const char *name : {"membar", "prefetch", "prefetchu", "griddepcontrol",
                           "setmaxnreg", "pmevent", "discard", "applypriority"})
    table[name] = decodeNothing;
}

void Decoder::resolveLabels() {
  for (Inst &inst : program.code) {
    if (inst.target != noTarget)
      inst.target = labelPositions[inst.target];
    if (inst.run == runIndexedBranch) {
      auto targets = std::make_shared<std::vector<uint32_t>>(
          inst.as<std::vector<uint32_t>>());
      for (uint32_t &target : *targets)
        target = labelPositions[target];
      inst.data = targets;
    }
  }
}

void Decoder::findPostDominators() {
  std::vector<Inst> &code = program.code;
  // Basic blocks; the last number is the end of the program.
  std::vector<bool> leads(code.size() + 1);
  leads[0] = true;
  auto leader = [&](uint32_t at) {
    if (at < code.size())
      leads[at] = true;
  };
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].target != noTarget)
      leader(code[i].target);
    if (code[i].run == runIndexedBranch)
      for (uint32_t target : code[i].as<std::vector<uint32_t>>())
        leader(target);
    if (code[i].branches || code[i].mode == endsProgram)
      leader(i + 1);
  }
  std::vector<uint32_t> starts, blockOf(code.size());
  for (size_t i = 0; i < code.size(); ++i) {
    if (leads[i])
      starts.push_back(i);
    blockOf[i] = starts.size() - 1;
  }
  uint32_t end = starts.size();
  std::vector<std::vector<uint32_t>> successors(end + 1), predecessors(end + 1);
  for (uint32_t b = 0; b < end; ++b) {
    uint32_t last = (b + 1 < end ? starts[b + 1] : code.size()) - 1;
    const Inst &inst = code[last];
    auto to = [&](uint32_t block) {
      successors[b].push_back(block);
      predecessors[block].push_back(b);
    };
    bool isExit = inst.run == runExit || inst.run == runTrap;
    if (isExit)
      to(end);
    if (inst.target != noTarget)
      to(blockOf[inst.target]);
    if (inst.run == runIndexedBranch)
      for (uint32_t target : inst.as<std::vector<uint32_t>>())
        to(blockOf[target]);
    bool falls = inst.guard != alwaysTrue || (!isExit && !inst.branches);
    if (falls)
      to(last + 1 < code.size() ? blockOf[last + 1] : end);
  }
  // Postorder of the reversed graph, from the end.
  std::vector<uint32_t> order, position(end + 1, ~0u);
  std::vector<std::pair<uint32_t, size_t>> stack = {{end, 0}};
  std::vector<bool> seen(end + 1);
  seen[end] = true;
  while (!stack.empty()) {
    auto &[block, child] = stack.back();
    if (child < predecessors[block].size()) {
      uint32_t next = predecessors[block][child++];
      if (!seen[next]) {
        seen[next] = true;
        stack.push_back({next, 0});
      }
      continue;
    }
    position[block] = order.size();
    order.push_back(block);
    stack.pop_back();
  }
  constexpr uint32_t none = ~0u;
  std::vector<uint32_t> dominator(end + 1, none);
  dominator[end] = end;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = order.size(); i-- > 0;) {
      uint32_t block = order[i];
      if (block == end)
        continue;
      uint32_t meet = none;
      for (uint32_t next : successors[block]) {
        if (dominator[next] == none)
          continue;
        uint32_t a = next;
        if (meet == none) {
          meet = a;
          continue;
        }
        while (a != meet) {
          while (position[a] < position[meet])
            a = dominator[a];
          while (position[meet] < position[a])
            meet = dominator[meet];
        }
      }
      if (meet != none && dominator[block] != meet) {
        dominator[block] = meet;
        changed = true;
      }
    }
  }
  for (size_t i = 0; i < code.size(); ++i) {
    bool diverges = code[i].run == runIndexedBranch ||
                    (code[i].target != noTarget && code[i].guard != alwaysTrue);
    uint32_t meet = dominator[blockOf[i]];
    if (!diverges || meet == none || meet == end)
      continue;
    // Lanes that leave early do not wait at the exit for the others, which may
    // have barriers before them that count who has not exited.
    const Inst &first = code[starts[meet]];
    if (first.run != runExit || first.guard != alwaysTrue)
      code[i].reconverge = starts[meet];
  }
}

} // namespace blockscale::sim
