//===-- Warpgroup.cpp - wgmma -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each of the four warps computes its own 16 rows of D, so a warp executes its
// part alone. D is m64nN; row 16 w + ..., fragments as of mma.sync's C, with 8
// columns after 8 columns.
//
// Operands in shared memory are read by the asynchronous proxy, through matrix
// descriptors: bits 0-13 start / 16, 16-29 leading byte offset / 16, 32-45
// stride byte offset / 16, 62-63 swizzle (1: 128, 2: 64, 3: 32 bytes).
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Lanes.h"
#include "MatrixMath.h"
#include "TensorCopy.h"
#include "Text.h"

namespace blockscale::sim {

namespace {
struct Data {
  unsigned n = 8, k = 16;
  Type a, b, d;
  ElementReader reader[2];
  bool aInRegisters = false;
  int negate[2] = {1, 1};
  bool transposed[2] = {false, false};
  unsigned aAt = 0, bAt = 0, scaleAt = 0;
  std::vector<uint32_t> results; ///< Slots of D, sources and destinations.
};

struct Descriptor {
  uint32_t start, leading, stride;
  TensorMapSwizzle swizzle;
  uint32_t span; ///< Bytes of a swizzled row; 16 without.

  explicit Descriptor(uint64_t bits) {
    start = (bits & 0x3fff) << 4;
    leading = (bits >> 16 & 0x3fff) << 4;
    stride = (bits >> 32 & 0x3fff) << 4;
    switch (bits >> 62) {
    case 1:
      swizzle = TensorMapSwizzle::B128;
      span = 128;
      break;
    case 2:
      swizzle = TensorMapSwizzle::B64;
      span = 64;
      break;
    case 3:
      swizzle = TensorMapSwizzle::B32;
      span = 32;
      break;
    default:
      swizzle = TensorMapSwizzle::None;
      span = 16;
    }
  }

  /// The address of element (row, k), `bytes` wide, K-major: rows of `span`
  /// bytes along k, 8 of them next to each other.
  uint32_t kMajor(unsigned row, unsigned k, unsigned bytes) const {
    uint32_t along = k * bytes;
    uint32_t offset = row / 8 * stride + row % 8 * span + along % span +
                      along / span * leading;
    return swizzled(start + offset, swizzle);
  }
  /// MN-major: rows of `span` bytes along m or n, 8 values of k next to each
  /// other.
  uint32_t mnMajor(unsigned row, unsigned k, unsigned bytes) const {
    uint32_t along = row * bytes;
    uint32_t inner = along % span + k % 8 * span;
    // Without swizzle the two offsets change their roles.
    uint32_t outer = span == 16 ? along / span * stride + k / 8 * leading
                                : along / span * leading + k / 8 * stride;
    return swizzled(start + inner + outer, swizzle);
  }
};

Accessor readerOfShared(Warp &w) {
  Accessor by;
  by.agent = w.warpgroupAgent();
  by.time = w.warpgroupGroup;
  by.known = &w.clock;
  by.fenced = &w.fenced;
  by.genericAgents = 2 * w.cluster->warpCount;
  return by;
}

/// One operand from shared memory: `rows` x k elements.
bool loadOperand(Warp &w, const Inst &i, unsigned side, uint64_t bits,
                 unsigned firstRow, unsigned rows, std::vector<float> &out) {
  const Data &data = i.as<Data>();
  const ElementReader &reader = data.reader[side];
  Descriptor descriptor(bits);
  unsigned bytes = reader.bits / 8;
  uint32_t rank = w.cta->rank << rankShift;
  Accessor by = readerOfShared(w);
  out.resize(rows * data.k);
  // 16 bytes lie together along the major dimension.
  unsigned run = 16 / bytes;
  const uint8_t *place = nullptr;
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned k = 0; k < data.k; ++k) {
      unsigned row = firstRow + r;
      bool mn = data.transposed[side];
      uint32_t address = rank | (mn ? descriptor.mnMajor(row, k, bytes)
                                    : descriptor.kMajor(row, k, bytes));
      // K-major, the first of a run is checked for all of it.
      if (mn || k % run == 0)
        place = w.shared(i, 0, address, mn ? bytes : 16, AccessKind::Read,
                         bytes, &by);
      else
        place += bytes;
      if (!place)
        return false;
      uint32_t code = 0;
      std::memcpy(&code, place, bytes);
      out[r * data.k + k] = reader.read(code);
    }
  return true;
}

void multiply(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.gather(i, allLanes, mask))
    return;
  const Data &data = i.as<Data>();
  unsigned warpRow = w.index % 4 * 16;
  std::vector<float> a, b;
  bool scaled = w.predicate(i.src(data.scaleAt)) & 1;
  if (data.aInRegisters) {
    const ElementReader &reader = data.reader[0];
    unsigned per = 32 / reader.bits;
    a.resize(16 * data.k);
    for (unsigned r = 0; r < 4; ++r) {
      const uint64_t *source = w.lanes(i.src(data.aAt + r));
      for (unsigned l = 0; l < 32; ++l)
        for (unsigned j = 0; j < per; ++j)
          a[(l / 4 + 8 * (r % 2)) * data.k + 4 * per * (r / 2) + per * (l % 4) +
            j] = reader.at(source[l], j);
    }
  } else if (!loadOperand(w, i, 0, w.lanes(i.src(data.aAt))[0], warpRow, 16,
                          a)) {
    return;
  }
  if (!loadOperand(w, i, 1, w.lanes(i.src(data.bAt))[0], 0, data.n, b))
    return;
  float sign = data.negate[0] * data.negate[1];
  for (float &value : a)
    value *= sign;
  const bool exact = data.reader[0].exactDots && data.reader[1].exactDots;
  const bool half = data.d == Type::F16;
  if (scaled && w.cluster->options.checkRegisters)
    for (uint32_t slot : data.results)
      if (w.written[slot] != allLanes && !w.isPending(slot))
        return w.fault(Fault::Uninitialized, i, __builtin_ctz(~w.written[slot]),
                       "accumulates to register '" +
                           w.program->slotNames[slot] +
                           "', which has no value");
  for (unsigned block = 0; block < data.n / 8; ++block) {
    float columnsOfB[64][columns];
    for (unsigned k = 0; k < data.k; ++k)
      for (unsigned n = 0; n < columns; ++n)
        columnsOfB[k][n] = b[(block * 8 + n) * data.k + k];
    for (unsigned m = 0; m < 16; ++m) {
      Sums sums;
      double c[columns] = {};
      for (unsigned n = 0; n < columns && scaled; ++n) {
        unsigned lane = (m % 8) * 4 + n / 2;
        if (half) {
          uint64_t pair = w.lanes(data.results[block * 2 + m / 8])[lane];
          c[n] = decodeF16(pair >> (16 * (n % 2)));
        } else {
          c[n] = fromBits<float>(
              w.lanes(data.results[block * 4 + 2 * (m / 8) + n % 2])[lane]);
        }
      }
      sums.add(c);
      addProducts(sums, &a[m * data.k], columnsOfB, data.k, exact);
      for (unsigned n = 0; n < columns; ++n) {
        unsigned lane = (m % 8) * 4 + n / 2;
        if (half) {
          uint64_t &pair = w.lanes(data.results[block * 2 + m / 8])[lane];
          uint64_t bits = roundedF16(sums.high[n], sums.low[n]);
          pair =
              n % 2 ? (pair & 0xffff) | bits << 16 : (pair & 0xffff0000) | bits;
        } else {
          w.lanes(data.results[block * 4 + 2 * (m / 8) + n % 2])[lane] =
              roundedF32(sums.high[n], sums.low[n]);
        }
      }
    }
  }
  // Until a wait covers it, nothing but wgmma may use D.
  for (uint32_t slot : data.results)
    w.makePending(slot);
}

void fenceRegisters(Warp &, const Inst &, uint32_t) {}
void commit(Warp &w, const Inst &, uint32_t) { ++w.warpgroupGroup; }
void wait(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t newest = w.lanes(i.src(0))[__builtin_ctz(mask)];
  if (w.warpgroupGroup <= newest + 1)
    return;
  uint32_t done = w.warpgroupGroup - 1 - newest;
  w.clock.raise(w.warpgroupAgent(), done);
  w.completePending(done);
}

bool decodeMultiply(Decoder &d) {
  auto data = std::make_shared<Data>();
  unsigned m = 0;
  for (const std::string &part : d.in().parts)
    std::sscanf(part.c_str(), "m%un%uk%u", &m, &data->n, &data->k);
  std::vector<Type> types = d.in().types();
  if (m != 64 || data->n % 8 || data->n > 256 || types.size() < 3 ||
      d.has("sp"))
    return d.unsupported("form of wgmma");
  data->d = types[0];
  data->a = types[1];
  data->b = types[2];
  if ((data->d != Type::F32 && data->d != Type::F16) ||
      !readerOf(data->a, false, data->reader[0]) ||
      !readerOf(data->b, false, data->reader[1]))
    return d.unsupported("combination of types");
  if (data->k * data->reader[0].bits != 256)
    return d.unsupported("shape");
  if (!d.expectOperands(4, 8) || d.operand(0).kind != Operand::Vector)
    return d.fail("expects a vector of registers");
  for (const Operand &element : d.operand(0).elements) {
    uint32_t slot = 0;
    if (!d.slot(element, Type::B32, slot))
      return false;
    data->results.push_back(slot);
  }
  unsigned expected = data->n / (data->d == Type::F16 ? 4 : 2);
  if (data->results.size() != expected)
    return d.fail("expects " + std::to_string(expected) + " registers");
  data->aInRegisters = d.operand(1).kind == Operand::Vector;
  data->aAt = d.srcCount();
  if (!d.srcs(d.operand(1), data->aInRegisters ? Type::B32 : Type::B64))
    return false;
  data->bAt = d.srcCount();
  if (!d.src(2, Type::B64))
    return false;
  data->scaleAt = d.srcCount();
  if (!d.src(3, Type::Pred))
    return false;
  // Then the signs of A and B, then whether each is MN-major.
  size_t at = 4;
  for (int &sign : data->negate) {
    uint64_t value = 1;
    if (at < d.operandCount() && !d.constant(d.operand(at++), value))
      return false;
    sign = static_cast<int>(value);
  }
  for (unsigned side = data->aInRegisters ? 1 : 0; side < 2; ++side) {
    uint64_t value = 0;
    if (at < d.operandCount() && !d.constant(d.operand(at++), value))
      return false;
    data->transposed[side] = value;
  }
  d.inst.data = data;
  return d.run(multiply);
}

bool decodeWgmma(Decoder &d) {
  if (d.has("mma_async"))
    return decodeMultiply(d);
  if (d.has("fence"))
    return d.run(fenceRegisters);
  if (d.has("commit_group"))
    return d.run(commit);
  if (d.has("wait_group"))
    return d.expectOperands(1, 1) && d.src(0, Type::U32) && d.run(wait);
  return d.unsupported("form of wgmma");
}
} // namespace

void addWarpgroupMultiplies(OpcodeTable &table) {
  table["wgmma"] = decodeWgmma;
}

} // namespace blockscale::sim
