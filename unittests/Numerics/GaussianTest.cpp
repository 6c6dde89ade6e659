//===-- GaussianTest.cpp - Known errors on Gaussian data ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RefVectors.h"

using namespace blockscale;
using namespace blockscale::test;

/// The mean squared error of a unit Gaussian quantized with its clip mapped to
/// the element's largest value, by the midpoint rule.
static double meanSquaredError(const ElementType &type, double clip) {
  HostBuilder b;
  constexpr int kSteps = 1 << 17;
  constexpr unsigned kLanes = 256;
  const double range = 9, width = 2 * range / kSteps;
  double step = clip / type.maxMagnitude(), total = 0;
  for (int first = 0; first < kSteps; first += kLanes) {
    HostValue scaled(kLanes);
    for (unsigned i = 0; i < kLanes; ++i)
      scaled[i] = bitsOfF32(float(((first + i + 0.5) * width - range) / step));
    HostValue values = decodeElement(
        b, type, encodeElement(b, type, scaled, Rounding::NearestEven));
    for (unsigned i = 0; i < kLanes; ++i) {
      double x = (first + i + 0.5) * width - range;
      double error = x - values.asFloat(i) * step;
      total += error * error * std::exp(-x * x / 2) * width;
    }
  }
  return total / std::sqrt(2 * std::acos(-1.0));
}

TEST(Gaussian, OptimalClips) {
  Json optimal = readRefs("gaussian_optimal.json");
  const std::pair<const char *, ElementType> rows[] = {
      {"e2m1", elementOf("e2m1")},
      {"e1m2", elementOf("e1m2")},
      {"e2m3", elementOf("e2m3")},
      {"e3m2", elementOf("e3m2")},
      {"e4m3fn", elementOf("e4m3")},
      {"e5m2", elementOf("e5m2")},
      {"int4_midrise", ElementType::midrise(4)},
      {"int8_midrise", ElementType::midrise(8)},
      {"int4_midtread_sym", ElementType::integer(4)},
      {"int6_midtread_sym", ElementType::integer(6)},
      {"int8_midtread_sym", ElementType::integer(8)},
      {"nf4", ElementType::nf4()},
  };
  for (const auto &[name, type] : rows) {
    double clip = optimal[name]["optimal_clip_sigma"];
    double expected = optimal[name]["mse"];
    EXPECT_NEAR(meanSquaredError(type, clip), expected, 1e-4 * expected)
        << name;
    // An optimum: worse on either side.
    EXPECT_GT(meanSquaredError(type, clip * 1.02), expected) << name;
    EXPECT_GT(meanSquaredError(type, clip * 0.98), expected) << name;
  }
}

// The clip that the rms rule uses is that optimum.
TEST(Gaussian, RmsRuleUsesTheOptimalClip) {
  double clip = readRefs("gaussian_optimal.json")["e2m1"]["optimal_clip_sigma"];
  EXPECT_NEAR(ruleOf("rms").clip, clip, 1e-5);
}
