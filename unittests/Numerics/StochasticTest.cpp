//===-- StochasticTest.cpp - Stochastic rounding --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Pcg32.h"
#include "RefVectors.h"
#include "blockscale/Numerics/Philox.h"

using namespace blockscale;
using namespace blockscale::test;

// encode_c5
TEST(Stochastic, Vectors) {
  Json rows = readRefs("sr_vectors.json")["rows"];
  EXPECT_EQ(rows.size(), 160u);
  for (const Json &row : rows)
    EXPECT_EQ(encodeOne(elementOf(row["fmt"]), hexFloat(row["x"]),
                        Rounding::Stochastic, hexBits(row["r32"])),
              row["code_threshold"].get<uint32_t>())
        << row.dump();
}

TEST(Stochastic, TheThresholdIsExact) {
  ElementType type = elementOf("e2m1");
  // 0.5 + 0.5 * 3/4 lies three quarters up: up for the draws below 3 * 2^30.
  EXPECT_EQ(encodeOne(type, 0.875f, Rounding::Stochastic, 0xbfffffffu), 2u);
  EXPECT_EQ(encodeOne(type, 0.875f, Rounding::Stochastic, 0xc0000000u), 1u);
  // What is not zero rounds up for the draw zero, however small; zero never.
  for (float tiny : {1e-45f, 1e-38f, 1e-20f}) {
    EXPECT_EQ(encodeOne(type, tiny, Rounding::Stochastic, 0), 1u);
    EXPECT_EQ(encodeOne(type, tiny, Rounding::Stochastic, 1), 0u);
    EXPECT_EQ(encodeOne(type, -tiny, Rounding::Stochastic, 0), 9u);
  }
  EXPECT_EQ(encodeOne(type, 0.0f, Rounding::Stochastic, 0), 0u);
  EXPECT_EQ(encodeOne(type, -0.0f, Rounding::Stochastic, 0), 8u);
  // An exact value stays.
  EXPECT_EQ(encodeOne(type, 3.0f, Rounding::Stochastic, 0), 5u);
}

// random_c3: the mean of 2^22 draws lies within 5 sigma of x.
TEST(Stochastic, UnbiasedInEveryFormat) {
  constexpr unsigned kLanes = 256, kDraws = 1u << 22;
  HostBuilder b;
  for (const char *name :
       {"e2m1", "e1m2", "e3m0", "e2m3", "e3m2", "e4m3", "e5m2", "e3m4",
        "mxint8", "mxint6", "mxint4", "int4", "uint4", "midrise4", "nf4"}) {
    ElementType type = elementOf(name);
    Pcg32 generator(7);
    float max = type.maxMagnitude();
    bool isUnsigned = type.kind == ElementType::Kind::UInt;
    HostValue x(kLanes);
    for (unsigned i = 0; i < kLanes; ++i) {
      double u = generator.uniform() * 2 - 1;
      x[i] = bitsOfF32(float((isUnsigned ? std::fabs(u) : u) * max * 0.99));
    }
    double sum = 0, squares = 0, expected = 0;
    for (unsigned draw = 0; draw < kDraws; draw += kLanes) {
      HostValue random =
          randomLanes(b, b.i32(draw), b.i32(0), kLanes, b.i32(2024), b.i32(0));
      HostValue codes =
          encodeElement(b, type, x, Rounding::Stochastic, {random});
      HostValue values = decodeElement(b, type, codes);
      for (unsigned i = 0; i < kLanes; ++i) {
        double error = double(values.asFloat(i)) - x.asFloat(i);
        sum += error;
        squares += error * error;
      }
    }
    expected = 5 * std::sqrt(squares);
    EXPECT_LT(std::fabs(sum), expected) << name;
    EXPECT_GT(squares, 0) << name;
  }
}

// Two neighbours only, and both of them.
TEST(Stochastic, DrawsBothNeighboursAndNoOther) {
  std::vector<float> x(1 << 16, 2.3f);
  x[0] = 6.0f; // the block scale becomes 1
  Format format = formatOf("e2m1", {{"block", "16"}, {"scale", "f32"}});
  reference::Scales scales;
  scales.codes.assign(x.size() / 16, bitsOfF32(1.0f));
  std::vector<uint8_t> codes = reference::quantize(
      format, scales, x.data(), {1, 16, 1 << 12}, Rounding::Stochastic, 99);
  unsigned up = 0;
  for (size_t i = 1; i < codes.size(); ++i) {
    ASSERT_TRUE(codes[i] == 4 || codes[i] == 5);
    up += codes[i] == 5;
  }
  EXPECT_NEAR(up / 65535.0, 0.3, 0.01);
}

// random_c2: the seed and the element's place in the result decide.
TEST(Stochastic, SameSeedSameBits) {
  Format format = formatOf("nvfp4");
  ScaleRule rule = ScaleRule::defaultFor(format);
  std::vector<float> x = Pcg32(3).normals(64 * 64);
  auto codes = [&](uint64_t seed) {
    return RoundTrip(format, rule, x, 64, 64, Rounding::Stochastic, seed).codes;
  };
  EXPECT_EQ(codes(5), codes(5));
  EXPECT_NE(codes(5), codes(6));
  EXPECT_NE(codes(5), codes(5 + (uint64_t(1) << 32)));
}
