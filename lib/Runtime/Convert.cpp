//===-- Convert.cpp - Float arrays from one width to another ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/Convert.h"

#include <cmath>
#include <cstring>

using namespace blockscale::runtime;

template <typename To, typename From> static To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// `value` as f32, rounded to odd: a later rounding to fewer bits then sees
/// which side of a tie it came from, and is the only one that counts.
static float roundToOdd(double value) {
  float near = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(near) == value)
    return near;
  uint32_t bits = bitCast<uint32_t>(near);
  if (std::fabs(static_cast<double>(near)) > std::fabs(value))
    --bits;
  return bitCast<float>(bits | 1);
}

uint16_t blockscale::runtime::toBF16(double value) {
  uint32_t bits = bitCast<uint32_t>(roundToOdd(value));
  if (std::isnan(value))
    return bits >> 16 | 0x40; // A payload of low bits only must not vanish.
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

float blockscale::runtime::fromBF16(uint16_t bits) {
  return bitCast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t blockscale::runtime::toF16(double value) {
  return bitCast<uint16_t>(static_cast<_Float16>(value));
}

float blockscale::runtime::fromF16(uint16_t bits) {
  return bitCast<_Float16>(bits);
}

template <typename T> static T loadAt(const Tensor &tensor, int64_t index) {
  T value;
  std::memcpy(&value, tensor.data() + index * sizeof value, sizeof value);
  return value;
}

double blockscale::runtime::valueAt(const Tensor &tensor, int64_t index) {
  switch (tensor.type()) {
  case DataType::I1:
  case DataType::U8:
    return loadAt<uint8_t>(tensor, index);
  case DataType::I8:
    return loadAt<int8_t>(tensor, index);
  case DataType::I16:
    return loadAt<int16_t>(tensor, index);
  case DataType::U16:
    return loadAt<uint16_t>(tensor, index);
  case DataType::I32:
    return loadAt<int32_t>(tensor, index);
  case DataType::U32:
    return loadAt<uint32_t>(tensor, index);
  case DataType::I64:
    return static_cast<double>(loadAt<int64_t>(tensor, index));
  case DataType::U64:
    return static_cast<double>(loadAt<uint64_t>(tensor, index));
  case DataType::F16:
    return fromF16(loadAt<uint16_t>(tensor, index));
  case DataType::BF16:
    return fromBF16(loadAt<uint16_t>(tensor, index));
  case DataType::F32:
    return loadAt<float>(tensor, index);
  case DataType::F64:
    return loadAt<double>(tensor, index);
  }
  return 0;
}

template <typename T, typename Encode>
static void encodeAll(Tensor &to, const Tensor &from, Encode encode) {
  for (int64_t i = 0; i < from.count(); ++i) {
    T value = encode(valueAt(from, i));
    std::memcpy(to.data() + i * sizeof value, &value, sizeof value);
  }
}

std::optional<Tensor> blockscale::runtime::convertFloats(const Tensor &tensor,
                                                         DataType type,
                                                         std::string &error) {
  std::optional<Tensor> result = Tensor::allocate(type, tensor.shape(), error);
  if (!result)
    return std::nullopt;
  if (type == DataType::BF16)
    encodeAll<uint16_t>(*result, tensor, toBF16);
  else if (type == DataType::F16)
    encodeAll<uint16_t>(*result, tensor, toF16);
  else if (type == DataType::F32)
    encodeAll<float>(*result, tensor,
                     [](double value) { return static_cast<float>(value); });
  else
    encodeAll<double>(*result, tensor, [](double value) { return value; });
  return result;
}
