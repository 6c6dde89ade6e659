//===-- DataType.h - What an array in memory holds --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The storage types of compiled functions: what memory holds, not what the
// numbers are. A tensor of f4E2M1FN is stored as u8, two elements per byte.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_RUNTIME_DATATYPE_H
#define BLOCKSCALE_RUNTIME_DATATYPE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blockscale::runtime {

enum class DataType : uint8_t {
  I1, ///< One byte each, 0 or 1.
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  F16,
  BF16,
  F32,
  F64,
};

/// The name in a manifest: `u8`, `bf16`.
std::string_view name(DataType type);
std::optional<DataType> dataTypeFromName(std::string_view name);
/// Bytes of an element: 1, 2, 4 or 8.
size_t size(DataType type);
bool isFloat(DataType type);

/// Whether bytes of type `given` may be read as `expected` without change:
/// the same type, or integers of the same width. Sign is not memory's business.
bool sameBits(DataType expected, DataType given);

/// `4x32`; `?` for negative sizes; empty for rank 0.
std::string shapeText(const std::vector<int64_t> &shape);
/// `u8[4x32]`.
std::string arrayText(DataType type, const std::vector<int64_t> &shape);

/// Elements of `shape`, or nullopt if `bytesPerElement` of each would not fit
/// in memory's address range, even with the zero sizes left out.
std::optional<int64_t> elementCount(const std::vector<int64_t> &shape,
                                    size_t bytesPerElement);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_DATATYPE_H
