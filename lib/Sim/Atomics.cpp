//===-- Atomics.cpp - atom, red ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "FloatModes.h"
#include "Lanes.h"
#include "Reduction.h"

namespace blockscale::sim {

const std::pair<std::string_view, ReductionOp> reductionNames[] = {
    {"add", ReductionOp::Add},   {"inc", ReductionOp::Inc},
    {"dec", ReductionOp::Dec},   {"min", ReductionOp::Min},
    {"max", ReductionOp::Max},   {"and", ReductionOp::And},
    {"or", ReductionOp::Or},     {"xor", ReductionOp::Xor},
    {"exch", ReductionOp::Exch}, {"cas", ReductionOp::Cas}};

template <class T>
static uint64_t reduceInteger(ReductionOp op, T a, T b, T c) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
  case ReductionOp::Add:
    return U(U(a) + U(b));
  case ReductionOp::Inc:
    return U(a) >= U(b) ? 0 : U(U(a) + 1);
  case ReductionOp::Dec:
    return a == 0 || U(a) > U(b) ? U(b) : U(U(a) - 1);
  case ReductionOp::Min:
    return U(std::min(a, b));
  case ReductionOp::Max:
    return U(std::max(a, b));
  case ReductionOp::And:
    return U(a & b);
  case ReductionOp::Or:
    return U(a | b);
  case ReductionOp::Xor:
    return U(a ^ b);
  case ReductionOp::Exch:
    return U(b);
  case ReductionOp::Cas:
    return a == b ? U(c) : U(a);
  }
  return 0;
}

static uint64_t reduceSmall(ReductionOp op, const FloatFormat &format,
                            uint64_t a, uint64_t b) {
  double x = decode(format, a), y = decode(format, b);
  double result = op == ReductionOp::Add
                      ? x + y
                      : minMax<double>(x, y, op == ReductionOp::Max, 0);
  if (op == ReductionOp::Add)
    result = roundToOdd(result, sumError(x, y, result));
  return encode(format, result, Round::Nearest);
}

uint64_t reduce(ReductionOp op, Type type, uint64_t a, uint64_t b, uint64_t c,
                bool flushes) {
  bool bitwise = op == ReductionOp::Exch || op == ReductionOp::Cas;
  if (!bitwise && formatOf(type) && type != Type::F32) {
    const FloatFormat &format = *formatOf(type);
    if (bitWidth(type) == 16)
      return reduceSmall(op, format, a, b);
    return reduceSmall(op, format, a & 0xffff, b & 0xffff) |
           reduceSmall(op, format, a >> 16 & 0xffff, b >> 16 & 0xffff) << 16;
  }
  if (!bitwise && type == Type::F32) {
    float x = fromBits<float>(a), y = fromBits<float>(b);
    if (op != ReductionOp::Add)
      return toBits(canonical(minMax<float>(x, y, op == ReductionOp::Max, 0)));
    if (flushes)
      return toBits(canonical(flush(flush(x) + flush(y))));
    return toBits(canonical(x + y));
  }
  if (!bitwise && type == Type::F64)
    return toBits(fromBits<double>(a) + fromBits<double>(b));
  switch (bitWidth(type)) {
  case 16:
    return reduceInteger<uint16_t>(op, a, b, c);
  case 32:
    return type == Type::S32 ? reduceInteger<int32_t>(op, a, b, c)
                             : reduceInteger<uint32_t>(op, a, b, c);
  default:
    return type == Type::S64 ? reduceInteger<int64_t>(op, a, b, c)
                             : reduceInteger<uint64_t>(op, a, b, c);
  }
}

namespace {
struct Data {
  ReductionOp op;
  Type type;
  unsigned bytes = 4; ///< Of an element.
  unsigned count = 1; ///< Elements.
  bool returns = false;
};

void atomicHandler(Warp &w, const Inst &i, uint32_t mask) {
  const Data &data = i.as<Data>();
  const uint64_t *base = w.lanes(i.src(0));
  if (w.cluster->options.profile)
    countAccess(w, i, mask, i.space, base, i.offset[0],
                data.bytes * data.count);
  // Lanes one after the other, as one possible order.
  forLanes(mask, [&](unsigned l) {
    if (w.cluster->failed)
      return;
    uint64_t address = base[l] + i.offset[0];
    bool isShared =
        i.space == Space::Shared ||
        (i.space == Space::Generic && inWindow(address, sharedWindow));
    uint32_t all = data.bytes * data.count;
    if (isShared) {
      // Atomics order what is around them, as if acquire and release.
      Cta &owner = w.cluster->ctas[std::min<size_t>(
          uint32_t(address) >> rankShift, w.cluster->ctas.size() - 1)];
      auto &[clock, fenced] = owner.atomics[static_cast<uint32_t>(address)];
      w.acquire(clock, fenced);
      w.release(clock, fenced);
    }
    uint8_t *place =
        w.access(i, l, i.space, address, all, AccessKind::Atomic, all);
    if (!place)
      return;
    std::unique_lock<std::mutex> lock;
    if (!isShared)
      lock = std::unique_lock<std::mutex>(
          w.cluster->machine.memory->lock(address));
    for (unsigned k = 0; k < data.count; ++k) {
      uint64_t old = 0;
      std::memcpy(&old, place + k * data.bytes, data.bytes);
      uint64_t b = w.lanes(i.src(1 + k))[l];
      uint64_t c = data.op == ReductionOp::Cas
                       ? w.lanes(i.src(1 + data.count + k))[l]
                       : 0;
      uint64_t result = reduce(data.op, data.type, old, b, c, !isShared);
      std::memcpy(place + k * data.bytes, &result, data.bytes);
      if (data.returns)
        w.lanes(i.dst(k))[l] = old;
    }
  });
}

/// 128 bits: exch and cas.
void atomic128(Warp &w, const Inst &i, uint32_t mask) {
  const Data &data = i.as<Data>();
  const uint64_t *base = w.lanes(i.src(0));
  forLanes(mask, [&](unsigned l) {
    if (w.cluster->failed)
      return;
    uint64_t address = base[l] + i.offset[0];
    uint8_t *place =
        w.access(i, l, i.space, address, 16, AccessKind::Atomic, 16);
    if (!place)
      return;
    std::lock_guard<std::mutex> lock(w.cluster->machine.memory->lock(address));
    uint64_t old[2], next[2];
    std::memcpy(old, place, 16);
    for (unsigned k = 0; k < 2; ++k)
      next[k] = w.lanes(i.src(1 + k))[l];
    if (data.op == ReductionOp::Cas) {
      bool same = old[0] == next[0] && old[1] == next[1];
      for (unsigned k = 0; k < 2; ++k)
        next[k] = same ? w.lanes(i.src(3 + k))[l] : old[k];
    }
    std::memcpy(place, next, 16);
    if (data.returns)
      for (unsigned k = 0; k < 2; ++k)
        w.lanes(i.dst(k))[l] = old[k];
  });
}

bool wide(Decoder &d, const Operand &operand, bool isDst) {
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

bool decodeAtomic(Decoder &d) {
  auto data = std::make_shared<Data>();
  bool found = false;
  for (size_t k = 1; k < d.in().parts.size() && !found; ++k)
    for (auto [name, op] : reductionNames)
      if (d.in().parts[k] == name) {
        data->op = op;
        found = true;
      }
  if (!found)
    return d.unsupported("operation");
  data->type = d.type();
  data->bytes = bitWidth(data->type) / 8;
  data->returns = d.in().opcode() == "atom";
  if (d.has("async"))
    return d.unsupported("form of red");
  size_t at = 0;
  bool is128 = data->type == Type::B128;
  if (data->returns) {
    // A result that nobody reads may be `_`.
    if (d.operand(0).kind == Operand::Sink)
      data->returns = false;
    else if (!(is128 ? wide(d, d.operand(0), true) : d.dsts(d.operand(0))))
      return false;
    at = 1;
  }
  if (!d.expectOperands(at + 2, at + 4) ||
      !d.address(d.operand(at), 0, d.space()))
    return false;
  size_t sources = data->op == ReductionOp::Cas ? 2 : 1;
  if (d.operandCount() < at + 1 + sources)
    return d.fail("expects another operand");
  for (size_t k = 1; k <= sources; ++k)
    if (!(is128 ? wide(d, d.operand(at + k), false)
                : d.srcs(d.operand(at + k), data->type)))
      return false;
  data->count = (d.srcCount() - 1) / sources;
  d.inst.data = data;
  return d.run(is128 ? atomic128 : data->bytes ? atomicHandler : nullptr);
}
} // namespace

void addAtomics(OpcodeTable &table) {
  table["atom"] = decodeAtomic;
  table["red"] = decodeAtomic;
}

} // namespace blockscale::sim
