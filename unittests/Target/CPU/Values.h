//===-- Values.h - Random numbers, and arrays compared ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_UNITTESTS_TARGET_CPU_VALUES_H
#define BLOCKSCALE_UNITTESTS_TARGET_CPU_VALUES_H

#include "blockscale/Numerics/Format.h"
#include "blockscale/Runtime/Tensor.h"
#include "mlir/IR/Types.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace blockscale::test {

std::string str(mlir::Type type);
/// f32, bf16 or f16.
mlir::Type typeOf(runtime::DataType real);

/// Blocks of every kind: ordinary, wide, zeros of both signs, tiny, on a grid;
/// and with NaN, infinity and numbers near the largest if asked for.
std::vector<float> awkwardValues(int64_t count, uint32_t seed,
                                 bool withSpecials);
/// Multiples of 1/4 up to 4, so that sums of products are exact.
std::vector<float> quarters(int64_t count, uint32_t seed);

/// Real numbers as memory holds them in f32, bf16 or f16.
struct Reals {
  Reals(runtime::DataType type, const std::vector<float> &wanted);
  runtime::TensorView view(std::vector<int64_t> shape) const;

  runtime::DataType type;
  std::vector<float> values; ///< After rounding to `type`, to nearest even.
  std::vector<uint16_t> half;
};

/// A result of f32, bf16 or f16.
std::vector<float> floatsOf(const runtime::Tensor &tensor);
/// Bits, every NaN the same: which one an operation gives is not specified.
std::vector<uint32_t> bitsOf(const std::vector<float> &values);
/// Codes as memory holds them.
std::vector<uint8_t> packed(const std::vector<uint8_t> &codes, unsigned width);
/// Scales of `batch` matrices in 128x4 tiles; padding is `padding`.
std::vector<uint32_t> tiledCodes(const std::vector<uint32_t> &codes,
                                 int64_t batch, int64_t rows, int64_t cols,
                                 uint8_t padding = 0);

template <typename T>
void expectSame(const std::vector<T> &actual, const std::vector<T> &expected,
                const std::string &what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_EQ(actual[i], expected[i]) << what << " at " << i;
}

} // namespace blockscale::test

#endif // BLOCKSCALE_UNITTESTS_TARGET_CPU_VALUES_H
