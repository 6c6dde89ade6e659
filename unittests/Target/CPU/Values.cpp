//===-- Values.cpp - Random numbers, and arrays compared -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Values.h"
#include "Compiled.h"

#include "blockscale/Layout/ScaleLayout.h"
#include "blockscale/Runtime/Convert.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace blockscale;
using namespace blockscale::test;
using runtime::DataType;

std::string test::str(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

mlir::Type test::typeOf(DataType real) {
  mlir::MLIRContext *context = &sharedContext();
  if (real == DataType::BF16)
    return mlir::BFloat16Type::get(context);
  if (real == DataType::F16)
    return mlir::Float16Type::get(context);
  return mlir::Float32Type::get(context);
}

std::vector<float> test::awkwardValues(int64_t count, uint32_t seed,
                                       bool withSpecials) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (int64_t first = 0; first < count; first += 16) {
    unsigned kind = random() % 12;
    for (int64_t i = first; i < std::min(count, first + 16); ++i) {
      float x = normal(random);
      switch (kind) {
      case 0:
        x = std::copysign(0.0f, x);
        break;
      case 1:
        x *= 1e-42f;
        break;
      case 2:
        x *= std::ldexp(1.0f, int(random() % 60) - 30);
        break;
      case 3:
        x = std::round(x * 4) / 4;
        break;
      case 4:
        if (withSpecials && random() % 8 == 0)
          x = random() % 2 ? NAN : -INFINITY;
        break;
      case 5:
        if (withSpecials)
          x = std::copysign(3e38f, x);
        break;
      }
      values[i] = x;
    }
  }
  return values;
}

std::vector<float> test::quarters(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = (int(random() % 33) - 16) * 0.25f;
  return values;
}

Reals::Reals(DataType type, const std::vector<float> &wanted)
    : type(type), values(wanted) {
  if (type == DataType::F32)
    return;
  bool isBF16 = type == DataType::BF16;
  for (float &value : values) {
    half.push_back(isBF16 ? runtime::toBF16(value) : runtime::toF16(value));
    value =
        isBF16 ? runtime::fromBF16(half.back()) : runtime::fromF16(half.back());
  }
}

runtime::TensorView Reals::view(std::vector<int64_t> shape) const {
  const void *data =
      half.empty() ? static_cast<const void *>(values.data()) : half.data();
  return test::view(type, data, std::move(shape));
}

std::vector<float> test::floatsOf(const runtime::Tensor &tensor) {
  std::vector<float> values(tensor.count());
  for (int64_t i = 0; i < tensor.count(); ++i)
    values[i] = float(runtime::valueAt(tensor, i));
  return values;
}

std::vector<uint32_t> test::bitsOf(const std::vector<float> &values) {
  std::vector<uint32_t> bits(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]))
      bits[i] = 0x7fc00000;
    else
      std::memcpy(&bits[i], &values[i], 4);
  }
  return bits;
}

std::vector<uint8_t> test::packed(const std::vector<uint8_t> &codes,
                                  unsigned width) {
  if (width != 4)
    return codes;
  std::vector<uint8_t> bytes(codes.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = codes[2 * i] | codes[2 * i + 1] << 4;
  return bytes;
}

std::vector<uint32_t> test::tiledCodes(const std::vector<uint32_t> &codes,
                                       int64_t batch, int64_t rows,
                                       int64_t cols, uint8_t padding) {
  int64_t bytes = tiledScaleBytes(rows, cols);
  std::vector<uint32_t> tiled(batch * bytes, padding);
  for (int64_t t = 0; t < batch; ++t)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < cols; ++col)
        tiled[t * bytes + tiledScaleOffset(row, col, cols)] =
            codes[(t * rows + row) * cols + col];
  return tiled;
}
