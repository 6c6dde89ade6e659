//===-- LoadsAndStores.cpp - ld, st -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Lanes.h"

namespace blockscale::sim {

namespace {
enum Strength : uint64_t { strong = 1, acquires = 2, releases = 4 };

/// Volatile, relaxed, acquire and release accesses to shared memory do not race
/// with each other, and the latter two order what is around them.
uint8_t *strongAccess(Warp &w, const Inst &i, unsigned lane, uint32_t address,
                      uint32_t bytes, AccessKind kind) {
  Accessor by = w.accessor(lane);
  by.atomic = true;
  Cta &owner = w.cluster->ctas[std::min<size_t>(address >> rankShift,
                                                w.cluster->ctas.size() - 1)];
  auto &[clock, fenced] = owner.atomics[address];
  if (i.mode & releases)
    w.release(clock, fenced);
  uint8_t *place = w.shared(i, lane, address, bytes, kind, bytes, &by);
  if (i.mode & acquires)
    w.acquire(clock, fenced);
  return place;
}

uint8_t *place(Warp &w, const Inst &i, unsigned lane, uint64_t address,
               uint32_t bytes, AccessKind kind) {
  if (i.mode && (i.space == Space::Shared || (i.space == Space::Generic &&
                                              inWindow(address, sharedWindow))))
    return strongAccess(w, i, lane, address, bytes, kind);
  return w.access(i, lane, i.space, address, bytes, kind, bytes);
}

template <class T> void loadHandler(Warp &w, const Inst &i, uint32_t mask) {
  const uint64_t *base = w.lanes(i.src(0));
  const uint32_t count = i.dsts, bytes = count * sizeof(T);
  if (w.cluster->options.profile)
    countAccess(w, i, mask, i.space, base, i.offset[0], bytes);
  forLanes(mask, [&](unsigned l) {
    if (w.cluster->failed)
      return;
    uint64_t address = base[l] + i.offset[0];
    const uint8_t *from = place(w, i, l, address, bytes, AccessKind::Read);
    if (!from)
      return;
    // The base register may be among the destinations, so read before writing.
    T values[16];
    std::memcpy(values, from, bytes);
    for (unsigned k = 0; k < count; ++k)
      w.lanes(i.dst(k))[l] = widen(values[k], i.dstBits);
  });
}

template <class T> void storeHandler(Warp &w, const Inst &i, uint32_t mask) {
  const uint64_t *base = w.lanes(i.src(0));
  const uint32_t count = i.srcs - 1, bytes = count * sizeof(T);
  if (w.cluster->options.profile)
    countAccess(w, i, mask, i.space, base, i.offset[0], bytes);
  forLanes(mask, [&](unsigned l) {
    if (w.cluster->failed)
      return;
    uint64_t address = base[l] + i.offset[0];
    uint8_t *to = place(w, i, l, address, bytes, AccessKind::Write);
    if (!to)
      return;
    T values[16];
    for (unsigned k = 0; k < count; ++k)
      values[k] = static_cast<T>(w.lanes(i.src(k + 1))[l]);
    std::memcpy(to, values, bytes);
  });
}

Handler loadOf(Type type) {
  bool isSignedType = isSigned(type);
  switch (bitWidth(type)) {
  case 8:
    return isSignedType ? loadHandler<int8_t> : loadHandler<uint8_t>;
  case 16:
    return isSignedType ? loadHandler<int16_t> : loadHandler<uint16_t>;
  case 32:
    return isSignedType ? loadHandler<int32_t> : loadHandler<uint32_t>;
  case 64:
    return loadHandler<uint64_t>;
  default:
    return nullptr;
  }
}
Handler storeOf(Type type) {
  switch (bitWidth(type)) {
  case 8:
    return storeHandler<uint8_t>;
  case 16:
    return storeHandler<uint16_t>;
  case 32:
    return storeHandler<uint32_t>;
  case 64:
    return storeHandler<uint64_t>;
  default:
    return nullptr;
  }
}

uint64_t strength(Decoder &d) {
  uint64_t mode = 0;
  if (d.has("volatile") || d.has("relaxed") || d.has("mmio"))
    mode |= strong;
  if (d.has("acquire"))
    mode |= strong | acquires;
  if (d.has("release"))
    mode |= strong | releases;
  return mode;
}

/// A register of 128 bits is two slots.
bool wideSlots(Decoder &d, const Operand &operand, bool isDst) {
  uint32_t low = 0;
  if (!d.slot(operand, Type::B128, low))
    return false;
  for (uint32_t slot : {low, low + 1}) {
    if (isDst)
      d.addDst(slot);
    else
      d.addSrc(slot);
  }
  return true;
}

bool decodeLoad(Decoder &d) {
  Type type = d.type();
  d.inst.type = type;
  d.inst.mode = strength(d);
  if (!d.expectOperands(2, 4))
    return false;
  if (type == Type::B128) {
    type = Type::B64;
    d.inst.dstBits = 64;
    if (!wideSlots(d, d.operand(0), true))
      return false;
  } else if (!d.dsts(d.operand(0))) {
    return false;
  }
  return d.address(d.operand(1), 0, d.space()) && d.run(loadOf(type));
}

bool decodeStore(Decoder &d) {
  Type type = d.type();
  d.inst.type = type;
  d.inst.mode = strength(d);
  if (!d.expectOperands(2, 4) || !d.address(d.operand(0), 0, d.space()))
    return false;
  if (type == Type::B128) {
    type = Type::B64;
    if (!wideSlots(d, d.operand(1), false))
      return false;
  } else if (!d.srcs(d.operand(1), type)) {
    return false;
  }
  return d.run(storeOf(type));
}

} // namespace

void addLoadsAndStores(OpcodeTable &table) {
  table["ld"] = decodeLoad;
  table["ldu"] = decodeLoad;
  table["st"] = decodeStore;
}

} // namespace blockscale::sim
