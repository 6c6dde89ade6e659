//===-- KernelsTest.cpp - Kernels compiled by nvcc --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs/*.cu are ours; Inputs/*.ptx is what nvcc 13.0 made of them for
// sm_80.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include <cmath>

using namespace blockscale::sim;
using namespace blockscale::sim::test;

namespace {
struct Kernels : testing::Test {
  Device device;
  void load(const std::string &name) {
    std::string error;
    ASSERT_TRUE(device.load(
        readFile(std::string(SIM_KERNELS) + "/" + name + ".ptx"), error))
        << error;
  }
  template <class T> uint64_t upload(const std::vector<T> &data) {
    return device.upload(data.data(), data.size() * sizeof(T), "data");
  }
  template <class T> std::vector<T> download(uint64_t address, size_t count) {
    std::vector<T> data(count);
    device.read(address, data.data(), count * sizeof(T));
    return data;
  }
  template <class... T>
  Profile launch(const std::string &entry, Dim3 grid, Dim3 block,
                 const T &...params) {
    Launch launch;
    launch.entry = entry;
    launch.grid = grid;
    launch.block = block;
    launch.options.profile = true;
    (launch.add(params), ...);
    Result result = device.launch(launch);
    EXPECT_TRUE(result) << result.text();
    return result.profile;
  }
  std::vector<float> floats(size_t count) {
    std::vector<float> data(count);
    for (float &x : data)
      x = std::ldexp(double(int64_t(random.next()) >> 40), -20);
    return data;
  }
  Random random{99};
};
} // namespace

TEST_F(Kernels, Reduction) {
  load("Basics");
  std::vector<float> x = floats(10000);
  uint64_t y = device.allocate(16, "y");
  launch("reduce_sum", {4}, {256}, upload(x), y, 10000);
  double sum = 0, got = 0;
  for (float v : x)
    sum += v;
  for (float v : download<float>(y, 4))
    got += v;
  EXPECT_NEAR(got, sum, 1e-2);
}

TEST_F(Kernels, Transpose) {
  load("Basics");
  int rows = 100, columns = 70;
  std::vector<float> x = floats(rows * columns);
  uint64_t y = device.allocate(x.size() * 4, "y");
  Profile profile =
      launch("transpose", {3, 4}, {32, 8}, upload(x), y, rows, columns);
  std::vector<float> out = download<float>(y, x.size());
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c)
      ASSERT_EQ(out[c * rows + r], x[r * columns + c]);
  // The tile is padded to 33 columns so that there is none.
  EXPECT_EQ(profile.bankConflicts(), 0u);
}

TEST_F(Kernels, Histogram) {
  load("Basics");
  std::vector<uint8_t> x(5000);
  std::vector<uint32_t> expected(256), zeros(256);
  for (uint8_t &v : x)
    ++expected[v = random.next()];
  uint64_t bins = upload(zeros);
  launch("histogram", {3}, {128}, upload(x), bins, 5000);
  EXPECT_EQ(download<uint32_t>(bins, 256), expected);
}

TEST_F(Kernels, Scan) {
  load("Basics");
  std::vector<int> x(2048);
  for (int &v : x)
    v = random.next() % 1000;
  uint64_t y = device.allocate(8192, "y");
  launch("scan", {2}, {1024}, upload(x), y);
  std::vector<int> out = download<int>(y, 2048);
  for (int i = 0, sum = 0; i < 2048; ++i) {
    sum = i == 1024 ? x[i] : sum + x[i];
    ASSERT_EQ(out[i], sum);
  }
}

TEST_F(Kernels, HalfAndBf16) {
  load("Basics");
  std::vector<uint16_t> a(64), b(64);
  auto h = [](double v) {
    _Float16 half = v;
    uint16_t bits;
    std::memcpy(&bits, &half, 2);
    return bits;
  };
  for (int i = 0; i < 64; ++i)
    a[i] = h(i / 8.0 - 3), b[i] = h(2 - i / 16.0);
  uint64_t y = device.allocate(128, "y");
  launch("half_math", {1}, {64}, upload(a), upload(b), y, 64);
  std::vector<uint16_t> out = download<uint16_t>(y, 64);
  for (int i = 0; i < 64; ++i) {
    double p = i / 8.0 - 3, q = 2 - i / 16.0; // All exact in f16.
    ASSERT_EQ(out[i], h(double(_Float16(p * q + double(_Float16(p * p)))) +
                        std::max(p, q)));
  }
  auto brain = [](float v) { return uint16_t(bits(v) >> 16); };
  for (int i = 0; i < 64; ++i)
    a[i] = brain(i - 20), b[i] = brain(8 - i);
  launch("bf16_math", {1}, {32}, upload(a), upload(b), y, 64);
  out = download<uint16_t>(y, 64);
  for (int i = 0; i < 16; ++i) // Exact below 256.
    ASSERT_EQ(out[i], brain((i - 20) * (8 - i) + std::max(i - 20, 8 - i)));
}

TEST_F(Kernels, CallsDoublesAndDivergence) {
  load("Basics");
  std::vector<double> x(100);
  for (double &v : x)
    v = double(int64_t(random.next())) / 4e18;
  uint64_t y = device.allocate(800, "y"), steps = device.allocate(400, "steps");
  launch("mixed", {2}, {64}, upload(x), y, steps, 100);
  std::vector<double> out = download<double>(y, 100);
  std::vector<int> counts = download<int>(steps, 100);
  const double c[4] = {1.0, -0.5, 0.25, 2.0};
  for (int i = 0; i < 100; ++i) {
    double value = 0;
    for (int k = 3; k >= 0; --k)
      value = std::fma(value, x[i], c[(k + i) % 4]);
    ASSERT_EQ(out[i], value / (1 + i % 7));
    unsigned n = i + 1;
    int count = 0;
    for (; n != 1; ++count)
      n = n % 2 ? 3 * n + 1 : n / 2;
    ASSERT_EQ(counts[i], count);
  }
}

TEST_F(Kernels, MathFunctions) {
  load("Basics");
  int n = 500;
  std::vector<float> x(n);
  for (int i = 0; i < n; ++i)
    x[i] = (i - 250) * 0.123f;
  x[0] = 1e6f;
  x[1] = -12345.678f;
  uint64_t y = device.allocate(n * 28, "y");
  launch("functions", {4}, {128}, upload(x), y, n);
  std::vector<float> out = download<float>(y, 7 * n);
  for (int i = 0; i < n; ++i) {
    double v = x[i], a = std::fabs(v);
    double exact[7] = {std::exp(v),     std::log(a + 1.0),      std::sin(v),
                       std::tanh(v),    1 / std::sqrt(a + 0.5), std::erf(v),
                       std::pow(a, 1.5)};
    for (int k = 0; k < 7; ++k)
      if (std::isfinite(float(exact[k]))) {
        ASSERT_NEAR(out[k * n + i], exact[k],
                    4e-6 * std::fabs(exact[k]) + 1e-37)
            << k << " " << v;
      }
  }
}

TEST_F(Kernels, Matmul) {
  load("Matmul");
  int m = 128, n = 64, k = 96;
  auto value = [](int i, int j) { return ((i * 7 + j * 3) % 17 - 8) / 4.0f; };
  std::vector<uint16_t> a(m * k), b(n * k);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < k; ++j)
      a[i * k + j] = bits(value(i, j)) >> 16;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < k; ++j)
      b[i * k + j] = bits(value(i + 5, j + 1)) >> 16;
  uint64_t c = device.allocate(m * n * 4, "c");
  Profile profile =
      launch("matmul_bf16", {1, 2}, {128}, upload(a), upload(b), c, m, n, k);
  std::vector<float> out = download<float>(c, m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int x = 0; x < k; ++x)
        sum += value(i, x) * value(j + 5, x + 1);
      ASSERT_EQ(out[i * n + j], sum);
    }
  EXPECT_EQ(profile.instructions.at(
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
            uint64_t(2) * 4 * 3 * 2 * 8);
}

TEST_F(Kernels, NvFp4Matmul) {
  load("NvFp4");
  int m = 128, n = 128, k = 512;
  std::vector<uint8_t> a(m * k / 2), b(n * k / 2), sa(m * k / 16),
      sb(n * k / 16);
  for (std::vector<uint8_t> *bytes : {&a, &b})
    for (uint8_t &byte : *bytes)
      byte = random.next();
  for (std::vector<uint8_t> *bytes : {&sa, &sb})
    for (uint8_t &byte : *bytes)
      byte = 0x28 + random.next() % 32; // 0.25 to 3.75
  uint64_t c = device.allocate(m * n * 4, "c");
  launch("matmul_nvfp4", {1, 1}, {256}, upload(a), upload(sa), upload(b),
         upload(sb), c, n, k);
  std::vector<float> out = download<float>(c, m * n);
  const double e2m1[] = {0, .5, 1, 1.5, 2, 3, 4, 6};
  auto value = [&](const std::vector<uint8_t> &codes,
                   const std::vector<uint8_t> &scales, int row, int x) {
    unsigned code = codes[(row * k + x) / 2] >> (x % 2 * 4) & 15;
    unsigned scale = scales[(row * k + x) / 16];
    double s = std::ldexp(8 + scale % 8, int(scale / 8) - 10);
    return (code & 8 ? -1 : 1) * e2m1[code & 7] * s;
  };
  for (int i = 0; i < m; ++i)
    for (int j = i % 3; j < n; j += 3) {
      double sum = 0, bound = 0;
      for (int x = 0; x < k; ++x) {
        double product = value(a, sa, i, x) * value(b, sb, j, x);
        sum += product;
        bound += std::fabs(product);
      }
      // Eight roundings to f32, one per step.
      ASSERT_NEAR(out[i * n + j], sum, 8 * 0x1p-24 * bound);
    }
}
