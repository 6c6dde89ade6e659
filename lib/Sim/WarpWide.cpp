//===-- WarpWide.cpp - Exchanges within a warp ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FloatModes.h"
#include "Lanes.h"
#include "Text.h"

namespace blockscale::sim {

namespace {
/// The member mask, in source `k`: every lane that executes is in it, and the
/// others of it come. False after a fault or to wait.
bool members(Warp &w, const Inst &i, unsigned k, uint32_t mask,
             uint32_t &members) {
  const uint64_t *value = w.lanes(i.src(k));
  members = static_cast<uint32_t>(value[__builtin_ctz(mask)]);
  // Lanes may execute this for different groups; then all must be complete.
  uint32_t all = 0, bad = 0;
  forLanes(mask, [&](unsigned l) {
    uint32_t mine = static_cast<uint32_t>(value[l]);
    all |= mine;
    if (!(mine >> l & 1))
      bad |= 1u << l;
  });
  if (bad) {
    w.fault(Fault::BadSync, i, __builtin_ctz(bad),
            "expects the executing lane in the member mask, but it is " +
                hex(value[__builtin_ctz(bad)]));
    return false;
  }
  return w.gather(i, all, mask);
}

enum ShuffleMode : uint64_t { up, down, butterfly, index };

void shuffle(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t group = mask;
  if (i.srcs > 3 && !members(w, i, 3, mask, group))
    return;
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1)),
                 *c = w.lanes(i.src(2));
  uint64_t source[32];
  std::copy_n(a, 32, source);
  uint64_t *d = w.lanes(i.dst(0));
  uint32_t inside = 0;
  uint64_t result[32];
  forLanes(mask, [&](unsigned l) {
    int lane = l, by = b[l] & 31, clamp = c[l] & 31, segment = c[l] >> 8 & 31;
    int highest = (lane & segment) | (clamp & ~segment & 31);
    int lowest = lane & segment;
    int from = lane;
    bool valid = false;
    switch (i.mode) {
    case up:
      from = lane - by;
      valid = from >= highest;
      break;
    case down:
      from = lane + by;
      valid = from <= highest;
      break;
    case butterfly:
      from = lane ^ by;
      valid = from <= highest;
      break;
    default:
      from = lowest | (by & ~segment & 31);
      valid = from <= highest;
    }
    if (!valid)
      from = lane;
    inside |= uint32_t(valid) << l;
    // A lane that is not here has nothing to give: take one's own.
    result[l] = mask >> from & 1 ? source[from] : source[l];
  });
  forLanes(mask, [&](unsigned l) { d[l] = result[l]; });
  if (i.dsts > 1) {
    uint32_t &p = w.predicate(i.dst(1));
    p = (p & ~mask) | inside;
  }
}

bool second(Decoder &d) {
  if (d.operand(0).second.empty())
    return true;
  Operand predicate;
  predicate.name = d.operand(0).second;
  if (predicate.name == "_")
    predicate.kind = Operand::Sink;
  return d.dst(predicate);
}

bool decodeShuffle(Decoder &d) {
  d.inst.mode = d.has("up")     ? up
                : d.has("down") ? down
                : d.has("bfly") ? butterfly
                                : index;
  bool sync = d.has("sync");
  if (!d.expectOperands(sync ? 5 : 4, sync ? 5 : 4) || !d.dst(0) || !second(d))
    return false;
  for (size_t k = 1; k < d.operandCount(); ++k)
    if (!d.src(k, Type::B32))
      return false;
  return d.run(shuffle);
}

enum VoteMode : uint64_t { voteAll, voteAny, voteUni, voteBallot, negates = 8 };

void vote(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t group = mask;
  if (i.srcs > 1 && !members(w, i, 1, mask, group))
    return;
  uint32_t yes = w.predicate(i.src(0));
  if (i.mode & negates)
    yes = ~yes;
  yes &= mask;
  uint64_t mode = i.mode & 7;
  if (mode == voteBallot) {
    uint64_t *d = w.lanes(i.dst(0));
    const uint64_t *m = i.srcs > 1 ? w.lanes(i.src(1)) : nullptr;
    forLanes(mask, [&](unsigned l) {
      d[l] = m ? yes & static_cast<uint32_t>(m[l]) : yes;
    });
    return;
  }
  bool holds = mode == voteAll   ? yes == mask
               : mode == voteAny ? yes != 0
                                 : yes == 0 || yes == mask;
  uint32_t &d = w.predicate(i.dst(0));
  d = (d & ~mask) | (holds ? mask : 0);
}
bool decodeVote(Decoder &d) {
  d.inst.mode = d.has("all")   ? voteAll
                : d.has("any") ? voteAny
                : d.has("uni") ? voteUni
                               : voteBallot;
  if (!d.expectOperands(2, 3) || !d.dst(0) || !d.src(1, Type::Pred))
    return false;
  if (d.operand(1).negated)
    d.inst.mode |= negates;
  if (d.operandCount() > 2 && !d.src(2, Type::B32))
    return false;
  return d.run(vote);
}

void match(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t group = mask;
  if (!members(w, i, 1, mask, group))
    return;
  const uint64_t *a = w.lanes(i.src(0));
  uint64_t *d = w.lanes(i.dst(0));
  uint64_t result[32];
  uint32_t same = 0;
  forLanes(mask, [&](unsigned l) {
    uint32_t equal = 0;
    forLanes(mask, [&](unsigned k) { equal |= uint32_t(a[k] == a[l]) << k; });
    result[l] = i.mode ? (equal == mask ? mask : 0) : equal;
    same |= uint32_t(equal == mask) << l;
  });
  forLanes(mask, [&](unsigned l) { d[l] = result[l]; });
  if (i.dsts > 1) {
    uint32_t &p = w.predicate(i.dst(1));
    p = (p & ~mask) | same;
  }
}
bool decodeMatch(Decoder &d) {
  d.inst.mode = d.has("all");
  return d.expectOperands(3, 3) && d.dst(0) && second(d) &&
         d.src(1, d.type()) && d.src(2, Type::B32) && d.run(match);
}

enum ReduxMode : uint64_t {
  rAdd = 1024,
  rMin = 2048,
  rMax = 4096,
  rAnd = 8192,
  rOr = 16384,
  rXor = 32768
};
void redux(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t group = mask;
  if (!members(w, i, 1, mask, group))
    return;
  const uint64_t *a = w.lanes(i.src(0));
  uint64_t *d = w.lanes(i.dst(0));
  uint32_t first = __builtin_ctz(mask);
  uint64_t value = 0;
  if (i.type == Type::F32) {
    auto take = [&](unsigned l) {
      float x = fromBits<float>(a[l]);
      return i.mode & takesAbs ? std::fabs(x) : x;
    };
    float result = take(first);
    forLanes(mask & (mask - 1), [&](unsigned l) {
      result = minMax<float>(result, take(l), i.mode & rMax, i.mode & nanWins);
    });
    value = toBits(canonical(result));
  } else {
    uint32_t result = a[first];
    forLanes(mask & (mask - 1), [&](unsigned l) {
      uint32_t x = a[l];
      if (i.mode & rAdd)
        result += x;
      else if (i.mode & rAnd)
        result &= x;
      else if (i.mode & rOr)
        result |= x;
      else if (i.mode & rXor)
        result ^= x;
      else if (i.type == Type::S32)
        result = (i.mode & rMax) ? std::max<int32_t>(result, x)
                                 : std::min<int32_t>(result, x);
      else
        result = (i.mode & rMax) ? std::max(result, x) : std::min(result, x);
    });
    value = result;
  }
  forLanes(mask, [&](unsigned l) { d[l] = value; });
}
bool decodeRedux(Decoder &d) {
  Type type = d.type();
  d.inst.mode = floatModes(d) & (nanWins | takesAbs);
  d.inst.mode |= d.has("add")   ? rAdd
                 : d.has("min") ? rMin
                 : d.has("max") ? rMax
                 : d.has("and") ? rAnd
                 : d.has("or")  ? rOr
                                : rXor;
  d.inst.type = type;
  return d.expectOperands(3, 3) && d.dst(0) && d.src(1, type) &&
         d.src(2, Type::B32) && d.run(redux);
}

void activeMask(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  forLanes(mask, [&](unsigned l) { d[l] = mask; });
}
bool decodeActiveMask(Decoder &d) {
  return d.expectOperands(1, 1) && d.dst(0) && d.run(activeMask);
}

/// The lowest lane of the member mask leads.
void elect(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t group = mask;
  if (!members(w, i, 0, mask, group))
    return;
  uint32_t leader = __builtin_ctz(mask);
  uint64_t *d = w.lanes(i.dst(0));
  forLanes(mask, [&](unsigned l) { d[l] = leader; });
  uint32_t &p = w.predicate(i.dst(1));
  p = (p & ~mask) | (1u << leader);
}
bool decodeElect(Decoder &d) {
  return d.expectOperands(2, 2) && d.dst(0) && second(d) && d.dstCount() == 2 &&
         d.src(1, Type::B32) && d.run(elect);
}
} // namespace

/// bar.warp.sync
void syncWarp(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t group = mask;
  if (members(w, i, 0, mask, group))
    w.syncLanes();
}

void addWarpWide(OpcodeTable &table) {
  table["shfl"] = decodeShuffle;
  table["vote"] = decodeVote;
  table["match"] = decodeMatch;
  table["redux"] = decodeRedux;
  table["activemask"] = decodeActiveMask;
  table["elect"] = decodeElect;
}

} // namespace blockscale::sim
