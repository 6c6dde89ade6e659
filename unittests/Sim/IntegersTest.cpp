//===-- IntegersTest.cpp - Integer arithmetic and bits ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include <functional>

using namespace blockscale::sim::test;

namespace {
const Words edges = {0,
                     1,
                     2,
                     3,
                     7,
                     31,
                     32,
                     33,
                     64,
                     255,
                     0x7fff,
                     0x8000,
                     0xffff,
                     0x12345678,
                     0x7fffffff,
                     0x80000000,
                     0x80000001,
                     0xfffffffe,
                     0xffffffff,
                     0x123456789abcdef0,
                     0x8000000000000000,
                     0x7fffffffffffffff,
                     ~uint64_t(0)};

using Expected = std::function<uint64_t(uint64_t, uint64_t)>;

void check32(const std::string &instruction, const Expected &expected) {
  Words a = crossLeft(edges), b = crossRight(edges);
  Words out =
      evaluate(instruction + " %x0, %r0, %r1; cvt.u64.u32 %o0, %x0;", {a, b});
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(out[i], uint32_t(expected(uint32_t(a[i]), uint32_t(b[i]))))
        << instruction << " " << uint32_t(a[i]) << " " << uint32_t(b[i]);
}
void check64(const std::string &instruction, const Expected &expected) {
  Words a = crossLeft(edges), b = crossRight(edges);
  Words out = evaluate(instruction + " %o0, %a0, %a1;", {a, b});
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(out[i], expected(a[i], b[i]))
        << instruction << " " << a[i] << " " << b[i];
}
void check16(const std::string &instruction, const Expected &expected) {
  Words a = crossLeft(edges), b = crossRight(edges);
  Words out =
      evaluate(instruction + " %z0, %h0, %h1; cvt.u64.u16 %o0, %z0;", {a, b});
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(out[i], uint16_t(expected(uint16_t(a[i]), uint16_t(b[i]))))
        << instruction << " " << a[i] << " " << b[i];
}
int32_t s(uint64_t x) { return static_cast<int32_t>(x); }
int64_t sl(uint64_t x) { return static_cast<int64_t>(x); }
uint32_t u(uint64_t x) { return static_cast<uint32_t>(x); }
} // namespace

TEST(Integers, AddSubtractMultiply) {
  check32("add.u32", [](uint64_t a, uint64_t b) { return a + b; });
  check32("sub.s32", [](uint64_t a, uint64_t b) { return a - b; });
  check32("add.sat.s32", [](uint64_t a, uint64_t b) {
    return std::max<int64_t>(
        INT32_MIN, std::min<int64_t>(INT32_MAX, int64_t(s(a)) + s(b)));
  });
  check32("mul.lo.u32", [](uint64_t a, uint64_t b) { return a * b; });
  check32("mul.hi.u32", [](uint64_t a, uint64_t b) { return a * b >> 32; });
  check32("mul.hi.s32", [](uint64_t a, uint64_t b) {
    return uint64_t(int64_t(s(a)) * s(b)) >> 32;
  });
  check64("add.u64", [](uint64_t a, uint64_t b) { return a + b; });
  check64("mul.lo.s64", [](uint64_t a, uint64_t b) { return a * b; });
  check64("mul.hi.u64", [](uint64_t a, uint64_t b) {
    return uint64_t((unsigned __int128)(a)*b >> 64);
  });
  check64("mul.hi.s64", [](uint64_t a, uint64_t b) {
    return uint64_t((__int128)(sl(a)) * sl(b) >> 64);
  });
  check16("add.u16", [](uint64_t a, uint64_t b) { return a + b; });
  check16("mul.lo.u16", [](uint64_t a, uint64_t b) { return a * b; });
  check16("mul.hi.s16", [](uint64_t a, uint64_t b) {
    return uint64_t(int32_t(int16_t(a)) * int16_t(b) >> 16);
  });
  check32("mul24.lo.u32", [](uint64_t a, uint64_t b) {
    return (a & 0xffffff) * (b & 0xffffff);
  });
  check32("mul24.hi.s32", [](uint64_t a, uint64_t b) {
    int64_t x = s(a << 8) >> 8, y = s(b << 8) >> 8;
    return uint64_t(x * y >> 16);
  });
}

TEST(Integers, DivideAndRemainder) {
  check32("div.u32",
          [](uint64_t a, uint64_t b) { return b ? a / b : 0xffffffff; });
  check32("rem.u32",
          [](uint64_t a, uint64_t b) { return b ? a % b : ~uint64_t(0); });
  check32("div.s32", [](uint64_t a, uint64_t b) {
    return b ? uint64_t(int64_t(s(a)) / s(b)) : 0xffffffff;
  });
  check32("rem.s32", [](uint64_t a, uint64_t b) {
    return b ? uint64_t(int64_t(s(a)) % s(b)) : ~uint64_t(0);
  });
  check64("div.s64", [](uint64_t a, uint64_t b) {
    if (b == 0)
      return ~uint64_t(0);
    return b == ~uint64_t(0) ? -a : uint64_t(sl(a) / sl(b));
  });
}

TEST(Integers, MinMaxAbsSad) {
  check32("min.s32",
          [](uint64_t a, uint64_t b) { return u(std::min(s(a), s(b))); });
  check32("max.u32", [](uint64_t a, uint64_t b) { return std::max(a, b); });
  check64("max.s64",
          [](uint64_t a, uint64_t b) { return std::max(sl(a), sl(b)); });
  check32("min.relu.s32", [](uint64_t a, uint64_t b) {
    return u(std::max(0, std::min(s(a), s(b))));
  });
  check32("max.s16x2", [](uint64_t a, uint64_t b) {
    uint16_t low = std::max(int16_t(a), int16_t(b));
    uint16_t high = std::max(int16_t(a >> 16), int16_t(b >> 16));
    return low | uint32_t(high) << 16;
  });
  check32("add.u16x2", [](uint64_t a, uint64_t b) {
    return uint16_t(a + b) | uint32_t(uint16_t((a >> 16) + (b >> 16))) << 16;
  });
  Words out = evaluate("abs.s32 %x0, %r0; neg.s32 %x1, %r0;"
                       "mov.b64 %o0, {%x0, %x1};",
                       {edges});
  for (size_t i = 0; i < edges.size(); ++i) {
    uint32_t x = edges[i], absolute = x >> 31 ? -x : x;
    EXPECT_EQ(out[i], absolute | uint64_t(uint32_t(-x)) << 32);
  }
  check32("sad.u32 %x0, %r0, %r1, 5; add.u32",
          [](uint64_t a, uint64_t b) { return a + b; });
  check32("sad.s32 %x1, %r0, %r1, 5; mov.b32 %r0, %x1; or.b32",
          [](uint64_t a, uint64_t b) {
            return (uint32_t(std::abs(int64_t(s(a)) - s(b))) + 5) | uint32_t(b);
          });
}

TEST(Integers, MultiplyAddWideAndCarry) {
  Words a = crossLeft(edges), b = crossRight(edges);
  Words out = evaluate("mad.wide.s32 %o0, %r0, %r1, %a1;", {a, b});
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(out[i], uint64_t(int64_t(s(a[i])) * s(b[i])) + b[i]);
  out = evaluate("mul.wide.u16 %x0, %h0, %h1; mad.wide.s16 %x1, %h0, %h1, -3;"
                 "mov.b64 %o0, {%x0, %x1};",
                 {a, b});
  for (size_t i = 0; i < a.size(); ++i) {
    uint32_t low = uint32_t(uint16_t(a[i])) * uint16_t(b[i]);
    uint32_t high = int32_t(int16_t(a[i])) * int16_t(b[i]) - 3;
    ASSERT_EQ(out[i], low | uint64_t(high) << 32);
  }
  // 64-bit sums and products from 32-bit halves.
  out = evaluate("mov.b64 {%x0, %x1}, %a0; mov.b64 {%x2, %x3}, %a1;"
                 "add.cc.u32 %x4, %x0, %x2; addc.u32 %x5, %x1, %x3;"
                 "mov.b64 %o0, {%x4, %x5};",
                 {a, b});
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(out[i], a[i] + b[i]);
  out = evaluate("mov.b64 {%x0, %x1}, %a0; mov.b64 {%x2, %x3}, %a1;"
                 "sub.cc.u32 %x4, %x0, %x2; subc.u32 %x5, %x1, %x3;"
                 "mov.b64 %o0, {%x4, %x5};",
                 {a, b});
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(out[i], a[i] - b[i]);
  out = evaluate("mov.b64 {%x0, %x1}, %a0; mov.b64 {%x2, %x3}, %a1;"
                 "mad.lo.cc.u32 %x4, %x0, %x2, %x1;"
                 "madc.hi.u32 %x5, %x0, %x2, %x3; mov.b64 %o0, {%x4, %x5};",
                 {a, b});
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(out[i],
              uint64_t(u(a[i])) * u(b[i]) + (a[i] >> 32) + (b[i] >> 32 << 32));
}

TEST(Integers, Shifts) {
  check32("shl.b32",
          [](uint64_t a, uint64_t b) { return b > 31 ? 0 : a << b; });
  check32("shr.u32",
          [](uint64_t a, uint64_t b) { return b > 31 ? 0 : a >> b; });
  check32("shr.s32", [](uint64_t a, uint64_t b) {
    return uint64_t(s(a) >> std::min<uint64_t>(b, 31));
  });
  check32("shf.l.wrap.b32 %x0, %r0, %r1, 9; mov.b32 %r1, %x0; and.b32",
          [](uint64_t a, uint64_t b) { return a & u(b << 9 | a >> 23); });
  Words a = crossLeft(edges), b = crossRight(edges);
  Words out = evaluate("shf.r.clamp.b32 %x0, %r0, 0x12345678, %r1;"
                       "shf.l.clamp.b32 %x1, %r0, 0x12345678, %r1;"
                       "mov.b64 %o0, {%x0, %x1};",
                       {a, b});
  for (size_t i = 0; i < a.size(); ++i) {
    unsigned by = std::min(u(b[i]), 32u);
    uint64_t both = uint64_t(0x12345678) << 32 | u(a[i]);
    uint32_t left = by == 32 ? u(a[i]) : u(both << by >> 32);
    ASSERT_EQ(out[i], u(both >> by) | uint64_t(left) << 32);
  }
}

TEST(Integers, LogicOfThree) {
  // 0x96 is a ^ b ^ c, 0xe8 the majority, 0xca a ? b : c.
  check32("lop3.b32 %x1, %r0, %r1, 0x0ff0f00f, 0x96; mov.b32 %r0, %x1; or.b32",
          [](uint64_t a, uint64_t b) { return (a ^ b ^ 0x0ff0f00f) | b; });
  Words a = crossLeft(edges), b = crossRight(edges);
  Words out = evaluate("lop3.b32 %x0, %r0, %r1, 0x33335555, 0xe8;"
                       "lop3.b32 %x1, %r0, %r1, 0x33335555, 0xca;"
                       "mov.b64 %o0, {%x0, %x1};",
                       {a, b});
  for (size_t i = 0; i < a.size(); ++i) {
    uint32_t x = a[i], y = b[i], z = 0x33335555;
    ASSERT_EQ(out[i], ((x & y) | (x & z) | (y & z)) |
                          uint64_t((x & y) | (~x & z)) << 32);
  }
}

TEST(Integers, PermuteBytes) {
  auto one = [](const std::string &text, uint32_t control) {
    Words out = evaluate("mov.b32 %x2, " + std::to_string(control) +
                             "; prmt.b32" + text +
                             " %x0, 0x83828180, 0x07060504, %x2;"
                             "cvt.u64.u32 %o0, %x0;",
                         {{0}});
    return u(out[0]);
  };
  EXPECT_EQ(one("", 0x3210), 0x83828180u);
  EXPECT_EQ(one("", 0x7654), 0x07060504u);
  EXPECT_EQ(one("", 0x0123), 0x80818283u);
  EXPECT_EQ(one("", 0xc8b0), 0x00ffff80u); // Replicated signs.
  EXPECT_EQ(one(".f4e", 1), 0x04838281u);
  EXPECT_EQ(one(".b4e", 1), 0x06078081u);
  EXPECT_EQ(one(".rc8", 2), 0x82828282u);
  EXPECT_EQ(one(".ecl", 2), 0x83828282u);
  EXPECT_EQ(one(".ecr", 2), 0x82828180u);
  EXPECT_EQ(one(".rc16", 1), 0x83828382u);
}

TEST(Integers, BitFields) {
  Words values = Random(1).words(200), fields = Random(2).words(200);
  Words out = evaluate("and.b32 %x2, %r1, 0xff; shr.u32 %x3, %r1, 8;"
                       "and.b32 %x3, %x3, 0xff; and.b32 %x2, %x2, 63;"
                       "and.b32 %x3, %x3, 63;"
                       "bfe.u32 %x0, %r0, %x2, %x3; bfe.s32 %x1, %r0, %x2, %x3;"
                       "mov.b64 %o0, {%x0, %x1};",
                       {values, fields});
  for (size_t i = 0; i < values.size(); ++i) {
    unsigned at = fields[i] & 63, length = fields[i] >> 8 & 63;
    uint64_t zero = u(values[i]), sign = uint64_t(int64_t(s(values[i])));
    uint64_t mask = (uint64_t(1) << length) - 1;
    uint32_t unsignedField = at > 31 ? 0 : u(zero >> at & mask);
    uint32_t signedField = 0;
    if (length) { // The field of the sign-extended value, extended again.
      unsigned top = std::min(at + length - 1, 31u);
      bool negative = zero >> top & 1;
      for (unsigned k = 0; k < 32; ++k) {
        bool inside = k < length && at + k < 32;
        bool bit = inside ? zero >> (at + k) & 1 : negative;
        signedField |= uint32_t(bit) << k;
      }
    }
    (void)sign;
    ASSERT_EQ(out[i], unsignedField | uint64_t(signedField) << 32)
        << at << " " << length;
  }
  out = evaluate("bfi.b32 %x0, %r0, %r1, 5, 9; cvt.u64.u32 %o0, %x0;",
                 {values, fields});
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(out[i],
              (u(fields[i]) & ~(511u << 5)) | ((u(values[i]) & 511) << 5));
  out = evaluate("bmsk.clamp.b32 %x0, 4, 8; szext.clamp.s32 %x1, %r0, 8;"
                 "mov.b64 %o0, {%x0, %x1};",
                 {values});
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(out[i], 0xff0u | uint64_t(u(int8_t(values[i]))) << 32);
}

TEST(Integers, CountAndFindBits) {
  Words values = Random(3).words(100);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] >>= i % 64;
  values.push_back(0);
  Words out = evaluate("popc.b64 %x0, %a0; clz.b64 %x1, %a0;"
                       "mov.b64 %o0, {%x0, %x1};",
                       {values});
  for (size_t i = 0; i < values.size(); ++i) {
    unsigned ones = 0, zeros = 0;
    for (unsigned k = 0; k < 64; ++k)
      ones += values[i] >> k & 1;
    while (zeros < 64 && !(values[i] >> (63 - zeros) & 1))
      ++zeros;
    ASSERT_EQ(out[i], ones | uint64_t(zeros) << 32);
  }
  out = evaluate("bfind.u32 %x0, %r0; bfind.shiftamt.s32 %x1, %r0;"
                 "mov.b64 %o0, {%x0, %x1};",
                 {values});
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t x = values[i], first = ~0u, second = ~0u;
    for (unsigned k = 0; k < 32; ++k) {
      if (x >> k & 1)
        first = k;
      if ((x >> k & 1) != x >> 31)
        second = 31 - k;
    }
    ASSERT_EQ(out[i], first | uint64_t(second) << 32) << std::hex << x;
  }
  out = evaluate("brev.b32 %x0, %r0; fns.b32 %x1, %r0, 3, 2;"
                 "mov.b64 %o0, {%x0, %x1};",
                 {values});
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t x = values[i], reversed = 0, nth = ~0u, seen = 0;
    for (unsigned k = 0; k < 32; ++k) {
      reversed |= (x >> k & 1) << (31 - k);
      if (k >= 3 && (x >> k & 1) && ++seen == 2)
        nth = k;
    }
    ASSERT_EQ(out[i], reversed | uint64_t(nth) << 32);
  }
}

TEST(Integers, DotProducts) {
  Words a = Random(4).words(64), b = Random(5).words(64);
  Words out = evaluate("dp4a.s32.u32 %x0, %r0, %r1, 100;"
                       "dp2a.hi.s32.s32 %x1, %r0, %r1, -7;"
                       "mov.b64 %o0, {%x0, %x1};",
                       {a, b});
  for (size_t i = 0; i < a.size(); ++i) {
    uint32_t four = 100, two = -7;
    for (unsigned k = 0; k < 4; ++k)
      four += int8_t(a[i] >> (8 * k)) * uint8_t(b[i] >> (8 * k));
    for (unsigned k = 0; k < 2; ++k)
      two += int16_t(a[i] >> (16 * k)) * int8_t(b[i] >> (8 * k + 16));
    ASSERT_EQ(out[i], four | uint64_t(two) << 32);
  }
}
