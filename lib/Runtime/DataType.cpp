//===-- DataType.cpp - What an array in memory holds ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/DataType.h"

using namespace blockscale::runtime;

namespace {
struct Row {
  std::string_view name;
  uint8_t size;
  bool isFloat;
};
// In the order of the enumeration.
constexpr Row rows[] = {
    {"i1", 1, false},  {"i8", 1, false},  {"u8", 1, false},  {"i16", 2, false},
    {"u16", 2, false}, {"i32", 4, false}, {"u32", 4, false}, {"i64", 8, false},
    {"u64", 8, false}, {"f16", 2, true},  {"bf16", 2, true}, {"f32", 4, true},
    {"f64", 8, true},
};
const Row &row(DataType type) { return rows[static_cast<size_t>(type)]; }
} // namespace

std::string_view blockscale::runtime::name(DataType type) {
  return row(type).name;
}

std::optional<DataType>
blockscale::runtime::dataTypeFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(rows); ++i)
    if (rows[i].name == name)
      return static_cast<DataType>(i);
  return std::nullopt;
}

size_t blockscale::runtime::size(DataType type) { return row(type).size; }

bool blockscale::runtime::isFloat(DataType type) { return row(type).isFloat; }

bool blockscale::runtime::sameBits(DataType expected, DataType given) {
  // A byte that is neither 0 nor 1 is no boolean, so i1 takes only itself.
  return expected == given ||
         (!isFloat(expected) && !isFloat(given) && expected != DataType::I1 &&
          size(expected) == size(given));
}

std::string blockscale::runtime::shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t extent : shape) {
    if (!text.empty())
      text += 'x';
    text += extent < 0 ? "?" : std::to_string(extent);
  }
  return text;
}

std::string blockscale::runtime::arrayText(DataType type,
                                           const std::vector<int64_t> &shape) {
  return std::string(name(type)) + "[" + shapeText(shape) + "]";
}

std::optional<int64_t>
blockscale::runtime::elementCount(const std::vector<int64_t> &shape,
                                  size_t bytesPerElement) {
  // Strides are products too, so sizes beside a zero must not overflow either.
  int64_t product = 1, bytes = 0;
  bool isEmpty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    isEmpty |= extent == 0;
    if (extent != 0 && __builtin_mul_overflow(product, extent, &product))
      return std::nullopt;
  }
  if (__builtin_mul_overflow(product, static_cast<int64_t>(bytesPerElement),
                             &bytes))
    return std::nullopt;
  return isEmpty ? 0 : product;
}
