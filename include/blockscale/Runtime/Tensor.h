//===-- Tensor.h - An array on the host -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_RUNTIME_TENSOR_H
#define BLOCKSCALE_RUNTIME_TENSOR_H

#include "blockscale/Runtime/DataType.h"

#include <cstdlib>
#include <memory>

namespace blockscale::runtime {

/// A row-major array that owns its memory.
class Tensor {
public:
  Tensor() = default;

  /// An array of `shape`, aligned to 64 bytes, its contents unspecified.
  /// Nullopt if a size is negative or memory does not suffice.
  static std::optional<Tensor>
  allocate(DataType type, std::vector<int64_t> shape, std::string &error);
  /// Takes over `allocation` (from malloc), in which the elements start at
  /// `data`.
  static Tensor adopt(DataType type, std::vector<int64_t> shape,
                      void *allocation, void *data);

  DataType type() const { return elementType; }
  const std::vector<int64_t> &shape() const { return extents; }
  int64_t count() const { return elements; }
  size_t bytes() const { return elements * size(elementType); }
  uint8_t *data() { return first; }
  const uint8_t *data() const { return first; }
  /// `bf16[4x64]`.
  std::string text() const { return arrayText(elementType, extents); }

  /// The same bytes under another name; for sameBits() types.
  void reinterpretAs(DataType type) { elementType = type; }

private:
  struct Free {
    void operator()(void *memory) const { std::free(memory); }
  };
  DataType elementType = DataType::U8;
  std::vector<int64_t> extents = {0};
  int64_t elements = 0;
  std::unique_ptr<void, Free> allocation;
  uint8_t *first = nullptr;
};

/// A row-major array somewhere on the host, not owned, only read.
struct TensorView {
  DataType type = DataType::U8;
  std::vector<int64_t> shape;
  const void *data = nullptr;

  TensorView() = default;
  TensorView(const Tensor &tensor)
      : type(tensor.type()), shape(tensor.shape()), data(tensor.data()) {}
};

/// Strides in elements of a row-major array.
std::vector<int64_t> rowMajorStrides(const std::vector<int64_t> &shape);

/// Copies an array of `shape` from `source`, whose strides in elements are
/// given, to row-major order at `target`. Either may be null if it is empty.
void copyStrided(void *target, const void *source, size_t elementSize,
                 const std::vector<int64_t> &shape,
                 const std::vector<int64_t> &sourceStrides);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_TENSOR_H
