//===-- Moves.cpp - mov and addresses ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Moves.h"
#include "Decoder.h"
#include "Lanes.h"

#include <chrono>

namespace blockscale::sim {

namespace {
void moveValue(Warp &w, const Inst &i, uint32_t mask) {
  for (unsigned k = 0; k < i.dsts; ++k) {
    uint64_t *d = w.lanes(i.dst(k));
    const uint64_t *a = w.lanes(i.src(k));
    forLanes(mask, [&](unsigned l) { d[l] = a[l]; });
  }
}

void movePredicate(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t &d = w.predicate(i.dst(0));
  d = (d & ~mask) | (w.predicate(i.src(0)) & mask);
}

/// {a, b, ...} to one register, a lowest.
void movePack(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  unsigned width = i.mode;
  uint64_t keep = (uint64_t(1) << width) - 1;
  forLanes(mask, [&](unsigned l) {
    uint64_t value = 0;
    for (unsigned k = 0; k < i.srcs; ++k)
      value |= (w.lanes(i.src(k))[l] & keep) << (width * k);
    d[l] = value;
  });
}

void moveUnpack(Warp &w, const Inst &i, uint32_t mask) {
  const uint64_t *a = w.lanes(i.src(0));
  unsigned width = i.mode;
  uint64_t keep = (uint64_t(1) << width) - 1;
  uint64_t values[32];
  std::copy_n(a, 32, values);
  for (unsigned k = 0; k < i.dsts; ++k) {
    uint64_t *d = w.lanes(i.dst(k));
    forLanes(mask, [&](unsigned l) { d[l] = values[l] >> (width * k) & keep; });
  }
}

void moveClock(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t value;
  Special special = Special(i.mode);
  if (special >= Special::Globaltimer)
    value = std::chrono::duration_cast<std::chrono::nanoseconds>(
                std::chrono::system_clock::now().time_since_epoch())
                .count();
  else
    value = w.instructions; // A clock that counts this warp's instructions.
  if (special == Special::Clockhi || special == Special::GlobaltimerHi)
    value >>= 32;
  if (special != Special::Clock64 && special != Special::Globaltimer)
    value &= 0xffffffff;
  uint64_t *d = w.lanes(i.dst(0));
  forLanes(mask, [&](unsigned l) { d[l] = value; });
}

void zeroParam(Warp &w, const Inst &i, uint32_t mask) {
  forLanes(mask, [&](unsigned l) {
    if (uint8_t *p =
            w.access(i, l, Space::Local, i.offset[0], 4, AccessKind::Write, 4))
      std::memset(p, 0, 4);
  });
}

bool decodeMove(Decoder &d) {
  Type type = d.type();
  if (!d.expectOperands(2, 2))
    return false;
  d.inst.type = type;
  d.inst.propagates = true;
  const Operand &to = d.operand(0), &from = d.operand(1);
  if (to.kind == Operand::Vector) {
    if (!d.dsts(to))
      return false;
    if (type == Type::B128) {
      uint32_t low = 0;
      if (!d.slot(from, type, low))
        return false;
      d.addSrc(low);
      d.addSrc(low + 1);
      return d.run(moveValue);
    }
    d.inst.mode = bitWidth(type) / to.elements.size();
    return d.src(from, type) && d.run(moveUnpack);
  }
  static const std::unordered_map<std::string_view, Special> clocks = {
      {"%clock", Special::Clock},
      {"%clock_hi", Special::Clockhi},
      {"%clock64", Special::Clock64},
      {"%globaltimer", Special::Globaltimer},
      {"%globaltimer_lo", Special::GlobaltimerLo},
      {"%globaltimer_hi", Special::GlobaltimerHi}};
  if (auto clock = clocks.find(from.name); clock != clocks.end()) {
    d.inst.mode = static_cast<uint64_t>(clock->second);
    d.inst.propagates = false;
    return d.dst(0) && d.run(moveClock);
  }
  if (from.kind == Operand::Vector) {
    if (!d.dst(0) || from.elements.empty())
      return false;
    if (type == Type::B128) {
      uint32_t low = 0;
      if (!d.slot(to, type, low) || !d.srcs(from, Type::B64))
        return false;
      d.addDst(low + 1);
      return d.run(moveValue);
    }
    d.inst.mode = bitWidth(type) / from.elements.size();
    Type element = d.inst.mode == 8    ? Type::B8
                   : d.inst.mode == 16 ? Type::B16
                                       : Type::B32;
    return d.srcs(from, element) && d.run(movePack);
  }
  if (!d.dst(0) || !d.src(1, type))
    return false;
  if (type == Type::B128) {
    uint32_t target = 0, source = 0;
    if (!d.slot(to, type, target) || !d.slot(from, type, source))
      return false;
    d.addDst(target + 1);
    d.addSrc(source + 1);
  }
  return d.run(moveHandler(type));
}

uint64_t windowOf(Space space) {
  switch (space) {
  case Space::Shared:
    return sharedWindow;
  case Space::Local:
    return localWindow;
  case Space::Param:
    return paramWindow;
  default:
    return 0;
  }
}

void toGeneric(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0));
  uint64_t window = windowOf(i.space);
  forLanes(mask, [&](unsigned l) {
    d[l] = window ? window | static_cast<uint32_t>(a[l]) : a[l];
  });
}
void fromGeneric(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0));
  uint64_t window = windowOf(i.space);
  forLanes(mask, [&](unsigned l) {
    d[l] = window ? static_cast<uint32_t>(a[l]) : a[l];
  });
}
bool decodeCvta(Decoder &d) {
  d.inst.space = d.space();
  d.inst.propagates = true;
  return d.expectOperands(2, 2) && d.dst(0) && d.src(1, Type::U64) &&
         d.run(d.has("to") ? fromGeneric : toGeneric);
}

void isSpace(Warp &w, const Inst &i, uint32_t mask) {
  const uint64_t *a = w.lanes(i.src(0));
  setLanes(w.predicate(i.dst(0)), mask, [&](unsigned l) {
    uint64_t address = a[l];
    switch (i.space) {
    case Space::Shared:
      // shared::cta is this CTA's part of the window.
      return inWindow(address, sharedWindow) &&
             (i.mode || uint32_t(address) >> rankShift == w.cta->rank);
    case Space::Local:
      return inWindow(address, localWindow);
    case Space::Param:
      return inWindow(address, paramWindow);
    default:
      return address >= globalBase;
    }
  });
}
bool decodeIsSpace(Decoder &d) {
  d.inst.space = d.space();
  d.inst.mode = d.has("shared::cluster");
  return d.expectOperands(2, 2) && d.dst(0) && d.src(1, Type::U64) &&
         d.run(isSpace);
}

/// The same place in another CTA of the cluster.
void mapa(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1));
  forLanes(mask, [&](unsigned l) {
    uint32_t rank = b[l], address = 0;
    if (rank >= w.cluster->ctas.size())
      return w.fault(Fault::BadOperand, i, l,
                     "expects a rank below " +
                         std::to_string(w.cluster->ctas.size()) + ", but got " +
                         std::to_string(rank));
    if (!w.toShared(i, l, i.space, a[l], address))
      return;
    uint32_t mapped = (address & ((1u << rankShift) - 1)) | rank << rankShift;
    d[l] = i.space == Space::Generic ? sharedWindow | mapped : mapped;
  });
}
bool decodeMapa(Decoder &d) {
  d.inst.space = d.space();
  return d.expectOperands(3, 3) && d.dst(0) && d.src(1, Type::U64) &&
         d.src(2, Type::U32) && d.run(mapa);
}

void rankOf(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0));
  forLanes(mask, [&](unsigned l) {
    uint32_t address = 0;
    if (w.toShared(i, l, i.space, a[l], address))
      d[l] = address >> rankShift;
  });
}
bool decodeRank(Decoder &d) {
  d.inst.space = d.space();
  return d.expectOperands(2, 2) && d.dst(0) && d.src(1, Type::U64) &&
         d.run(rankOf);
}

void policy(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  forLanes(mask, [&](unsigned l) { d[l] = 0; });
}
/// A cache policy: its value is used for nothing.
bool decodePolicy(Decoder &d) { return d.dst(0) && d.run(policy); }
} // namespace

Handler moveHandler(Type type) {
  return type == Type::Pred ? movePredicate : moveValue;
}
Handler zeroParamHandler() { return zeroParam; }

void addMoves(OpcodeTable &table) {
  table["mov"] = decodeMove;
  table["cvta"] = decodeCvta;
  table["isspacep"] = decodeIsSpace;
  table["mapa"] = decodeMapa;
  table["getctarank"] = decodeRank;
  table["createpolicy"] = decodePolicy;
}

} // namespace blockscale::sim
