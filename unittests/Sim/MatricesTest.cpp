//===-- MatricesTest.cpp - mma.sync ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fragments here follow the ISA's formulas element by element (a0, a1, ...),
// not register by register as the simulator does.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include <cmath>

using namespace blockscale::sim;
using namespace blockscale::sim::test;

namespace {
/// Small-float value of a code: exponent and mantissa bits, bias.
double small(unsigned code, unsigned e, unsigned m, int bias) {
  unsigned exponent = code >> m & ((1u << e) - 1),
           mantissa = code & ((1u << m) - 1);
  double value = exponent ? std::ldexp(1 + mantissa / double(1u << m),
                                       int(exponent) - bias)
                          : std::ldexp(mantissa / double(1u << m), 1 - bias);
  return code >> (e + m) & 1 ? -value : value;
}
struct Element {
  const char *name;
  unsigned bits, e, m;
  int bias;
  unsigned container, shift; ///< In kind::f8f6f4.
  double value(unsigned code) const { return small(code, e, m, bias); }
};
const Element e4m3 = {"e4m3", 8, 4, 3, 7, 8, 0},
              e5m2 = {"e5m2", 8, 5, 2, 15, 8, 0},
              e2m3 = {"e2m3", 6, 2, 3, 1, 8, 0},
              e3m2 = {"e3m2", 6, 3, 2, 3, 8, 0},
              e2m1 = {"e2m1", 4, 2, 1, 1, 8, 2},
              fp4 = {"e2m1", 4, 2, 1, 1, 4, 0},
              f16 = {"f16", 16, 5, 10, 15, 16, 0},
              bf16 = {"bf16", 16, 8, 7, 127, 16, 0};

/// Position of element i of lane l in A (16 x K) with e elements a register.
std::pair<unsigned, unsigned> placeA(unsigned l, unsigned i, unsigned e) {
  unsigned group = l >> 2, inGroup = l % 4;
  unsigned row = (i / e) % 2 == 0 ? group : group + 8;
  unsigned column = inGroup * e + i % e + (i < 2 * e ? 0 : 4 * e);
  return {row, column};
}
std::pair<unsigned, unsigned> placeB(unsigned l, unsigned i, unsigned e) {
  return {(l % 4) * e + i % e + (i < e ? 0 : 4 * e), l >> 2};
}

unsigned code(Random &random, const Element &element) {
  for (;;) {
    unsigned code = random.next() & ((1u << element.bits) - 1);
    unsigned exponent = code >> element.m & ((1u << element.e) - 1);
    bool wide = element.bits == 16;
    // No NaN or infinity; 16-bit floats of moderate size, for exact sums.
    if (wide && (exponent + 6 < unsigned(element.bias) ||
                 exponent > unsigned(element.bias) + 6))
      continue;
    if (element.bits == 8 && (code & 0x7f) >= (element.e == 4 ? 0x7fu : 0x7cu))
      continue;
    return code;
  }
}

struct Problem {
  const Element &a, &b;
  unsigned k;
  std::vector<std::vector<unsigned>> codesA, codesB; ///< 16 x k, k x 8
  std::vector<Words> registers; ///< A, B, C packed by pairs
  float c[16][8];

  Problem(const Element &a, const Element &b, unsigned k, uint64_t seed)
      : a(a), b(b), k(k) {
    Random random(seed);
    codesA.assign(16, std::vector<unsigned>(k));
    codesB.assign(k, std::vector<unsigned>(8));
    for (auto &row : codesA)
      for (unsigned &x : row)
        x = code(random, a);
    for (auto &row : codesB)
      for (unsigned &x : row)
        x = code(random, b);
    uint32_t ra[32][4] = {}, rb[32][2] = {};
    unsigned ea = 32 / a.container, eb = 32 / b.container;
    for (unsigned l = 0; l < 32; ++l) {
      for (unsigned i = 0; i < k * 16 / 32; ++i) {
        auto [row, column] = placeA(l, i, ea);
        ra[l][i / ea] |= codesA[row][column] << a.shift
                                             << (i % ea * a.container);
      }
      for (unsigned i = 0; i < k * 8 / 32; ++i) {
        auto [row, column] = placeB(l, i, eb);
        rb[l][i / eb] |= codesB[row][column] << b.shift
                                             << (i % eb * b.container);
      }
    }
    registers.assign(5, Words(32));
    for (unsigned l = 0; l < 32; ++l) {
      registers[0][l] = ra[l][0] | uint64_t(ra[l][1]) << 32;
      registers[1][l] = ra[l][2] | uint64_t(ra[l][3]) << 32;
      registers[2][l] = rb[l][0] | uint64_t(rb[l][1]) << 32;
      for (unsigned i = 0; i < 4; ++i) {
        float value = std::ldexp(double(int64_t(random.next()) >> 44), -10);
        c[(l >> 2) + (i < 2 ? 0 : 8)][l % 4 * 2 + (i & 1)] = value;
        registers[3 + i / 2][l] |= uint64_t(bits(value)) << (32 * (i % 2));
      }
    }
  }
  /// Loads %x0-%x3 with A, %x4-%x5 with B, %x6-%x9 with C; D is %x10-%x13.
  std::string load() const {
    return "mov.b64 {%x0, %x1}, %a0; mov.b64 {%x2, %x3}, %a1;\n"
           "mov.b64 {%x4, %x5}, %a2; mov.b64 {%x6, %x7}, %a3;\n"
           "mov.b64 {%x8, %x9}, %a4;\n";
  }
  static std::string store() {
    return "\nmov.b64 %o0, {%x10, %x11}; mov.b64 %o1, {%x12, %x13};";
  }
  double dot(unsigned m, unsigned n, unsigned from, unsigned to) const {
    double sum = 0;
    for (unsigned i = from; i < to; ++i)
      sum += a.value(codesA[m][i]) * b.value(codesB[i][n]);
    return sum;
  }
  template <class F>
  void check(const std::vector<Words> &out, F &&expected) const {
    for (unsigned l = 0; l < 32; ++l)
      for (unsigned i = 0; i < 4; ++i) {
        unsigned m = (l >> 2) + (i < 2 ? 0 : 8), n = l % 4 * 2 + (i & 1);
        ASSERT_EQ(asFloat(out[i / 2][l] >> (32 * (i % 2))),
                  static_cast<float>(expected(m, n)))
            << a.name << " x " << b.name << " at " << m << ", " << n;
      }
  }
};

void checkPlain(const Element &a, const Element &b, unsigned k,
                const std::string &kind, const std::string &target) {
  Problem problem(a, b, k, k + a.m);
  std::string ra = k * a.container == 256 ? "{%x0,%x1,%x2,%x3}" : "{%x0,%x1}";
  std::string rb = k * b.container == 256 ? "{%x4,%x5}" : "{%x4}";
  Snippet snippet(problem.load() + "mma.sync.aligned.m16n8k" +
                  std::to_string(k) + ".row.col" + kind + ".f32." + a.name +
                  "." + b.name + ".f32 {%x10,%x11,%x12,%x13}, " + ra + ", " +
                  rb + ", {%x6,%x7,%x8,%x9};" + Problem::store());
  snippet.outputs = 2;
  snippet.target = target;
  problem.check(snippet(problem.registers), [&](unsigned m, unsigned n) {
    return problem.c[m][n] + problem.dot(m, n, 0, k);
  });
}
} // namespace

TEST(Matrices, MultiplyHalves) {
  checkPlain(f16, f16, 16, "", "sm_90a");
  checkPlain(bf16, bf16, 16, "", "sm_90a");
  checkPlain(f16, f16, 8, "", "sm_90a");
  checkPlain(bf16, bf16, 8, "", "sm_90a");
}

TEST(Matrices, MultiplyBytes) {
  checkPlain(e4m3, e4m3, 32, "", "sm_90a");
  checkPlain(e4m3, e5m2, 32, "", "sm_90a");
  const Element *all[] = {&e4m3, &e5m2, &e2m3, &e3m2, &e2m1};
  for (const Element *a : all)
    for (const Element *b : all)
      checkPlain(*a, *b, 32, ".kind::f8f6f4", "sm_120a");
}

TEST(Matrices, MultiplyWithBlockScales) {
  // Scales in every position that the selectors reach.
  auto run = [](const Element &a, const Element &b, unsigned k,
                const std::string &kind, unsigned vector,
                const std::string &scaleType, unsigned byteA, unsigned threadA,
                unsigned byteB, unsigned threadB) {
    Problem problem(a, b, k, 77 + byteA * 8 + threadB);
    Random random(78 + byteA + 4 * threadA + 16 * byteB + 64 * threadB);
    bool e8m0 = scaleType == "ue8m0";
    Words scales(32);
    for (uint64_t &word : scales)
      for (unsigned i = 0; i < 8; ++i)
        word |= uint64_t(e8m0 ? 120 + random.next() % 14
                              : 0x20 + random.next() % 0x40)
                << (8 * i);
    auto value = [&](uint8_t code) {
      return e8m0 ? std::ldexp(1.0, code - 127) : small(code, 4, 3, 7);
    };
    std::vector<Words> in = problem.registers;
    in.push_back(scales);
    auto n = [](unsigned x) { return std::to_string(x); };
    Snippet snippet(
        problem.load() + "mov.b64 {%x14, %x15}, %a5;\n" + "mov.b16 %z0, " +
        n(byteB) + ";\n" + "mma.sync.aligned.m16n8k" + n(k) +
        ".row.col.kind::" + kind + ".block_scale.scale_vec::" + n(vector) +
        "X.f32." + a.name + "." + b.name + ".f32." + scaleType +
        " {%x10,%x11,%x12,%x13}, {%x0,%x1,%x2,%x3}, {%x4,%x5}, "
        "{%x6,%x7,%x8,%x9}, %x14, {" +
        n(byteA) + ", " + n(threadA) + "}, %x15, {%z0, " + n(threadB) + "};" +
        Problem::store());
    snippet.outputs = 2;
    snippet.target = "sm_120a";
    std::vector<Words> out = snippet(in);
    problem.check(out, [&](unsigned row, unsigned column) {
      double sum = problem.c[row][column];
      for (unsigned s = 0; s < vector; ++s) {
        // Thread-id 0 or 1 of A: lanes 0, 1 or 2, 3 of the quad; the first has
        // the row's scales, the second those of row + 8.
        unsigned laneA = row % 8 * 4 + threadA * 2 + row / 8;
        unsigned laneB = column * 4 + threadB;
        uint8_t codeA = scales[laneA] >> (8 * (byteA + s));
        uint8_t codeB = scales[laneB] >> (32 + 8 * (byteB + s));
        sum += value(codeA) * value(codeB) *
               problem.dot(row, column, s * k / vector, (s + 1) * k / vector);
      }
      return sum;
    });
  };
  for (unsigned thread = 0; thread < 4; ++thread) {
    run(fp4, fp4, 64, "mxf4nvf4", 4, "ue4m3", 0, thread % 2, 0, thread);
    run(fp4, fp4, 64, "mxf4nvf4", 4, "ue8m0", 0, thread % 2, 0, thread);
    run(fp4, fp4, 64, "mxf4", 2, "ue8m0", thread / 2 * 2, thread % 2,
        thread % 2 * 2, thread);
    run(fp4, fp4, 64, "mxf4nvf4", 2, "ue8m0", 2, thread % 2, 0, thread);
    for (unsigned byte = 0; byte < 4; ++byte)
      run(e4m3, e2m1, 32, "mxf8f6f4", 1, "ue8m0", byte, thread % 2, 3 - byte,
          thread);
  }
  const Element *all[] = {&e4m3, &e5m2, &e2m3, &e3m2, &e2m1};
  for (const Element *a : all)
    for (const Element *b : all)
      run(*a, *b, 32, "mxf8f6f4", 1, "ue8m0", 1, 1, 2, 3);
}

TEST(Matrices, SumsAreRoundedOnce) {
  // 2^24 + 1 + 2^-20 in f32 is 2^24 + 2, by way of the small term alone.
  Words a0(32), b(32), c(32);
  a0[0] = 0x3f803f80; // (0, 0) and (0, 1) are 1
  b[0] = 0x35803f80;  // 1 and 2^-20
  c[0] = bits(16777216.0f);
  Snippet snippet("mov.b32 %x1, 0; mma.sync.aligned.m16n8k8.row.col.f32.bf16."
                  "bf16.f32 {%x10,%x11,%x12,%x13}, {%r0,%x1}, {%r1}, "
                  "{%r2,%x1,%x1,%x1}; cvt.u64.u32 %o0, %x10;");
  EXPECT_EQ(asFloat(snippet({a0, b, c})[0][0]), 16777218.0f);
}

TEST(Matrices, MultiplyIntegers) {
  Random random(41);
  int8_t a[16][32];
  uint8_t b[32][8];
  uint32_t ra[32][4] = {}, rb[32][2] = {};
  for (auto &row : a)
    for (int8_t &x : row)
      x = random.next();
  for (auto &row : b)
    for (uint8_t &x : row)
      x = random.next();
  for (unsigned l = 0; l < 32; ++l) {
    for (unsigned i = 0; i < 16; ++i) {
      auto [row, column] = placeA(l, i, 4);
      ra[l][i / 4] |= uint32_t(uint8_t(a[row][column])) << (i % 4 * 8);
    }
    for (unsigned i = 0; i < 8; ++i) {
      auto [row, column] = placeB(l, i, 4);
      rb[l][i / 4] |= uint32_t(b[row][column]) << (i % 4 * 8);
    }
  }
  std::vector<Words> in(3, Words(32));
  for (unsigned l = 0; l < 32; ++l) {
    in[0][l] = ra[l][0] | uint64_t(ra[l][1]) << 32;
    in[1][l] = ra[l][2] | uint64_t(ra[l][3]) << 32;
    in[2][l] = rb[l][0] | uint64_t(rb[l][1]) << 32;
  }
  Snippet snippet("mov.b64 {%x0, %x1}, %a0; mov.b64 {%x2, %x3}, %a1;\n"
                  "mov.b64 {%x4, %x5}, %a2; mov.b32 %x6, 5;\n"
                  "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 "
                  "{%x10,%x11,%x12,%x13}, {%x0,%x1,%x2,%x3}, {%x4,%x5}, "
                  "{%x6,%x6,%x6,%x6};" +
                  Problem::store());
  snippet.outputs = 2;
  std::vector<Words> out = snippet(in);
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned i = 0; i < 4; ++i) {
      int32_t sum = 5;
      for (unsigned k = 0; k < 32; ++k)
        sum += a[(l >> 2) + i / 2 * 8][k] * b[k][l % 4 * 2 + i % 2];
      ASSERT_EQ(int32_t(out[i / 2][l] >> (i % 2 * 32)), sum);
    }
}

TEST(Matrices, MultiplyDoublesAndTf32) {
  Words a = Random(42).words(32), b = Random(43).words(32);
  for (Words *words : {&a, &b})
    for (uint64_t &word : *words)
      word = bits64(double(int64_t(word) >> 50));
  Snippet snippet("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%o0,%o1}, "
                  "{%a0}, {%a1}, {%a0,%a1};");
  snippet.outputs = 2;
  std::vector<Words> out = snippet({a, b});
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned i = 0; i < 2; ++i) {
      double sum = asDouble(i ? b[l] : a[l]);
      for (unsigned k = 0; k < 4; ++k)
        sum += asDouble(a[(l >> 2) * 4 + k]) *
               asDouble(b[(l % 4 * 2 + i) * 4 + k]);
      ASSERT_EQ(asDouble(out[i][l]), sum);
    }
  // tf32 looks at the upper 19 bits alone.
  Snippet tf32("or.b32 %x0, %r0, 0x1fff; mov.b32 %x1, 0;\n"
               "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 "
               "{%x10,%x11,%x12,%x13}, {%x0,%x1}, {%r1}, {%x1,%x1,%x1,%x1};" +
               Problem::store());
  tf32.outputs = 2;
  Words ones(32, bits(1.0f)), rows(32);
  for (unsigned l = 0; l < 32; ++l)
    rows[l] = bits(float(l % 4 + 1 + 4 * (l >> 2)));
  out = tf32({rows, ones});
  EXPECT_EQ(asFloat(out[0][4]), 5.0f + 6 + 7 + 8);
  EXPECT_EQ(asFloat(out[1][4]), 0.0f);
}
