//===-- Tensor.cpp - An array on the host -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/Tensor.h"

#include <cstring>

using namespace blockscale::runtime;

/// A cache line, and the widest vector register.
constexpr size_t alignment = 64;

std::optional<Tensor> Tensor::allocate(DataType type,
                                       std::vector<int64_t> shape,
                                       std::string &error) {
  std::optional<int64_t> count = elementCount(shape, size(type));
  void *memory = nullptr;
  if (count) {
    size_t bytes = static_cast<size_t>(*count) * size(type);
    if (posix_memalign(&memory, alignment, bytes ? bytes : 1))
      memory = nullptr;
  }
  if (!memory) {
    error = arrayText(type, shape) + " does not fit in memory";
    return std::nullopt;
  }
  return adopt(type, std::move(shape), memory, memory);
}

Tensor Tensor::adopt(DataType type, std::vector<int64_t> shape,
                     void *allocation, void *data) {
  Tensor tensor;
  tensor.elementType = type;
  tensor.elements = elementCount(shape, size(type)).value_or(0);
  tensor.extents = std::move(shape);
  tensor.allocation.reset(allocation);
  tensor.first = static_cast<uint8_t *>(data);
  return tensor;
}

std::vector<int64_t>
blockscale::runtime::rowMajorStrides(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    // A zero size makes every stride as good as any other.
    stride *= shape[i] > 0 ? shape[i] : 1;
  }
  return strides;
}

static uint8_t *copyLevel(uint8_t *target, const uint8_t *source,
                          size_t elementSize, const std::vector<int64_t> &shape,
                          const std::vector<int64_t> &strides, size_t level) {
  if (level == shape.size()) {
    std::memcpy(target, source, elementSize);
    return target + elementSize;
  }
  const int64_t step = strides[level] * static_cast<int64_t>(elementSize);
  if (level + 1 == shape.size() && strides[level] == 1) {
    std::memcpy(target, source, shape[level] * elementSize);
    return target + shape[level] * elementSize;
  }
  for (int64_t i = 0; i < shape[level]; ++i)
    target = copyLevel(target, source + i * step, elementSize, shape, strides,
                       level + 1);
  return target;
}

void blockscale::runtime::copyStrided(
    void *target, const void *source, size_t elementSize,
    const std::vector<int64_t> &shape,
    const std::vector<int64_t> &sourceStrides) {
  for (int64_t extent : shape)
    if (extent == 0)
      return;
  copyLevel(static_cast<uint8_t *>(target),
            static_cast<const uint8_t *>(source), elementSize, shape,
            sourceStrides, 0);
}
