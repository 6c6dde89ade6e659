//===-- Barriers.cpp - Barriers of CTAs and clusters, fences ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Lanes.h"

namespace blockscale::sim {

void syncWarp(Warp &w, const Inst &i, uint32_t mask);

namespace {
struct Data {
  bool waits = true;
  bool hasCount = false;
  uint8_t reduction = 0; ///< 1 and, 2 or, 3 popc
  bool negates = false;
};

void barrier(Warp &w, const Inst &i, uint32_t mask) {
  const Data &data = i.as<Data>();
  // Whole warps arrive.
  if (!w.gather(i, w.live, mask))
    return;
  unsigned first = __builtin_ctz(mask);
  uint32_t id = w.lanes(i.src(0))[first];
  if (id >= 16)
    return w.fault(Fault::BadSync, i, first,
                   "expects a barrier below 16, but got " + std::to_string(id));
  uint32_t count = data.hasCount ? w.lanes(i.src(1))[first] : 0;
  if (data.hasCount && (count == 0 || count % 32))
    return w.fault(Fault::BadSync, i, first,
                   "expects a multiple of 32 threads, but got " +
                       std::to_string(count));
  Cta &cta = *w.cta;
  Barrier &b = cta.barriers[id];
  if (b.inUse && b.expected != count)
    return w.fault(Fault::BadSync, i, first,
                   "expects " + std::to_string(count) + " threads at barrier " +
                       std::to_string(id) + ", but others there expect " +
                       std::to_string(b.expected));
  b.inUse = true;
  b.expected = count;
  b.arrived += 32;
  if (data.reduction) {
    uint32_t yes = w.predicate(i.src(data.hasCount ? 2 : 1));
    if (data.negates)
      yes = ~yes;
    yes &= mask;
    b.reduction = data.reduction;
    b.pop += __builtin_popcount(yes);
    b.all &= yes == mask;
    b.any |= yes != 0;
  }
  w.release(b.clock, b.fenced);
  ++w.cluster->progress;
  if (data.waits) {
    w.state = WarpState::AtBarrier;
    w.waitLine = i.line;
    w.waitBarrier = id;
    w.barrierDst = data.reduction ? i.dst(0) : sinkSlot;
    b.waiting.push_back(&w);
  }
  uint32_t expected = count ? count : cta.liveWarps * 32;
  if (b.arrived > expected)
    return w.fault(
        Fault::BadSync, i, first,
        std::to_string(b.arrived) + " threads have arrived at barrier " +
            std::to_string(id) + ", which expects " + std::to_string(expected));
  if (b.arrived == expected)
    completeBarrier(cta, b);
}

bool decodeCtaBarrier(Decoder &d) {
  auto data = std::make_shared<Data>();
  data->waits = !d.has("arrive");
  size_t at = 0, end = d.operandCount();
  if (d.has("red")) {
    data->reduction = d.has("and") ? 1 : d.has("or") ? 2 : 3;
    if (end < 3 || !d.dst(at++))
      return d.fail("expects 3 or 4 operands");
    --end;
  }
  data->hasCount = end - at == 2;
  if (end <= at || end - at > 2)
    return d.fail("expects a barrier and perhaps a count");
  for (; at < end; ++at)
    if (!d.src(at, Type::U32))
      return false;
  if (data->reduction) {
    data->negates = d.operand(end).negated;
    if (!d.src(end, Type::Pred))
      return false;
  }
  d.inst.data = data;
  return d.run(barrier);
}

void clusterArrive(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.gather(i, w.live, mask))
    return;
  auto &b = w.cluster->barrier;
  // .relaxed orders nothing.
  if (!i.mode)
    w.release(b.clock, b.fenced);
  if (w.initFence)
    b.initFences.raise(w.agent, w.initFence);
  ++b.arrived;
  ++w.cluster->progress;
  w.clusterGeneration = b.generation + 1;
  w.cluster->checkBarriers();
}
void clusterWait(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.gather(i, w.live, mask))
    return;
  auto &b = w.cluster->barrier;
  if (w.clusterGeneration == 0)
    return w.fault(Fault::BadSync, i, __builtin_ctz(mask),
                   "waits for the cluster without having arrived");
  if (b.generation >= w.clusterGeneration) {
    w.acquire(b.doneClock, b.doneFenced);
    w.initFences.join(b.doneInitFences);
    w.syncLanes();
  } else {
    w.state = WarpState::AtClusterBarrier;
    w.waitLine = i.line;
    b.waiting.push_back(&w);
  }
  w.clusterGeneration = 0;
}

bool decodeBarrier(Decoder &d) {
  if (d.has("cluster")) {
    d.inst.mode = d.has("relaxed");
    return d.expectOperands(0, 0) &&
           d.run(d.has("arrive") ? clusterArrive : clusterWait);
  }
  if (d.has("warp"))
    return d.expectOperands(1, 1) && d.src(0, Type::B32) && d.run(syncWarp);
  return decodeCtaBarrier(d);
}

void proxyFence(Warp &w, const Inst &, uint32_t) {
  w.clock.raise(w.agent, w.time);
  w.fenced.join(w.clock);
  // What is written after the fence is not behind it.
  ++w.time;
  w.clock.raise(w.agent, w.time);
}
/// Makes the mbarriers that this warp initialised visible to the cluster and
/// to copies.
void initFence(Warp &w, const Inst &, uint32_t) {
  for (auto &[address, shadow] : w.cta->mbarriers)
    if (shadow.initAgent == w.agent)
      shadow.isInitFenced = true;
  w.initFence = w.time;
}
void nothing(Warp &, const Inst &, uint32_t) {}

bool decodeFence(Decoder &d) {
  if (d.has("mbarrier_init"))
    return d.run(initFence);
  for (const std::string &part : d.in().parts)
    if (part.compare(0, 12, "proxy::async") == 0 || part == "async" ||
        part.compare(0, 7, "async::") == 0)
      return d.run(proxyFence);
  return d.run(nothing);
}
} // namespace

void addBarriers(OpcodeTable &table) {
  table["bar"] = decodeBarrier;
  table["barrier"] = decodeBarrier;
  table["fence"] = decodeFence;
}

} // namespace blockscale::sim
