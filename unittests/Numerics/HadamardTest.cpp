//===-- HadamardTest.cpp - The block rotation -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/Hadamard.h"
#include "Pcg32.h"
#include "RefVectors.h"

using namespace blockscale;
using namespace blockscale::test;

static float largest(const std::vector<float> &x) {
  return reference::amax(x.data(), int64_t(x.size()));
}

// rotate_c1
TEST(Hadamard, Vectors) {
  Json cases = readRefs("hadamard_vectors.json")["cases"];
  ASSERT_EQ(cases.size(), 4u);
  for (auto &[name, entry] : cases.items()) {
    unsigned n = unsigned(std::stoul(name));
    std::vector<float> x = hexFloats(entry["x"]);
    std::vector<int> signs = entry["sign"].get<std::vector<int>>();
    std::vector<float> y =
        reference::rotate(x.data(), int64_t(x.size()), n, signs, false);
    std::vector<double> exact = entry["y_f64"].get<std::vector<double>>();
    ASSERT_EQ(y.size(), exact.size());
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_NEAR(y[i], exact[i], n * 0x1p-24 * largest(x)) << n << " " << i;
  }
}

// Row 1 of the natural (Sylvester) order alternates.
TEST(Hadamard, NaturalOrder) {
  std::vector<float> unit(16, 0.0f);
  unit[1] = 4;
  std::vector<float> row = reference::rotate(unit.data(), 16, 16, {}, false);
  for (unsigned i = 0; i < 16; ++i)
    EXPECT_EQ(row[i], i % 2 ? -1.0f : 1.0f);
}

// rotate_c2
TEST(Hadamard, InverseUndoesIt) {
  for (unsigned n = 2; n <= 256; n *= 2) {
    Pcg32 generator(n);
    std::vector<float> x = generator.normals(n);
    std::vector<int> signs(n);
    for (int &sign : signs)
      sign = generator.next() >> 31 ? -1 : 1;
    std::vector<float> y = reference::rotate(x.data(), n, n, signs, false);
    std::vector<float> back = reference::rotate(y.data(), n, n, signs, true);
    double energyX = 0, energyY = 0;
    for (unsigned i = 0; i < n; ++i) {
      EXPECT_NEAR(back[i], x[i], n * 0x1p-23 * largest(x));
      energyX += double(x[i]) * x[i];
      energyY += double(y[i]) * y[i];
    }
    EXPECT_NEAR(energyX, energyY, 1e-5 * energyX);
  }
}

// rotate_c3. The order of the additions is part of the rule: stage h = 1 comes
// first.
TEST(Hadamard, ButterflyOrder) {
  std::vector<float> x = {1.0f, 0x1p24f, 1.0f, -0x1p24f};
  std::vector<float> y = reference::rotate(x.data(), 4, 4, {}, false);
  // (1 + 2^24) rounds to 2^24, (1 - 2^24) is exact: their sum is 1, not 2.
  EXPECT_EQ(y[0], 0.5f);
}
