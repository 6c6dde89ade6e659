//===-- BulkCopies.cpp - cp.async.bulk, cp.reduce.async.bulk ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Copies.h"
#include "Lanes.h"

namespace blockscale::sim {

namespace {
/// The group of the last bulk copies that read shared memory for this warp.
Accessor bulkReadOf(Warp &w) {
  Accessor by;
  by.agent = w.bulkReadAgent();
  by.time = w.bulkGroup;
  by.known = &w.clock;
  by.fenced = &w.fenced;
  by.genericAgents = 2 * w.cluster->warpCount;
  return by;
}
void commitBulk(Warp &w, const Inst &, uint32_t) { ++w.bulkGroup; }
void waitBulk(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t newest = w.lanes(i.src(0))[__builtin_ctz(mask)];
  if (w.bulkGroup <= newest + 1)
    return;
  uint32_t group = w.bulkGroup - 1 - newest;
  // .read: until the source may be written again.
  if (!w.waitsFor(i, i.mode ? Flight::Store : Flight::Stored, group))
    w.clock.raise(w.bulkReadAgent(), group);
}

struct BulkData {
  bool toShared = true; ///< Else to global memory.
  bool fromShared = false;
  bool tensor = false;
  bool multicast = false;
  bool reduces = false;
  ReductionOp op = ReductionOp::Add;
  Type type = Type::None;
  unsigned rank = 0;
  unsigned mapSource = 0, coordSource = 0, barrierSource = 0, maskSource = 0,
           sharedSource = 0, sizeSource = 0, globalSource = 0;
};

bool checkSize(Warp &w, const Inst &i, unsigned l, uint32_t size) {
  if (size % 16 == 0)
    return true;
  w.fault(Fault::BadOperand, i, l,
          "expects a size that is a multiple of 16, but got " +
              std::to_string(size));
  return false;
}

Flight storeOf(Warp &w, const Inst &i, unsigned l) {
  const BulkData &data = i.as<BulkData>();
  Flight flight{Flight::Store, &w, &i, l};
  flight.group = w.bulkGroup;
  flight.reduces = data.reduces;
  flight.op = data.op;
  return flight;
}

/// `by` is of copyFor.
Flight loadOf(Warp &w, const Inst &i, unsigned l, const MbarrierPlace &barrier,
              const Accessor &by, uint32_t bytes) {
  const BulkData &data = i.as<BulkData>();
  Flight flight{Flight::Load, &w, &i, l};
  flight.reduces = data.reduces;
  flight.op = data.op;
  flight.mbarriers.push_back(barrier.address);
  flight.agent = by.agent;
  flight.time = by.time;
  flight.bytes = bytes;
  return flight;
}

/// Plain bulk copies: ranges of bytes.
void copyBulk(Warp &w, const Inst &i, uint32_t mask) {
  const BulkData &data = i.as<BulkData>();
  const uint64_t *to = w.lanes(i.src(0)), *from = w.lanes(i.src(1));
  forLanes(mask, [&](unsigned l) {
    if (w.cluster->failed)
      return;
    uint32_t size = w.lanes(i.src(2))[l];
    if (!checkSize(w, i, l, size))
      return;
    uint64_t target = to[l] + i.offset[0], source = from[l] + i.offset[1];
    if (!data.toShared) {
      Accessor by = bulkReadOf(w);
      const uint8_t *in =
          w.shared(i, l, source, size, AccessKind::Read, 16, &by);
      if (!in)
        return;
      uint8_t *out =
          w.global(i, l, target, size,
                   data.reduces ? AccessKind::Atomic : AccessKind::Write, 16);
      if (!out)
        return;
      Flight flight = storeOf(w, i, l);
      flight.type = data.type;
      flight.pieces.push_back({out, in, size, target});
      w.cluster->flights.issue(std::move(flight));
      return;
    }
    uint32_t barrierAddress = 0, first = 0;
    if (!w.toShared(i, l, Space::Shared,
                    w.lanes(i.src(data.barrierSource))[l] + i.offset[2],
                    barrierAddress) ||
        !w.toShared(i, l, Space::Shared, target, first))
      return;
    uint32_t ctas = data.multicast ? w.lanes(i.src(data.maskSource))[l]
                                   : 1u << (first >> rankShift);
    for (uint32_t rank = 0; ctas >> rank; ++rank) {
      if (!(ctas >> rank & 1))
        continue;
      auto at = [&](uint32_t address) {
        return (address & ((1u << rankShift) - 1)) | rank << rankShift;
      };
      MbarrierPlace barrier;
      if (!findMbarrierOfCopy(
              w, i, l, data.multicast ? at(barrierAddress) : barrierAddress,
              barrier))
        return;
      Accessor by = copyFor(w, barrier);
      const uint8_t *in =
          data.fromShared
              ? w.shared(i, l, source, size, AccessKind::Read, 16, &by)
              : w.global(i, l, source, size, AccessKind::Read, 16);
      if (!in)
        return;
      uint8_t *out = w.shared(
          i, l, at(first), size,
          data.reduces ? AccessKind::Atomic : AccessKind::Write, 16, &by);
      if (!out)
        return;
      Flight flight = loadOf(w, i, l, barrier, by, size);
      flight.type = data.type;
      flight.pieces.push_back({out, in, size, 0});
      w.cluster->flights.issue(std::move(flight));
    }
  });
}

bool readMap(Warp &w, const Inst &i, unsigned l, uint64_t address,
             unsigned rank, TensorMapShape &shape) {
  const uint8_t *bytes =
      w.access(i, l, Space::Generic, address, 128, AccessKind::Read, 64);
  if (!bytes)
    return false;
  std::optional<TensorMapShape> read = readTensorMap(bytes);
  if (!read) {
    w.fault(Fault::BadOperand, i, l,
            "expects a tensor map made by makeTensorMap()", address);
    return false;
  }
  if (read->rank != rank) {
    w.fault(Fault::BadOperand, i, l,
            "expects a tensor map of rank " + std::to_string(rank) +
                ", but it has rank " + std::to_string(read->rank),
            address);
    return false;
  }
  shape = *read;
  return true;
}

bool checkAlign(Warp &w, const Inst &i, unsigned l, uint32_t address,
                const TensorMapShape &shape) {
  uint32_t align = 128;
  if (address % align == 0)
    return true;
  (void)shape;
  w.fault(Fault::Misaligned, i, l,
          "expects a shared address that is a multiple of 128", address);
  return false;
}

void copyTensor(Warp &w, const Inst &i, uint32_t mask) {
  const BulkData &data = i.as<BulkData>();
  forLanes(mask, [&](unsigned l) {
    if (w.cluster->failed)
      return;
    auto value = [&](unsigned source) { return w.lanes(i.src(source))[l]; };
    TensorMapShape shape;
    unsigned mapOffset = data.toShared ? 1 : 0;
    if (!readMap(w, i, l, value(data.mapSource) + i.offset[mapOffset],
                 data.rank, shape))
      return;
    int32_t start[5] = {};
    for (unsigned k = 0; k < data.rank; ++k)
      start[k] = static_cast<int32_t>(value(data.coordSource + k));
    uint32_t bytes = boxBytes(shape);
    if (!data.toShared) {
      uint32_t base = value(data.sharedSource) + i.offset[1];
      if (!checkAlign(w, i, l, base, shape))
        return;
      Accessor by = bulkReadOf(w);
      Flight flight = storeOf(w, i, l);
      flight.type = typeOf(shape.type);
      bool good = forEachPiece(shape, start, [&](const TilePiece &piece) {
        if (!piece.address)
          return true;
        uint32_t place = swizzled(base + piece.sharedOffset, shape.swizzle);
        const uint8_t *in =
            w.shared(i, l, place, piece.bytes, AccessKind::Read, 1, &by);
        uint8_t *out =
            in ? w.global(i, l, piece.address, piece.bytes,
                          data.reduces ? AccessKind::Atomic : AccessKind::Write,
                          1)
               : nullptr;
        if (out)
          flight.pieces.push_back({out, in, piece.bytes, piece.address});
        return out != nullptr;
      });
      if (good)
        w.cluster->flights.issue(std::move(flight));
      return;
    }
    uint32_t base = 0, barrierAddress = 0;
    if (!w.toShared(i, l, Space::Shared, value(0) + i.offset[0], base) ||
        !w.toShared(i, l, Space::Shared,
                    value(data.barrierSource) + i.offset[2], barrierAddress) ||
        !checkAlign(w, i, l, base, shape))
      return;
    uint32_t ctas = data.multicast ? uint32_t(value(data.maskSource))
                                   : 1u << (base >> rankShift);
    for (uint32_t rank = 0; ctas >> rank; ++rank) {
      if (!(ctas >> rank & 1))
        continue;
      auto at = [&](uint32_t address) {
        return (address & ((1u << rankShift) - 1)) | rank << rankShift;
      };
      MbarrierPlace barrier;
      if (!findMbarrierOfCopy(
              w, i, l, data.multicast ? at(barrierAddress) : barrierAddress,
              barrier))
        return;
      Accessor by = copyFor(w, barrier);
      Flight flight = loadOf(w, i, l, barrier, by, bytes);
      for (unsigned k = 0; k < flight.fill.size(); ++k)
        flight.fill[k] = fillByte(shape, k);
      bool good = forEachPiece(shape, start, [&](const TilePiece &piece) {
        uint32_t place = swizzled(at(base) + piece.sharedOffset, shape.swizzle);
        uint8_t *out =
            w.shared(i, l, place, piece.bytes, AccessKind::Write, 1, &by);
        if (!out)
          return false;
        const uint8_t *in = nullptr;
        if (piece.address && !(in = w.global(i, l, piece.address, piece.bytes,
                                             AccessKind::Read, 1)))
          return false;
        flight.pieces.push_back({out, in, piece.bytes, 0});
        return true;
      });
      if (!good)
        return;
      w.cluster->flights.issue(std::move(flight));
    }
  });
}

void nothing(Warp &, const Inst &, uint32_t) {}

bool decodeTensor(Decoder &d, std::shared_ptr<BulkData> data) {
  data->tensor = true;
  for (unsigned rank = 1; rank <= 5; ++rank)
    if (d.has(std::to_string(rank) + "d"))
      data->rank = rank;
  for (const std::string &part : d.in().parts)
    if (part.compare(0, 6, "im2col") == 0 ||
        part.compare(0, 12, "tile::gather") == 0 ||
        part.compare(0, 13, "tile::scatter") == 0)
      return d.unsupported("mode of tensor copies");
  if (!data->rank)
    return d.fail("expects 1d to 5d");
  size_t at = 0;
  if (data->toShared && !d.address(d.operand(at++), 0, Space::Shared))
    return false;
  const Operand &map = d.operand(at++);
  if (map.kind != Operand::Address || map.elements.size() != 2)
    return d.fail("expects [map, {coordinates}]");
  data->mapSource = d.srcCount();
  if (!d.address(map, data->toShared ? 1 : 0, Space::Generic))
    return false;
  data->coordSource = d.srcCount();
  if (!d.srcs(map.elements[1], Type::S32))
    return false;
  if (d.srcCount() - data->coordSource != data->rank)
    return d.fail("expects " + std::to_string(data->rank) + " coordinates");
  if (at >= d.operandCount())
    return d.fail("expects another address");
  unsigned &last = data->toShared ? data->barrierSource : data->sharedSource;
  last = d.srcCount();
  if (!d.address(d.operand(at++), data->toShared ? 2 : 1, Space::Shared))
    return false;
  if (data->multicast) {
    data->maskSource = d.srcCount();
    if (at >= d.operandCount() || !d.src(at, Type::U16))
      return d.fail("expects a mask of CTAs");
  }
  d.inst.data = data;
  return d.run(copyTensor);
}

} // namespace

bool decodeBulk(Decoder &d) {
  if (d.has("commit_group"))
    return d.run(commitBulk);
  d.inst.mode = d.has("read");
  if (d.has("wait_group"))
    return d.expectOperands(1, 1) && d.src(0, Type::U32) && d.run(waitBulk);
  if (d.has("prefetch"))
    return d.run(nothing);
  auto data = std::make_shared<BulkData>();
  // The first space is the destination's.
  size_t firstShared = ~size_t(0), firstGlobal = ~size_t(0), shareds = 0;
  for (size_t k = 1; k < d.in().parts.size(); ++k) {
    const std::string &part = d.in().parts[k];
    if (part.compare(0, 6, "shared") == 0) {
      firstShared = std::min(firstShared, k);
      ++shareds;
    }
    if (part == "global")
      firstGlobal = std::min(firstGlobal, k);
    if (part == "multicast::cluster")
      data->multicast = true;
  }
  data->toShared = firstShared < firstGlobal;
  data->fromShared = shareds == 2 || !data->toShared;
  data->reduces = d.in().parts[1] == "reduce";
  if (data->reduces)
    for (size_t k = 2; k < d.in().parts.size(); ++k)
      for (auto [name, op] : reductionNames)
        if (d.in().parts[k] == name)
          data->op = op;
  data->type = d.type();
  if (d.has("tensor"))
    return decodeTensor(d, data);
  if (!d.expectOperands(3, 6) || !d.address(d.operand(0), 0, Space::Shared) ||
      !d.address(d.operand(1), 1, Space::Shared) || !d.src(2, Type::U32))
    return false;
  if (data->toShared) {
    data->barrierSource = 3;
    if (!d.expectOperands(4, 6) || !d.address(d.operand(3), 2, Space::Shared))
      return false;
    if (data->multicast) {
      data->maskSource = 4;
      if (!d.expectOperands(5, 6) || !d.src(4, Type::U16))
        return false;
    }
  }
  d.inst.data = data;
  return d.run(copyBulk);
}

Type typeOf(TensorMapType type) {
  switch (type) {
  case TensorMapType::U32:
    return Type::U32;
  case TensorMapType::S32:
    return Type::S32;
  case TensorMapType::U64:
    return Type::U64;
  case TensorMapType::S64:
    return Type::S64;
  case TensorMapType::F16:
    return Type::F16;
  case TensorMapType::BF16:
    return Type::BF16;
  case TensorMapType::F64:
    return Type::F64;
  case TensorMapType::F32:
  case TensorMapType::TF32:
    return Type::F32;
  default:
    return Type::U16;
  }
}

void reduceBytes(Warp &w, ReductionOp op, Type type, uint64_t address,
                 uint8_t *to, const uint8_t *from, uint32_t bytes) {
  uint32_t size = bitWidth(type) / 8;
  for (uint32_t k = 0; k + size <= bytes; k += size) {
    std::lock_guard<std::mutex> lock(
        w.cluster->machine.memory->lock(address + k));
    uint64_t a = 0, b = 0;
    std::memcpy(&a, to + k, size);
    std::memcpy(&b, from + k, size);
    a = reduce(op, type, a, b, 0, false);
    std::memcpy(to + k, &a, size);
  }
}

} // namespace blockscale::sim
