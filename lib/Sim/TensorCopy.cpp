//===-- TensorCopy.cpp - Tiles of tensors and swizzles ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TensorCopy.h"

#include <algorithm>
#include <cstring>

namespace blockscale::sim {

namespace {
constexpr char magic[8] = {'b', 's', 's', 'i', 'm', 't', 'm', '1'};

struct Encoded {
  char magic[8];
  uint64_t address;
  uint64_t size[5];
  uint64_t stride[4];
  uint8_t type, rank, swizzle, nanFill;
};
/// Boxes and element strides follow, a byte each.
static_assert(sizeof(Encoded) <= 104);

struct TypeRow {
  uint8_t elements; ///< In a unit.
  uint8_t globalBytes, sharedBytes;
};
/// Packed types come in units of 16 elements.
TypeRow rowOf(TensorMapType type) {
  switch (type) {
  case TensorMapType::U8:
    return {1, 1, 1};
  case TensorMapType::U16:
  case TensorMapType::F16:
  case TensorMapType::BF16:
    return {1, 2, 2};
  case TensorMapType::U32:
  case TensorMapType::S32:
  case TensorMapType::F32:
  case TensorMapType::TF32:
    return {1, 4, 4};
  case TensorMapType::U64:
  case TensorMapType::S64:
  case TensorMapType::F64:
    return {1, 8, 8};
  case TensorMapType::U4Align8:
    return {16, 8, 8};
  case TensorMapType::U4Align16:
    return {16, 8, 16};
  case TensorMapType::U6Align16:
    return {16, 12, 16};
  }
  return {1, 1, 1};
}

uint32_t swizzleSpan(TensorMapSwizzle swizzle) {
  switch (swizzle) {
  case TensorMapSwizzle::B32:
    return 32;
  case TensorMapSwizzle::B64:
    return 64;
  case TensorMapSwizzle::B128:
    return 128;
  default:
    return 0;
  }
}

std::string dimension(const char *what, unsigned i) {
  return std::string(what) + "[" + std::to_string(i) + "]";
}
} // namespace

std::optional<TensorMap> makeTensorMap(const TensorMapShape &shape,
                                       std::string &error) {
  auto fail = [&](const std::string &expected, uint64_t got) {
    error = "expects " + expected + ", but got " + std::to_string(got);
    return std::nullopt;
  };
  TypeRow row = rowOf(shape.type);
  bool packed = row.elements > 1;
  if (shape.rank < 1 || shape.rank > 5)
    return fail("a rank from 1 to 5", shape.rank);
  uint64_t addressAlign = row.sharedBytes == 16 ? 32 : 16;
  if (shape.address % addressAlign)
    return fail("an address that is a multiple of " +
                    std::to_string(addressAlign),
                shape.address);
  for (unsigned i = 0; i < shape.rank; ++i) {
    if (shape.size[i] == 0 || shape.size[i] > uint64_t(1) << 32)
      return fail(dimension("size", i) + " from 1 to 2^32", shape.size[i]);
    if (shape.box[i] == 0 || shape.box[i] > 256)
      return fail(dimension("box", i) + " from 1 to 256", shape.box[i]);
    if (shape.elementStride[i] == 0 || shape.elementStride[i] > 8)
      return fail(dimension("elementStride", i) + " from 1 to 8",
                  shape.elementStride[i]);
    if (i > 0 && (shape.stride[i] % addressAlign ||
                  shape.stride[i] >= uint64_t(1) << 40))
      return fail(dimension("stride", i) + " that is a multiple of " +
                      std::to_string(addressAlign) + " below 2^40",
                  shape.stride[i]);
  }
  if (packed && shape.box[0] % 16)
    return fail("box[0] that is a multiple of 16", shape.box[0]);
  if (row.sharedBytes == 16 && shape.box[0] != 128)
    return fail("box[0] of 128 for this type", shape.box[0]);
  if (row.sharedBytes == 16 && shape.size[0] % 128)
    return fail("size[0] that is a multiple of 128 for this type",
                shape.size[0]);
  uint32_t inner = shape.box[0] / row.elements * row.sharedBytes;
  if (inner % 16)
    return fail("an inner box of a multiple of 16 bytes", inner);
  if (uint32_t span = swizzleSpan(shape.swizzle); span && inner > span)
    return fail("an inner box of at most the swizzle's " +
                    std::to_string(span) + " bytes",
                inner);
  TensorMap map = {};
  Encoded encoded = {};
  std::memcpy(encoded.magic, magic, 8);
  encoded.address = shape.address;
  for (unsigned i = 0; i < 5; ++i) {
    encoded.size[i] = shape.size[i];
    if (i > 0)
      encoded.stride[i - 1] = shape.stride[i];
    map.bytes[104 + i * 2] = shape.box[i] - 1;
    map.bytes[105 + i * 2] = shape.elementStride[i];
  }
  encoded.type = static_cast<uint8_t>(shape.type);
  encoded.rank = shape.rank;
  encoded.swizzle = static_cast<uint8_t>(shape.swizzle);
  encoded.nanFill = shape.nanFill;
  std::memcpy(map.bytes.data(), &encoded, sizeof encoded);
  return map;
}

std::optional<TensorMapShape> readTensorMap(const uint8_t *bytes) {
  Encoded encoded;
  std::memcpy(&encoded, bytes, sizeof encoded);
  if (std::memcmp(encoded.magic, magic, 8) != 0)
    return std::nullopt;
  TensorMapShape shape;
  shape.type = TensorMapType(encoded.type);
  shape.rank = encoded.rank;
  shape.swizzle = TensorMapSwizzle(encoded.swizzle);
  shape.nanFill = encoded.nanFill;
  shape.address = encoded.address;
  for (unsigned i = 0; i < 5; ++i) {
    shape.size[i] = encoded.size[i];
    shape.stride[i] = i > 0 ? encoded.stride[i - 1] : 0;
    shape.box[i] = bytes[104 + i * 2] + 1;
    shape.elementStride[i] = bytes[105 + i * 2];
  }
  return shape;
}

uint32_t boxBytes(const TensorMapShape &shape) {
  TypeRow row = rowOf(shape.type);
  uint32_t bytes = shape.box[0] / row.elements * row.sharedBytes;
  for (unsigned i = 1; i < shape.rank; ++i)
    bytes *= shape.box[i];
  return bytes;
}

uint32_t swizzled(uint32_t address, TensorMapSwizzle swizzle) {
  // 16-byte units of a row are permuted by the row's number.
  switch (swizzle) {
  case TensorMapSwizzle::None:
    return address;
  case TensorMapSwizzle::B32:
    return address ^ (address >> 3 & 0x10);
  case TensorMapSwizzle::B64:
    return address ^ (address >> 3 & 0x30);
  case TensorMapSwizzle::B128:
    return address ^ (address >> 3 & 0x70);
  }
  return address;
}

uint8_t fillByte(const TensorMapShape &shape, uint32_t offset) {
  if (!shape.nanFill)
    return 0;
  // NaN with all bits of the mantissa set, little-endian.
  TypeRow row = rowOf(shape.type);
  return offset % row.sharedBytes + 1 == row.sharedBytes ? 0x7f : 0xff;
}

bool forEachPiece(const TensorMapShape &shape, const int32_t *start,
                  const std::function<bool(const TilePiece &)> &visit) {
  TypeRow row = rowOf(shape.type);
  uint32_t innerUnits = shape.box[0] / row.elements;
  uint32_t rowBytes = innerUnits * row.sharedBytes;
  uint32_t rows = 1;
  for (unsigned i = 1; i < shape.rank; ++i)
    rows *= shape.box[i];
  for (uint32_t r = 0; r < rows; ++r) {
    uint64_t address = shape.address;
    bool inside = true;
    uint32_t rest = r;
    for (unsigned i = 1; i < shape.rank; ++i) {
      int64_t at =
          start[i] + int64_t(rest % shape.box[i]) * shape.elementStride[i];
      rest /= shape.box[i];
      inside &= at >= 0 && uint64_t(at) < shape.size[i];
      address += uint64_t(at) * shape.stride[i];
    }
    for (uint32_t unit = 0; unit < innerUnits;) {
      int64_t at =
          start[0] + int64_t(unit) * row.elements * shape.elementStride[0];
      bool here = inside && at >= 0 && uint64_t(at) < shape.size[0];
      // As many plain elements at once as lie in one 16-byte unit.
      uint32_t count = 1;
      uint32_t perUnit = 16 / row.sharedBytes;
      if (shape.elementStride[0] == 1 && perUnit > 1)
        while (unit + count < innerUnits && (unit + count) % perUnit != 0) {
          int64_t next = at + int64_t(count) * row.elements;
          if ((inside && next >= 0 && uint64_t(next) < shape.size[0]) != here)
            break;
          ++count;
        }
      TilePiece piece;
      piece.sharedOffset = r * rowBytes + unit * row.sharedBytes;
      piece.bytes = count * (here ? row.globalBytes : row.sharedBytes);
      piece.address = here ? address + at / row.elements * row.globalBytes : 0;
      if (!visit(piece))
        return false;
      unit += count;
    }
  }
  return true;
}

} // namespace blockscale::sim
