//===-- DeterminismTest.cpp - The same bits on any number of threads ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compiled.h"
#include "Values.h"

#include <cstdlib>

using namespace blockscale;
using namespace blockscale::test;
using runtime::DataType;

/// A layer whose sums are not exact: rotated, quantized stochastically, with
/// f32 data whose products have all their bits.
static const char *kLayer = R"(
#fmt = #blockscale.format<nvfp4>
func.func @f(%x: tensor<?x272xf32>, %w: tensor<?x272xf32>, %seed: tensor<i64>)
    -> (tensor<?x272xf4E2M1FN>, tensor<?x?xf32>, tensor<?x?xf32>) {
  %r = blockscale.rotate %x {size = 16} : tensor<?x272xf32>
  %s, %g, %e = blockscale.scale %r : tensor<?x272xf32> to #fmt
      by #blockscale.scale_rule<four_over_six>
      -> tensor<?x17xf8E4M3FN>, tensor<f32>, tensor<?x17xf32>
  %q = blockscale.quantize %r : tensor<?x272xf32> encode(%e : tensor<?x17xf32>)
      to #fmt round stochastic seed(%seed : tensor<i64>) -> tensor<?x272xf4E2M1FN>
  %y = blockscale.scaled_matmul
      lhs(%q, %s, %g : tensor<?x272xf4E2M1FN>, tensor<?x17xf8E4M3FN>, tensor<f32> as #fmt)
      rhs(%w : tensor<?x272xf32>) : tensor<?x?xf32>
  %z = blockscale.scaled_matmul lhs(%x : tensor<?x272xf32>) rhs(%w : tensor<?x272xf32>)
      : tensor<?x?xf32>
  return %q, %y, %z : tensor<?x272xf4E2M1FN>, tensor<?x?xf32>, tensor<?x?xf32>
}
)";

/// Every result's bytes. The library reads the variable when it first runs.
static std::vector<std::vector<uint8_t>> outputs(const char *threads) {
  setenv("BLOCKSCALE_NUM_THREADS", threads, 1);
  Compiled compiled(kLayer);
  std::vector<float> x = awkwardValues(700 * 272, 1, false);
  std::vector<float> w = awkwardValues(301 * 272, 2, false);
  for (std::vector<float> *values : {&x, &w})
    for (float &value : *values)
      value = value > 1e30f || value < -1e30f ? 1.0f : value;
  int64_t seed = 12345;
  std::vector<std::vector<uint8_t>> bytes;
  for (int repeat = 0; repeat < 2; ++repeat)
    for (const runtime::Tensor &result :
         compiled({view(x, {700, 272}), view(w, {301, 272}),
                   view(DataType::I64, &seed, {})}))
      bytes.emplace_back(result.data(), result.data() + result.bytes());
  unsetenv("BLOCKSCALE_NUM_THREADS");
  return bytes;
}

TEST(Determinism, ThreadsDoNotChangeBits) {
  std::vector<std::vector<uint8_t>> one = outputs("1");
  ASSERT_EQ(one.size(), 6u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(one[i], one[i + 3]) << "repeated";
  for (const char *threads : {"2", "4", "7"})
    EXPECT_EQ(outputs(threads), one) << threads;
}
