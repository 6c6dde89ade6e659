//===-- FloatsTest.cpp - Arithmetic of floats -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include <cfenv>
#include <cfloat>
#include <cmath>
#include <functional>

using namespace blockscale::sim::test;

namespace {
Words floats() {
  Words values = {
      bits(0.0f),  bits(-0.0f),       bits(1.0f),        bits(-1.5f),
      bits(3e38f), bits(-3e38f),      bits(1e-38f),      bits(1e-40f),
      1,           0x80000001,        0x7f800000,        0xff800000,
      0x7fc00000,  bits(0.33333334f), bits(16777217.0f), bits(-7.25f)};
  Random random(9);
  for (unsigned k = 0; k < 24; ++k)
    values.push_back(uint32_t(random.next()));
  return values;
}

bool same(uint32_t got, float expected) {
  return std::isnan(expected) ? got == 0x7fffffff : got == bits(expected);
}

using Operation = std::function<float(float, float, float)>;
/// In the host's four rounding modes.
void checkRounded(const std::string &name, const Operation &operation) {
  static const std::pair<const char *, int> modes[] = {{".rn", FE_TONEAREST},
                                                       {".rz", FE_TOWARDZERO},
                                                       {".rm", FE_DOWNWARD},
                                                       {".rp", FE_UPWARD}};
  Words a = crossLeft(floats()), b = crossRight(floats());
  Words c = Random(10).words(a.size());
  for (auto [mode, host] : modes) {
    std::string operands = name == "fma" ? "%r0, %r1, %r2" : "%r0, %r1";
    if (name == "rcp" || name == "sqrt")
      operands = "%r0";
    Words out = evaluate(name + mode + ".f32 %x0, " + operands +
                             "; cvt.u64.u32 %o0, %x0;",
                         {a, b, c});
    for (size_t i = 0; i < a.size(); ++i) {
      volatile float x = asFloat(a[i]), y = asFloat(b[i]), z = asFloat(c[i]);
      std::fesetround(host);
      volatile float expected = operation(x, y, z);
      std::fesetround(FE_TONEAREST);
      ASSERT_TRUE(same(out[i], expected))
          << name << mode << " " << x << " " << y << " " << z << ": "
          << asFloat(out[i]) << ", not " << expected;
    }
  }
}
} // namespace

TEST(Floats, RoundingModes) {
  checkRounded("add", [](float a, float b, float) { return a + b; });
  checkRounded("sub", [](float a, float b, float) { return a - b; });
  checkRounded("mul", [](float a, float b, float) { return a * b; });
  checkRounded("div", [](float a, float b, float) { return a / b; });
  checkRounded("fma",
               [](float a, float b, float c) { return std::fma(a, b, c); });
  checkRounded("rcp", [](float a, float, float) { return 1.0f / a; });
  checkRounded("sqrt", [](float a, float, float) { return std::sqrt(a); });
}

TEST(Floats, FlushAndSaturate) {
  auto flush = [](float x) {
    return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x;
  };
  Words a = crossLeft(floats()), b = crossRight(floats());
  Words out = evaluate("add.ftz.f32 %x0, %r0, %r1; mul.sat.f32 %x1, %r0, %r1;"
                       "mov.b64 %o0, {%x0, %x1};",
                       {a, b});
  for (size_t i = 0; i < a.size(); ++i) {
    float x = asFloat(a[i]), y = asFloat(b[i]);
    ASSERT_TRUE(same(out[i], flush(flush(x) + flush(y)))) << x << " " << y;
    float product = x * y;
    float clamped =
        std::isnan(product) ? 0 : std::min(std::max(product, 0.0f), 1.0f);
    ASSERT_EQ(uint32_t(out[i] >> 32) & 0x7fffffff, bits(clamped) & 0x7fffffff)
        << x << " " << y;
  }
}

TEST(Floats, Doubles) {
  Words a = Random(11).words(500), b = Random(12).words(500);
  Words out = evaluate("fma.rn.f64 %o0, %a0, %a1, 0d3FF8000000000000;", {a, b});
  for (size_t i = 0; i < a.size(); ++i) {
    double expected = std::fma(asDouble(a[i]), asDouble(b[i]), 1.5);
    if (!std::isnan(expected)) {
      ASSERT_EQ(out[i], bits64(expected));
    }
  }
  out = evaluate("div.rz.f64 %o0, %a0, %a1;", {a, b});
  for (size_t i = 0; i < a.size(); ++i) {
    std::fesetround(FE_TOWARDZERO);
    volatile double x = asDouble(a[i]), y = asDouble(b[i]);
    volatile double expected = x / y;
    std::fesetround(FE_TONEAREST);
    if (!std::isnan(expected)) {
      ASSERT_EQ(out[i], bits64(expected));
    }
  }
}

TEST(Floats, MinMax) {
  Words a = crossLeft(floats()), b = crossRight(floats());
  Words out = evaluate("min.f32 %x0, %r0, %r1; max.NaN.f32 %x1, %r0, %r1;"
                       "mov.b64 %o0, {%x0, %x1};",
                       {a, b});
  for (size_t i = 0; i < a.size(); ++i) {
    float x = asFloat(a[i]), y = asFloat(b[i]);
    float low = std::isnan(x) ? y : std::isnan(y) ? x : std::min(x, y);
    float high = std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y);
    if (x == 0 && y == 0) {
      low = std::signbit(x) || std::signbit(y) ? -0.0f : 0.0f;
      high = std::signbit(x) && std::signbit(y) ? -0.0f : 0.0f;
    }
    ASSERT_TRUE(same(out[i], low)) << x << " " << y;
    ASSERT_TRUE(same(out[i] >> 32, high)) << x << " " << y;
  }
  out = evaluate("max.xorsign.abs.f32 %x0, %r0, %r1; cvt.u64.u32 %o0, %x0;",
                 {a, b});
  for (size_t i = 0; i < a.size(); ++i) {
    float x = asFloat(a[i]), y = asFloat(b[i]);
    if (std::isnan(x) || std::isnan(y))
      continue;
    float high = std::max(std::fabs(x), std::fabs(y));
    float expected = std::signbit(x) != std::signbit(y) ? -high : high;
    ASSERT_EQ(out[i], bits(expected));
  }
}

TEST(Floats, Approximations) {
  struct Case {
    const char *instruction;
    double (*exact)(double);
    double relative; ///< The ISA's bound, or absolute for sin and cos.
  };
  const Case cases[] = {
      {"rcp.approx.ftz.f32", [](double x) { return 1 / x; }, 0x1p-23},
      {"sqrt.approx.f32", [](double x) { return std::sqrt(x); }, 0x1p-23},
      {"rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); }, 0x1p-22},
      {"ex2.approx.ftz.f32", [](double x) { return std::exp2(x); }, 0x1p-22},
      {"lg2.approx.f32", [](double x) { return std::log2(x); }, 0x1p-22},
      {"tanh.approx.f32", [](double x) { return std::tanh(x); }, 0x1p-10},
  };
  Words values;
  for (unsigned k = 1; k < 200; ++k)
    values.push_back(bits(0.037f * k));
  for (const Case &test : cases) {
    Words out = evaluate(std::string(test.instruction) +
                             " %x0, %r0; cvt.u64.u32 %o0, %x0;",
                         {values});
    for (size_t i = 0; i < values.size(); ++i) {
      double exact = test.exact(asFloat(values[i]));
      ASSERT_NEAR(asFloat(out[i]), exact,
                  std::fabs(exact) * test.relative + 0x1p-22)
          << test.instruction;
    }
  }
  Words out = evaluate("sin.approx.f32 %x0, %r0; cos.approx.f32 %x1, %r0;"
                       "mov.b64 %o0, {%x0, %x1};",
                       {values});
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(asFloat(out[i]), std::sin(asFloat(values[i])), 0x1p-20);
    ASSERT_NEAR(asFloat(out[i] >> 32), std::cos(asFloat(values[i])), 0x1p-20);
  }
}

TEST(Floats, CompareAndSelect) {
  Words a = crossLeft(floats()), b = crossRight(floats());
  struct Case {
    const char *name;
    bool (*holds)(float, float);
  };
  const Case cases[] = {
      {"eq", [](float x, float y) { return x == y; }},
      {"ne", [](float x, float y) { return x < y || x > y; }},
      {"lt", [](float x, float y) { return x < y; }},
      {"geu", [](float x, float y) { return !(x < y); }},
      {"neu", [](float x, float y) { return x != y; }},
      {"num",
       [](float x, float y) { return !std::isnan(x) && !std::isnan(y); }},
      {"nan", [](float x, float y) { return std::isnan(x) || std::isnan(y); }},
  };
  for (const Case &test : cases) {
    Words out =
        evaluate("setp." + std::string(test.name) +
                     ".f32 %p0|%p1, %r0, %r1; selp.b32 %x0, 5, 9, %p0;"
                     "selp.b32 %x1, 1, 0, %p1; mov.b64 %o0, {%x0, %x1};",
                 {a, b});
    for (size_t i = 0; i < a.size(); ++i) {
      bool holds = test.holds(asFloat(a[i]), asFloat(b[i]));
      ASSERT_EQ(out[i], holds ? 5 : 9 | uint64_t(1) << 32) << test.name;
    }
  }
  Words out = evaluate("setp.gt.s32 %p1, %r1, 7; mov.pred %p2, %p1;"
                       "setp.lt.and.s32 %p0, %r0, 100, !%p2;"
                       "selp.u64 %o0, 1, 0, %p0;",
                       {a, b});
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(out[i], int32_t(a[i]) < 100 && !(int32_t(b[i]) > 7));
}

TEST(Floats, HalvesRoundOnce) {
  // Exact values as doubles; fma by long double, which holds them here.
  auto value = [](uint16_t h) {
    int e = h >> 10 & 31;
    double m = (h & 1023) + (e ? 1024 : 0);
    double v = std::ldexp(m, (e ? e : 1) - 25);
    return h >> 15 ? -v : v;
  };
  Words a = Random(13).words(800), b = Random(14).words(800),
        c = Random(15).words(800);
  for (Words *words : {&a, &b, &c})
    for (uint64_t &word : *words)
      word &= 0xbfff; // Below 2: no infinity.
  Words out =
      evaluate("fma.rn.f16 %z0, %h0, %h1, %h2; add.rn.f16 %z1, %h0, %h1;"
               "mov.b32 %x0, {%z0, %z1}; cvt.u64.u32 %o0, %x0;",
               {a, b, c});
  auto nearest = [&](long double exact) {
    uint16_t best = 0;
    long double distance = 1e9;
    for (unsigned h = 0; h < 0x7c00; ++h) {
      long double d = std::fabs(std::fabs(exact) - (long double)value(h));
      if (d < distance || (d == distance && !(h & 1)))
        distance = d, best = h;
    }
    return uint16_t(best | (std::signbit(exact) ? 0x8000 : 0));
  };
  for (size_t i = 0; i < 60; ++i) {
    long double product = (long double)value(a[i]) * value(b[i]);
    ASSERT_EQ(uint16_t(out[i]), nearest(product + value(c[i]))) << i;
    ASSERT_EQ(uint16_t(out[i] >> 16),
              nearest((long double)value(a[i]) + value(b[i])));
  }
}

TEST(Floats, PairsOfBf16AndF32) {
  // (1.5, -2) * (3, 0.5) + (0.25, 1), the first element low.
  Words out =
      evaluate("fma.rn.bf16x2 %x0, %r0, %r1, %r2; cvt.u64.u32 %o0, %x0;",
               {{0xc0003fc0}, {0x3f004040}, {0x3f803e80}});
  EXPECT_EQ(out[0], 0x00004098u); // 0 and 4.75
  // hfma.relu clamps below.
  out = evaluate("fma.rn.relu.f16x2 %x0, %r0, %r1, %r2; cvt.u64.u32 %o0, %x0;",
                 {{0xc0003c00}, {0x40003c00}, {0x3c003c00}});
  EXPECT_EQ(out[0], 0x00004000u); // 2 and max(-3, 0)
  Snippet pair("add.rn.f32x2 %y0, %a0, %a1; mov.b64 %o0, %y0;");
  pair.target = "sm_100a";
  uint64_t x = bits(1.5f) | uint64_t(bits(-2.0f)) << 32;
  uint64_t y = bits(0.25f) | uint64_t(bits(7.0f)) << 32;
  EXPECT_EQ(pair({{x}, {y}})[0][0], bits(1.75f) | uint64_t(bits(5.0f)) << 32);
}
