//===-- Mbarriers.cpp - Barriers in shared memory ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Lanes.h"
#include "Mbarrier.h"

namespace blockscale::sim {

bool findMbarrier(Warp &w, const Inst &i, unsigned lane, uint32_t address,
                  MbarrierPlace &place) {
  place.address = address;
  place.shadow = nullptr;
  if (size_t rank = address >> rankShift; rank < w.cluster->ctas.size()) {
    place.cta = &w.cluster->ctas[rank];
    auto it = place.cta->mbarriers.find(address);
    if (it != place.cta->mbarriers.end())
      place.shadow = &it->second;
  }
  // Operations on it are atomic; what made it must be ordered before.
  Accessor by = w.accessor(lane);
  by.atomic = true;
  Clock withInit;
  if (const MbarrierShadow *shadow = place.shadow;
      shadow && shadow->isInitFenced &&
      w.clock[shadow->initAgent] < shadow->initTime &&
      w.initFences[shadow->initAgent] >= shadow->initTime) {
    withInit = w.clock;
    withInit.raise(shadow->initAgent, shadow->initTime);
    by.known = &withInit;
  }
  place.bits = w.shared(i, lane, address, 8, AccessKind::Read, 8, &by);
  if (!place.bits)
    return false;
  uint64_t bits;
  std::memcpy(&bits, place.bits, 8);
  if (!MbarrierState().set(bits) || !place.shadow) {
    w.fault(Fault::BadSync, i, lane, "expects an initialised mbarrier",
            address);
    return false;
  }
  return true;
}

bool findMbarrierOfCopy(Warp &w, const Inst &i, unsigned lane, uint32_t address,
                        MbarrierPlace &place) {
  if (!findMbarrier(w, i, lane, address, place))
    return false;
  const MbarrierShadow &shadow = *place.shadow;
  if (shadow.isInitFenced || w.fenced[shadow.initAgent] >= shadow.initTime ||
      !w.cluster->options.checkRaces)
    return true;
  w.fault(Fault::Race, i, lane,
          "the copy need not see the mbarrier that mbarrier.init made: expects "
          "a fence.mbarrier_init or fence.proxy.async between the two",
          address);
  return false;
}

bool updateMbarrier(Warp &w, const Inst &i, unsigned lane, MbarrierPlace &place,
                    uint32_t arrivals, int64_t expectBytes, uint32_t drops) {
  MbarrierState state;
  uint64_t bits;
  std::memcpy(&bits, place.bits, 8);
  state.set(bits);
  int64_t bytes = state.bytes + expectBytes;
  if (bytes >= 1 << 20 || bytes <= -(1 << 20)) {
    w.fault(Fault::BadSync, i, lane,
            "expects fewer than 1048576 bytes in flight, but there are " +
                std::to_string(bytes),
            place.address);
    return false;
  }
  if (arrivals > state.pending) {
    w.fault(Fault::BadSync, i, lane,
            "arrives " + std::to_string(arrivals) + " times, but the phase " +
                "expects only " + std::to_string(state.pending) + " more",
            place.address);
    return false;
  }
  state.bytes = bytes;
  state.pending -= arrivals;
  state.expected -= std::min(drops, state.expected);
  if (state.pending == 0 && state.bytes == 0) {
    state.phase = !state.phase;
    state.pending = state.expected;
    MbarrierShadow &shadow = *place.shadow;
    shadow.doneClock.join(shadow.clock);
    shadow.doneClock.raise(shadow.phaseAgent, ++shadow.phases);
    shadow.doneFenced.join(shadow.fenced);
    shadow.clock.clear();
    shadow.fenced.clear();
  }
  bits = state.bits();
  std::memcpy(place.bits, &bits, 8);
  ++w.cluster->progress;
  return true;
}

Accessor copyFor(Warp &w, MbarrierPlace &place) {
  Accessor by;
  by.agent = place.shadow->agent;
  by.time = ++place.shadow->copies;
  by.known = &w.clock;
  by.fenced = &w.fenced;
  by.genericAgents = 2 * w.cluster->warpCount;
  place.shadow->inFlight.insert(by.time);
  return by;
}

namespace {
enum Operation : uint8_t { arrive, arriveDrop, expectTx, completeTx };
struct Data {
  Operation operation = arrive;
  bool expects = false; ///< arrive.expect_tx
  bool hasCount = false;
  bool orders = true; ///< Not .relaxed.
};

/// Runs `f(lane, address)` for each lane's shared address.
template <class F>
void forAddresses(Warp &w, const Inst &i, uint32_t mask, unsigned source,
                  F &&f) {
  const uint64_t *base = w.lanes(i.src(source));
  forLanes(mask, [&](unsigned l) {
    uint32_t address = 0;
    if (!w.cluster->failed &&
        w.toShared(i, l, i.space, base[l] + i.offset[0], address))
      f(l, address);
  });
}

void init(Warp &w, const Inst &i, uint32_t mask) {
  forAddresses(w, i, mask, 0, [&](unsigned l, uint32_t address) {
    uint32_t count = w.lanes(i.src(1))[l];
    if (count == 0 || count >= 1u << 20)
      return w.fault(Fault::BadSync, i, l,
                     "expects a count from 1 to 1048575, but got " +
                         std::to_string(count),
                     address);
    uint8_t *place = w.shared(i, l, address, 8, AccessKind::Write, 8);
    if (!place)
      return;
    MbarrierState state;
    state.pending = state.expected = count;
    uint64_t bits = state.bits();
    std::memcpy(place, &bits, 8);
    Cta &cta = w.cluster->ctas[address >> rankShift];
    MbarrierShadow &shadow = cta.mbarriers[address];
    shadow = MbarrierShadow();
    shadow.agent = w.cluster->nextAgent++;
    shadow.phaseAgent = w.cluster->nextAgent++;
    shadow.initAgent = w.agent;
    shadow.initTime = w.time;
    ++w.cluster->progress;
  });
}

void invalidate(Warp &w, const Inst &i, uint32_t mask) {
  forAddresses(w, i, mask, 0, [&](unsigned l, uint32_t address) {
    MbarrierPlace place;
    if (!findMbarrier(w, i, l, address, place))
      return;
    std::memset(place.bits, 0, 8);
    place.cta->mbarriers.erase(address);
    // Its bytes are plain memory again, with no value.
    uint32_t offset = (address & ((1u << rankShift) - 1)) - sharedBase;
    std::memset(place.cta->written.data() + offset, 0, 8);
  });
}

void change(Warp &w, const Inst &i, uint32_t mask) {
  const Data &data = i.as<Data>();
  // All lanes that arrive here are ordered, each with what it did before.
  bool released = false;
  forAddresses(w, i, mask, 0, [&](unsigned l, uint32_t address) {
    MbarrierPlace place;
    if (!findMbarrier(w, i, l, address, place))
      return;
    uint64_t before;
    std::memcpy(&before, place.bits, 8);
    uint32_t value = i.srcs > 1 ? w.lanes(i.src(1))[l] : 1;
    uint32_t arrivals = data.expects ? 1 : data.hasCount ? value : 1;
    int64_t bytes = data.expects ? value : 0;
    if (data.operation == expectTx || data.operation == completeTx) {
      arrivals = 0;
      bytes = data.operation == expectTx ? int64_t(value) : -int64_t(value);
    } else if (data.orders) {
      w.release(place.shadow->clock, place.shadow->fenced);
      released = true;
    }
    if (!updateMbarrier(w, i, l, place, arrivals, bytes,
                        data.operation == arriveDrop ? arrivals : 0))
      return;
    if (i.dsts)
      w.lanes(i.dst(0))[l] = before;
  });
  (void)released;
}

constexpr uint64_t byParity = 1, blocks = 2, relaxedWait = 4;

/// A parity is that of every second phase: had the phase before the one that
/// passes not ended, then the one before that would have passed. So the warp
/// must be ordered behind the end of the phase before, as who waits for every
/// phase is.
bool knowsPhase(Warp &w, const Inst &i, unsigned lane,
                const MbarrierPlace &place) {
  const MbarrierShadow &shadow = *place.shadow;
  if (w.clock[shadow.phaseAgent] + 1 >= shadow.phases ||
      !w.cluster->options.checkRaces)
    return true;
  w.fault(Fault::Race, i, lane,
          "the wait passes at the end of phase " +
              std::to_string(shadow.phases - 1) +
              ", but nothing orders it behind the end of phase " +
              std::to_string(shadow.phases - 2) +
              ": before that it would pass too, since phases have the parity "
              "of those two before",
          place.address);
  return false;
}

void wait(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t done = 0, waits = 0;
  uint32_t waitAddress = 0;
  forAddresses(w, i, mask, 0, [&](unsigned l, uint32_t address) {
    MbarrierPlace place;
    if (!findMbarrier(w, i, l, address, place))
      return;
    uint64_t bits;
    std::memcpy(&bits, place.bits, 8);
    uint64_t value = w.lanes(i.src(1))[l];
    bool phase = i.mode & byParity ? value & 1 : value >> 63;
    if (bits >> 63 != phase) {
      done |= 1u << l;
      if ((i.mode & byParity) && !knowsPhase(w, i, l, place))
        return;
      w.clock.raise(place.shadow->phaseAgent, place.shadow->phases);
      if (!(i.mode & relaxedWait))
        w.acquire(place.shadow->doneClock, place.shadow->doneFenced);
    } else {
      waits |= 1u << l;
      waitAddress = address;
    }
  });
  if (w.cluster->failed)
    return;
  if (waits) {
    w.waitLine = i.line;
    w.waitObject = waitAddress;
    // Its time may be up at once.
    bool isOver =
        w.timedOut || (w.cluster->chance && w.cluster->chance.below(16) == 0);
    if ((i.mode & blocks) && !isOver) {
      // Suspended: looks again when something has happened.
      w.state = WarpState::AtMbarrier;
      w.retries = true;
      return;
    }
    w.polled = true;
    w.yields = true;
  }
  w.timedOut = false;
  uint32_t &p = w.predicate(i.dst(0));
  p = (p & ~mask) | done;
}

void pendingCount(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0));
  forLanes(mask, [&](unsigned l) {
    MbarrierState state;
    state.set(a[l]);
    d[l] = state.pending;
  });
}

bool decodeMbarrier(Decoder &d) {
  if (d.in().parts.size() < 2)
    return d.unsupported("form of mbarrier");
  const std::string &what = d.in().parts[1];
  Space space = d.space();
  if (what == "init")
    return d.expectOperands(2, 2) && d.address(d.operand(0), 0, space) &&
           d.src(1, Type::U32) && d.run(init);
  if (what == "inval")
    return d.expectOperands(1, 1) && d.address(d.operand(0), 0, space) &&
           d.run(invalidate);
  if (what == "pending_count")
    return d.expectOperands(2, 2) && d.dst(0) && d.src(1, Type::B64) &&
           d.run(pendingCount);
  if (what == "test_wait" || what == "try_wait") {
    d.inst.mode = (d.has("parity") ? byParity : 0) |
                  (what == "try_wait" ? blocks : 0) |
                  (d.has("relaxed") ? relaxedWait : 0);
    return d.expectOperands(3, 4) && d.dst(0) &&
           d.address(d.operand(1), 0, space) &&
           d.src(2, d.has("parity") ? Type::U32 : Type::B64) && d.run(wait);
  }
  auto data = std::make_shared<Data>();
  if (what == "arrive")
    data->operation = arrive;
  else if (what == "arrive_drop")
    data->operation = arriveDrop;
  else if (what == "expect_tx")
    data->operation = expectTx;
  else if (what == "complete_tx")
    data->operation = completeTx;
  else
    return d.unsupported("form of mbarrier");
  bool arrives = data->operation == arrive || data->operation == arriveDrop;
  data->expects = arrives && d.has("expect_tx");
  data->orders = !d.has("relaxed");
  d.inst.data = data;
  size_t at = 0;
  if (arrives && d.operand(0).kind != Operand::Address) {
    if (!d.dst(0))
      return false;
    at = 1;
  }
  if (!d.expectOperands(at + 1, at + 2) || !d.address(d.operand(at), 0, space))
    return false;
  if (d.operandCount() > at + 1) {
    data->hasCount = true;
    if (!d.src(at + 1, Type::U32))
      return false;
  }
  return d.run(change);
}
} // namespace

void addMbarriers(OpcodeTable &table) { table["mbarrier"] = decodeMbarrier; }

} // namespace blockscale::sim
