//===-- MatrixMoves.cpp - ldmatrix, stmatrix, movmatrix ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix of 8 rows of 16 bytes: lane l holds bytes 4 * (l % 4) to +3 of row
// l / 4, or, transposed, the same of the transpose in units of elements.
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Lanes.h"

namespace blockscale::sim {

namespace {
enum Shape : uint8_t { m8n8, m16n16, m8n16, m16n8 };
struct Data {
  Shape shape = m8n8;
  unsigned count = 1;
  bool transposed = false;
  unsigned packedBits = 0; ///< 4 or 6: elements are widened to bytes.
};

/// Row `row` of the matrix into 16 bytes, widened if packed.
bool loadRow(Warp &w, const Inst &i, unsigned lane, uint8_t *out) {
  const Data &data = i.as<Data>();
  uint32_t address = 0;
  if (!w.toShared(i, lane, i.space, w.lanes(i.src(0))[lane] + i.offset[0],
                  address))
    return false;
  if (address % 16) {
    w.fault(Fault::Misaligned, i, lane,
            "expects the address of a row to be a multiple of 16", address);
    return false;
  }
  uint32_t bytes = data.packedBits ? 2 * data.packedBits : 16;
  const uint8_t *in = w.shared(i, lane, address, bytes, AccessKind::Read, 4);
  if (!in)
    return false;
  if (!data.packedBits) {
    std::memcpy(out, in, 16);
    return true;
  }
  unsigned __int128 bits = 0;
  std::memcpy(&bits, in, bytes);
  for (unsigned k = 0; k < 16; ++k)
    out[k] = static_cast<uint8_t>(bits >> (data.packedBits * k)) &
             ((1u << data.packedBits) - 1);
  return true;
}

void countRows(Warp &w, const Inst &i, unsigned rows) {
  if (!w.cluster->options.profile)
    return;
  // Eight rows at a time, 16 bytes each.
  for (unsigned first = 0; first < rows; first += 8)
    countAccess(w, i, 0xffu << first, Space::Shared, w.lanes(i.src(0)),
                i.offset[0], 16);
}

void loadMatrix(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.gather(i, allLanes, mask))
    return;
  const Data &data = i.as<Data>();
  unsigned rows = data.shape == m16n16 ? 16 : 8;
  countRows(w, i, rows * data.count);
  uint32_t results[32][4];
  unsigned out = 0;
  for (unsigned matrix = 0; matrix < data.count; ++matrix) {
    uint8_t bytes[16][16];
    for (unsigned row = 0; row < rows; ++row)
      if (!loadRow(w, i, matrix * rows + row, bytes[row]))
        return;
    for (unsigned half = 0; half < rows / 8; ++half, ++out)
      for (unsigned l = 0; l < 32; ++l) {
        unsigned row = l / 4, column = l % 4;
        uint32_t value = 0;
        if (data.shape == m16n16) {
          // Not a plain transpose: register `half` takes rows 4 c + 2 half and
          // the next, of columns l / 4 and l / 4 + 8.
          for (unsigned k = 0; k < 4; ++k)
            value |=
                uint32_t(
                    bytes[4 * column + 2 * half + k % 2][row + 8 * (k / 2)])
                << (8 * k);
        } else if (data.transposed) {
          for (unsigned k = 0; k < 2; ++k) {
            uint16_t element;
            std::memcpy(&element, &bytes[2 * column + k][2 * row], 2);
            value |= uint32_t(element) << (16 * k);
          }
        } else {
          std::memcpy(&value, &bytes[row][4 * column], 4);
        }
        results[l][out] = value;
      }
  }
  for (unsigned k = 0; k < out; ++k) {
    uint64_t *d = w.lanes(i.dst(k));
    for (unsigned l = 0; l < 32; ++l)
      d[l] = results[l][k];
  }
}

void storeMatrix(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.gather(i, allLanes, mask))
    return;
  const Data &data = i.as<Data>();
  countRows(w, i, 8 * data.count);
  for (unsigned matrix = 0; matrix < data.count; ++matrix) {
    const uint64_t *source = w.lanes(i.src(1 + matrix));
    uint8_t bytes[8][16];
    for (unsigned l = 0; l < 32; ++l) {
      uint32_t value = source[l];
      unsigned row = l / 4, column = l % 4;
      if (data.shape == m16n8) {
        // 16 x 8 bytes, held as accumulators are: e0 e1 in row l / 4, e2 e3 in
        // row l / 4 + 8; stored by columns.
        for (unsigned k = 0; k < 4; ++k)
          bytes[2 * column + (k & 1)][row + 8 * (k >> 1)] = value >> (8 * k);
      } else if (data.transposed) {
        for (unsigned k = 0; k < 2; ++k) {
          uint16_t element = value >> (16 * k);
          std::memcpy(&bytes[2 * column + k][2 * row], &element, 2);
        }
      } else {
        std::memcpy(&bytes[row][4 * column], &value, 4);
      }
    }
    for (unsigned row = 0; row < 8; ++row) {
      unsigned lane = matrix * 8 + row;
      uint32_t address = 0;
      if (!w.toShared(i, lane, i.space, w.lanes(i.src(0))[lane] + i.offset[0],
                      address))
        return;
      uint8_t *to = w.shared(i, lane, address, 16, AccessKind::Write, 16);
      if (!to)
        return;
      std::memcpy(to, bytes[row], 16);
    }
  }
}

void moveMatrix(Warp &w, const Inst &i, uint32_t mask) {
  if (!w.gather(i, allLanes, mask))
    return;
  const uint64_t *a = w.lanes(i.src(0));
  uint16_t elements[8][8];
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned k = 0; k < 2; ++k)
      elements[l / 4][2 * (l % 4) + k] = a[l] >> (16 * k);
  uint64_t *d = w.lanes(i.dst(0));
  for (unsigned l = 0; l < 32; ++l)
    d[l] = elements[2 * (l % 4)][l / 4] |
           uint32_t(elements[2 * (l % 4) + 1][l / 4]) << 16;
}

bool modifiers(Decoder &d, Data &data) {
  data.shape = d.has("m16n16")  ? m16n16
               : d.has("m8n16") ? m8n16
               : d.has("m16n8") ? m16n8
                                : m8n8;
  data.count = d.has("x4") ? 4 : d.has("x2") ? 2 : 1;
  data.transposed = d.has("trans");
  data.packedBits = d.has("b4x16_p64") ? 4 : d.has("b6x16_p32") ? 6 : 0;
  if (data.shape == m16n16 && (!data.transposed || data.count > 2))
    return d.fail("expects .trans and .x1 or .x2 with .m16n16");
  if (data.shape == m16n8 && !data.transposed)
    return d.fail("expects .trans with .m16n8");
  if (data.shape == m8n16 && !data.packedBits)
    return d.fail("expects .b6x16_p32 or .b4x16_p64 with .m8n16");
  return true;
}

bool decodeLoad(Decoder &d) {
  auto data = std::make_shared<Data>();
  if (!modifiers(d, *data) || !d.expectOperands(2, 2) ||
      !d.dsts(d.operand(0)) || !d.address(d.operand(1), 0, d.space()))
    return false;
  size_t registers = data->count * (data->shape == m16n16 ? 2 : 1);
  if (d.dstCount() != registers)
    return d.fail("expects " + std::to_string(registers) +
                  " registers, but got " + std::to_string(d.dstCount()));
  d.inst.data = data;
  return d.run(loadMatrix);
}

bool decodeStore(Decoder &d) {
  auto data = std::make_shared<Data>();
  if (!modifiers(d, *data) || !d.expectOperands(2, 2) ||
      !d.address(d.operand(0), 0, d.space()) ||
      !d.srcs(d.operand(1), Type::B32))
    return false;
  if (d.srcCount() != data->count + 1)
    return d.fail("expects " + std::to_string(data->count) + " registers");
  d.inst.data = data;
  return d.run(storeMatrix);
}

bool decodeMoveMatrix(Decoder &d) {
  return d.simple(Type::B32, 1) && d.run(moveMatrix);
}
} // namespace

void addMatrixMoves(OpcodeTable &table) {
  table["ldmatrix"] = decodeLoad;
  table["stmatrix"] = decodeStore;
  table["movmatrix"] = decodeMoveMatrix;
}

} // namespace blockscale::sim
