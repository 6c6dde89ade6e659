//===-- TensorMap.h - Descriptors of tensor copies --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cuTensorMapEncodeTiled makes for a device, for the simulator. The
// driver's 128 bytes are opaque; these are the simulator's own.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_SIM_TENSORMAP_H
#define BLOCKSCALE_SIM_TENSORMAP_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace blockscale::sim {

/// An argument of 128 bytes: pass it by value as a `.param .align 64`.
struct alignas(64) TensorMap {
  std::array<uint8_t, 128> bytes;
};

enum class TensorMapType : uint8_t {
  U8,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F64,
  BF16,
  TF32,
  U4Align8,  ///< 16U4_ALIGN8B: 4 bits, dense in shared memory.
  U4Align16, ///< 16U4_ALIGN16B: 16 elements to 16 bytes, 8 of them a gap.
  U6Align16, ///< 16U6_ALIGN16B: 16 elements (12 bytes) to 16 bytes.
};

enum class TensorMapSwizzle : uint8_t { None, B32, B64, B128 };

struct TensorMapShape {
  TensorMapType type = TensorMapType::U8;
  unsigned rank = 1; ///< 1 to 5; index 0 is the innermost dimension.
  uint64_t address = 0;
  std::array<uint64_t, 5> size = {1, 1, 1, 1, 1};   ///< Elements.
  std::array<uint64_t, 5> stride = {0, 0, 0, 0, 0}; ///< Bytes; [0] unused.
  std::array<uint32_t, 5> box = {1, 1, 1, 1, 1};    ///< Elements.
  std::array<uint32_t, 5> elementStride = {1, 1, 1, 1, 1};
  TensorMapSwizzle swizzle = TensorMapSwizzle::None;
  bool nanFill = false; ///< Out of bounds reads NaN instead of zero.
};

/// Nullopt and an error for what the driver would refuse: the limits are those
/// of cuTensorMapEncodeTiled with interleave none.
std::optional<TensorMap> makeTensorMap(const TensorMapShape &shape,
                                       std::string &error);
/// The inverse; nullopt if the bytes are none of makeTensorMap()'s.
std::optional<TensorMapShape> readTensorMap(const uint8_t *bytes);

} // namespace blockscale::sim

#endif // BLOCKSCALE_SIM_TENSORMAP_H
