//===-- ConversionsTest.cpp - cvt -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include <cmath>

using namespace blockscale::sim::test;

namespace {
/// An independent description of a small float: all its values by code.
struct Grid {
  unsigned exponent, mantissa;
  int bias;
  unsigned codes; ///< Finite ones, of positive sign.

  double value(unsigned code) const {
    unsigned e = code >> mantissa, m = code & ((1u << mantissa) - 1);
    return e ? std::ldexp(1.0 + m / double(1u << mantissa), int(e) - bias)
             : std::ldexp(m / double(1u << mantissa), 1 - bias);
  }
  unsigned signBit() const { return 1u << (exponent + mantissa); }
  /// Nearest, ties to the even code, saturating.
  unsigned nearest(double x) const {
    unsigned best = 0;
    x = std::copysign(std::min(std::fabs(x), value(codes - 1)), x);
    for (unsigned code = 1; code < codes; ++code) {
      double now = std::fabs(std::fabs(x) - value(code));
      double before = std::fabs(std::fabs(x) - value(best));
      if (now < before || (now == before && code % 2 == 0))
        best = code;
    }
    return best | (std::signbit(x) ? signBit() : 0);
  }
};
const Grid e4m3 = {4, 3, 7, 0x7f}, e5m2 = {5, 2, 15, 0x7c},
           e2m3 = {2, 3, 1, 32}, e3m2 = {3, 2, 3, 32}, e2m1 = {2, 1, 1, 8};

Words samples(const Grid &grid) {
  Words result;
  for (unsigned code = 0; code < grid.codes; ++code) {
    double x = grid.value(code);
    double next = code + 1 < grid.codes ? grid.value(code + 1) : x * 1.5;
    for (double v :
         {x, (x + next) / 2, std::nextafterf((x + next) / 2, 1e9f) * 1.0,
          x + (next - x) * 0.3, x + (next - x) * 0.75})
      for (float sign : {1.0f, -1.0f})
        result.push_back(bits(sign * float(v)));
  }
  for (float x : {1e-10f, 1e30f, -1e30f, 65504.0f})
    result.push_back(bits(x));
  return result;
}

void checkPair(const std::string &type, const Grid &grid, unsigned width,
               bool byteResult) {
  Words high = samples(grid), low(high.rbegin(), high.rend());
  std::string body = byteResult
                         ? "{ .reg .b8 %q; cvt.rn.satfinite." + type +
                               ".f32 %q, %r0, %r1; cvt.u64.u8 %o0, %q; }"
                         : "cvt.rn.satfinite." + type +
                               ".f32 %z0, %r0, %r1; cvt.u64.u16 %o0, %z0;";
  Snippet snippet(body);
  Words out;
  for (size_t start = 0; start < high.size(); start += 512) {
    size_t count = std::min<size_t>(512, high.size() - start);
    snippet.threads = count;
    snippet.target = grid.codes == e4m3.codes || grid.codes == e5m2.codes
                         ? "sm_90a"
                         : "sm_120a";
    auto part =
        snippet({Words(high.begin() + start, high.begin() + start + count),
                 Words(low.begin() + start, low.begin() + start + count)});
    out.insert(out.end(), part[0].begin(), part[0].end());
  }
  for (size_t i = 0; i < high.size(); ++i)
    ASSERT_EQ(out[i], uint64_t(grid.nearest(asFloat(high[i]))) << width |
                          grid.nearest(asFloat(low[i])))
        << type << " " << asFloat(high[i]) << " " << asFloat(low[i]);
}

double f16(uint16_t h) {
  return Grid{5, 10, 15, 0x7c00}.value(h & 0x7fff) * (h >> 15 ? -1 : 1);
}
} // namespace

TEST(Conversions, ToSmallFloats) {
  checkPair("e4m3x2", e4m3, 8, false);
  checkPair("e5m2x2", e5m2, 8, false);
  checkPair("e2m3x2", e2m3, 8, false);
  checkPair("e3m2x2", e3m2, 8, false);
  checkPair("e2m1x2", e2m1, 4, true);
}

TEST(Conversions, NotANumber) {
  Words out = evaluate("cvt.rn.satfinite.e4m3x2.f32 %z0, %r0, %r1;"
                       "cvt.rn.satfinite.e5m2x2.f32 %z1, %r0, %r1;"
                       "mov.b32 %x0, {%z0, %z1}; cvt.u64.u32 %o0, %x0;",
                       {{0x7fc00000}, {0x7f800000}});
  EXPECT_EQ(out[0], 0x7f7b7f7eu);
  Snippet fp4("{ .reg .b8 %q; cvt.rn.satfinite.e2m1x2.f32 %q, %r0, %r1;"
              " cvt.u64.u8 %o0, %q; }");
  fp4.target = "sm_120a";
  EXPECT_EQ(fp4({{0x7fc00000}, {0xff800000}})[0][0], 0x7fu);
}

TEST(Conversions, FromSmallFloats) {
  struct Case {
    const char *type;
    const Grid &grid;
    unsigned width;
  };
  for (const Case &test : {Case{"e4m3x2", e4m3, 8}, Case{"e5m2x2", e5m2, 8},
                           Case{"e2m3x2", e2m3, 8}, Case{"e3m2x2", e3m2, 8},
                           Case{"e2m1x2", e2m1, 4}}) {
    Words in;
    for (unsigned code = 0; code < test.grid.codes; ++code)
      in.push_back(code | uint64_t(code ^ test.grid.signBit()) << test.width);
    std::string source = test.width == 4
                             ? "{ .reg .b8 %q; cvt.u8.u64 %q, %a0; "
                             : "{ .reg .b16 %q; cvt.u16.u64 %q, %a0; ";
    Snippet snippet(source + "cvt.rn.f16x2." + test.type +
                    " %x0, %q; } cvt.u64.u32 %o0, %x0;");
    snippet.threads = in.size();
    snippet.target = test.grid.codes > 32 ? "sm_90a" : "sm_120a";
    Words out = snippet({in})[0];
    for (unsigned code = 0; code < test.grid.codes; ++code) {
      ASSERT_EQ(f16(out[code]), test.grid.value(code)) << test.type;
      ASSERT_EQ(f16(out[code] >> 16), -test.grid.value(code)) << test.type;
    }
  }
}

TEST(Conversions, PowersOfTwo) {
  Snippet snippet("cvt.rp.satfinite.ue8m0x2.f32 %z0, %r0, %r1;"
                  "cvt.rz.ue8m0x2.f32 %z1, %r0, %r1;"
                  "mov.b32 %x0, {%z0, %z1}; cvt.rn.bf16x2.ue8m0x2 %x1, %z0;"
                  "mov.b64 %o0, {%x0, %x1};");
  snippet.target = "sm_120a";
  Words high = {bits(1.0f),  bits(1.5f), bits(-6.0f), bits(0.0f),
                bits(3e38f), 0x7fc00000, 0x7f800000};
  Words low = {bits(0.125f),     bits(4.1f), bits(1e-40f), bits(0x1p-127f),
               bits(1.0000001f), bits(2.0f), bits(2.0f)};
  snippet.threads = high.size();
  Words out = snippet({high, low})[0];
  const uint32_t up[] = {0x7f7c, 0x8082, 0x8200 | 0, 0x0000,
                         0xfe80, 0xff80, 0xfe80};
  const uint32_t zero[] = {0x7f7c, 0x7f81, 0x8100, 0x0000,
                           0xfe7f, 0xff80, 0xff80};
  for (size_t i = 0; i < high.size(); ++i) {
    EXPECT_EQ(uint16_t(out[i]), up[i]) << i;
    EXPECT_EQ(uint16_t(out[i] >> 16), zero[i]) << i;
  }
  // Byte 0 is 2^-127, a subnormal bf16.
  EXPECT_EQ(out[3] >> 32, 0x00400040u);
}

TEST(Conversions, StochasticRounding) {
  // 1.25 lies a quarter between 1.0 and 1.5 of e2m1: 64 of 256 round up.
  Snippet snippet("cvt.rs.satfinite.e2m1x4.f32 %z0, {%r0, %r0, %r0, %r0}, %r1;"
                  "cvt.u64.u16 %o0, %z0;");
  snippet.target = "sm_100a";
  snippet.threads = 1024;
  Words x(1024, bits(1.125f)), random = Random(21).words(1024);
  Words out = snippet({x, random})[0];
  unsigned ups = 0;
  for (uint64_t word : out)
    for (unsigned k = 0; k < 4; ++k) {
      unsigned code = word >> (4 * k) & 15;
      ASSERT_TRUE(code == 2 || code == 3);
      ups += code == 3;
    }
  EXPECT_NEAR(ups / 4096.0, 0.25, 0.03);
  // bf16: 16 bits of randomness for 16 bits that are dropped.
  Snippet pair("cvt.rs.bf16x2.f32 %x0, %r0, %r1, %r2; cvt.u64.u32 %o0, %x0;");
  pair.target = "sm_100a";
  EXPECT_EQ(pair({{0x3f804000}, {0x3f804000}, {0xc000bfff}})[0][0],
            0x3f813f80u);
}

TEST(Conversions, IntegersAndFloats) {
  Words values = Random(22).words(300);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] >>= i % 60;
  Words out = evaluate("cvt.rn.f32.u64 %x0, %a0; cvt.rn.f32.s32 %x1, %r0;"
                       "mov.b64 %o0, {%x0, %x1};",
                       {values});
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(uint32_t(out[i]), bits(static_cast<float>(values[i])));
    ASSERT_EQ(uint32_t(out[i] >> 32),
              bits(static_cast<float>(int32_t(values[i]))));
  }
  Words floats = {bits(1.5f),  bits(2.5f),   bits(-1.5f), bits(3e9f),
                  bits(-3e9f), 0x7fc00000,   bits(0.49f), bits(-0.5f),
                  bits(300.f), bits(-129.6f)};
  out = evaluate("cvt.rni.s32.f32 %x0, %r0; cvt.rzi.u32.f32 %x1, %r0;"
                 "mov.b64 %o0, {%x0, %x1};",
                 {floats});
  const int64_t nearest[] = {2, 2, -2, INT32_MAX, INT32_MIN,
                             0, 0, 0,  300,       -130};
  const uint32_t zero[] = {1, 2, 0, 3000000000u, 0, 0, 0, 0, 300, 0};
  for (size_t i = 0; i < floats.size(); ++i) {
    EXPECT_EQ(int32_t(out[i]), nearest[i]) << i;
    EXPECT_EQ(uint32_t(out[i] >> 32), zero[i]) << i;
  }
  out = evaluate("cvt.rmi.f32.f32 %x0, %r0; cvt.sat.s8.s32 %x1, %r1;"
                 "mov.b64 %o0, {%x0, %x1};",
                 {{bits(-1.25f), bits(7.9f)}, {1000, uint64_t(-1000)}});
  EXPECT_EQ(out[0], bits(-2.0f) | uint64_t(127) << 32);
  EXPECT_EQ(out[1], bits(7.0f) | uint64_t(0xffffff80) << 32);
}

TEST(Conversions, HalvesAndBf16) {
  Words values = Random(23).words(400);
  Words out =
      evaluate("cvt.rn.f16.f32 %z0, %r0; cvt.rn.bf16.f32 %z1, %r0;"
               "cvt.rz.f16x2.f32 %x1, %r0, %r1; mov.b32 %x0, {%z0, %z1};"
               "mov.b64 %o0, {%x0, %x1};",
               {values, values});
  for (size_t i = 0; i < values.size(); ++i) {
    float x = asFloat(values[i]);
    if (std::isnan(x))
      continue;
    _Float16 half = static_cast<_Float16>(x); // The compiler's conversion.
    uint16_t expected;
    std::memcpy(&expected, &half, 2);
    ASSERT_EQ(uint16_t(out[i]), expected) << x;
    uint32_t b = values[i];
    uint16_t brain = (b + 0x7fff + (b >> 16 & 1)) >> 16;
    ASSERT_EQ(uint16_t(out[i] >> 16), brain) << x;
  }
  out = evaluate("cvt.rna.tf32.f32 %x0, %r0; cvt.u64.u32 %o0, %x0;",
                 {{bits(1.0f) + 0x1000}});
  EXPECT_EQ(out[0], bits(1.0f) + 0x2000);
}
