//===-- Copies.cpp - cp.async and its bulk forms ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Flights.h says when their bytes move; Race.h tracks their order.
//
//===----------------------------------------------------------------------===//
#include "Copies.h"
#include "Lanes.h"

namespace blockscale::sim {

namespace {
/// Copies of a thread that no wait has covered.
Accessor copyOf(Warp &w, unsigned lane) {
  Accessor by = w.accessor(lane);
  by.agent = w.copyAgent();
  by.time = w.copyGroup;
  by.warpAgent = ~0u;
  return by;
}

struct AsyncData {
  uint32_t bytes = 16;
  bool hasSourceSize = false;
  bool hasIgnore = false;
};

void copyAsync(Warp &w, const Inst &i, uint32_t mask) {
  const AsyncData &data = i.as<AsyncData>();
  const uint64_t *to = w.lanes(i.src(0)), *from = w.lanes(i.src(1));
  if (w.cluster->options.profile)
    countAccess(w, i, mask, Space::Global, from, i.offset[1], data.bytes);
  Flight flight{Flight::Copy, &w, &i, unsigned(__builtin_ctz(mask))};
  flight.group = w.copyGroup;
  forLanes(mask, [&](unsigned l) {
    if (w.cluster->failed)
      return;
    uint32_t size = data.bytes;
    if (data.hasSourceSize)
      size = w.lanes(i.src(2))[l];
    if (data.hasIgnore && (w.predicate(i.src(2)) >> l & 1))
      size = 0;
    if (size > data.bytes)
      return w.fault(Fault::BadOperand, i, l,
                     "expects at most " + std::to_string(data.bytes) +
                         " source bytes, but got " + std::to_string(size));
    uint64_t source = from[l] + i.offset[1];
    const uint8_t *in = nullptr;
    if (size) {
      if (source % data.bytes)
        return w.fault(Fault::Misaligned, i, l,
                       "expects a source that is a multiple of " +
                           std::to_string(data.bytes),
                       source);
      in = w.global(i, l, source, size, AccessKind::Read, 1);
      if (!in)
        return;
    }
    uint32_t target = 0;
    if (!w.toShared(i, l, i.space, to[l] + i.offset[0], target))
      return;
    Accessor by = copyOf(w, l);
    uint8_t *out =
        w.shared(i, l, target, data.bytes, AccessKind::Write, data.bytes, &by);
    if (!out)
      return;
    if (size)
      flight.pieces.push_back({out, in, size, 0});
    if (size < data.bytes)
      flight.pieces.push_back({out + size, nullptr, data.bytes - size, 0});
  });
  if (!w.cluster->failed)
    w.cluster->flights.issue(std::move(flight));
}

void commitCopies(Warp &w, const Inst &, uint32_t) { ++w.copyGroup; }

void waitCopies(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t newest = i.mode ? 0 : w.lanes(i.src(0))[__builtin_ctz(mask)];
  // wait_all covers copies that no commit has closed.
  uint32_t open = w.copyGroup + (i.mode ? 1 : 0);
  if (open > newest + 1) {
    uint32_t group = open - 1 - newest;
    if (w.waitsFor(i, Flight::Copy, group))
      return;
    w.clock.raise(w.copyAgent(), group);
  }
  w.copyGroup = open;
}

/// The mbarrier counts an arrival when this thread's copies so far are done.
void arriveCopies(Warp &w, const Inst &i, uint32_t mask) {
  const uint64_t *base = w.lanes(i.src(0));
  Flight flight{Flight::Arrival, &w, &i, unsigned(__builtin_ctz(mask))};
  flight.group = w.copyGroup++;
  forLanes(mask, [&](unsigned l) {
    uint32_t address = 0;
    MbarrierPlace place;
    if (w.cluster->failed ||
        !w.toShared(i, l, i.space, base[l] + i.offset[0], address) ||
        !findMbarrier(w, i, l, address, place))
      return;
    // Without .noinc the arrival is expected in addition.
    if (!i.mode) {
      MbarrierState state;
      uint64_t bits;
      std::memcpy(&bits, place.bits, 8);
      state.set(bits);
      ++state.pending;
      bits = state.bits();
      std::memcpy(place.bits, &bits, 8);
    }
    flight.mbarriers.push_back(address);
  });
  if (!w.cluster->failed)
    w.cluster->flights.issue(std::move(flight));
}

bool decodeCopy(Decoder &d) {
  if (d.has("bulk"))
    return decodeBulk(d);
  if (d.has("mbarrier")) {
    d.inst.mode = d.has("noinc");
    return d.expectOperands(1, 1) && d.address(d.operand(0), 0, d.space()) &&
           d.run(arriveCopies);
  }
  if (d.has("commit_group"))
    return d.run(commitCopies);
  if (d.has("wait_all")) {
    d.inst.mode = 1;
    return d.run(waitCopies);
  }
  if (d.has("wait_group"))
    return d.expectOperands(1, 1) && d.src(0, Type::U32) && d.run(waitCopies);
  auto data = std::make_shared<AsyncData>();
  uint64_t bytes = 0;
  if (!d.expectOperands(3, 5) || !d.address(d.operand(0), 0, Space::Shared) ||
      !d.address(d.operand(1), 1, Space::Shared) ||
      !d.constant(d.operand(2), bytes))
    return false;
  data->bytes = bytes;
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return d.fail("expects 4, 8 or 16 bytes, but got " + std::to_string(bytes));
  // Then: a source size, or a predicate that ignores the source, or a policy.
  size_t optional = d.operandCount() - 3 - (d.has("L2::cache_hint") ? 1 : 0);
  if (optional > 0) {
    const Operand &operand = d.operand(3);
    data->hasIgnore = d.registerBits(operand) == 1;
    data->hasSourceSize = !data->hasIgnore;
    if (data->hasSourceSize && d.registerBits(operand) != 32)
      return d.fail("expects a source size of .u32 or a predicate, but got '" +
                    operand.name + "'");
    if (!d.src(3, data->hasIgnore ? Type::Pred : Type::U32))
      return false;
  }
  d.inst.data = data;
  return d.run(copyAsync);
}
} // namespace

void addCopies(OpcodeTable &table) { table["cp"] = decodeCopy; }

} // namespace blockscale::sim
