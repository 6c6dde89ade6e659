//===-- WarpgroupTest.cpp - wgmma -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace blockscale::sim;
using namespace blockscale::sim::test;

namespace {
float valueA(unsigned row, unsigned k) {
  return int((row * 5 + k * 3) % 13) - 6;
}
float valueB(unsigned column, unsigned k) {
  return int((column * 7 + k * 11) % 9) - 4;
}

/// Both operands, written by threads into shared memory: 64 x 16 bf16 of A at 0
/// and 16 columns of B at 8192, in rows of `span` bytes with the swizzle.
struct Layout {
  unsigned span;  ///< 16 without swizzle.
  unsigned code;  ///< In the descriptor.
  unsigned units; ///< Of 16 bytes along a row that the swizzle permutes.
};

/// The offset of the 16-byte unit `u` (of k) of row r.
unsigned unitOffset(const Layout &layout, unsigned r, unsigned u,
                    unsigned stride, unsigned leading) {
  if (layout.span == 16)
    return r / 8 * stride + r % 8 * 16 + u * leading;
  unsigned row = r % 8 * layout.span + r / 8 * stride;
  unsigned x = layout.span == 128  ? r % 8
               : layout.span == 64 ? r / 2 % 4
                                   : r / 4 % 2;
  return row + ((u ^ x) % layout.units) * 16;
}

void check(const Layout &layout, bool aInRegisters) {
  unsigned stride = layout.span == 16 ? 256 : 8 * layout.span;
  unsigned leading = layout.span == 16 ? 128 : 16;
  std::vector<uint16_t> memory(8192, 0);
  for (unsigned r = 0; r < 64; ++r)
    for (unsigned k = 0; k < 16; ++k)
      memory[(unitOffset(layout, r, k / 8, stride, leading) + k % 8 * 2) / 2] =
          bits(valueA(r, k)) >> 16;
  for (unsigned r = 0; r < 16; ++r)
    for (unsigned k = 0; k < 16; ++k)
      memory[4096 +
             (unitOffset(layout, r, k / 8, stride, leading) + k % 8 * 2) / 2] =
          bits(valueB(r, k)) >> 16;
  // 16 KiB by 128 threads: 16 words of 8 bytes each.
  std::vector<Words> in(8, Words(128));
  std::string body;
  auto n = [](uint64_t x) { return std::to_string(x); };
  // Only what is used: 8 words a thread cover the first 8 KiB; B follows in a
  // second half that is packed behind the first 4 KiB where it is short.
  Words flat(2048);
  std::memcpy(flat.data(), memory.data(), 16384);
  for (unsigned k = 0; k < 8; ++k)
    for (unsigned t = 0; t < 128; ++t) {
      unsigned word = k * 128 + t;
      in[k][t] = word < 768 ? flat[word] : flat[1024 + word - 768];
    }
  for (unsigned k = 0; k < 8; ++k) {
    unsigned at = k < 6 ? k * 1024 : 8192 + (k - 6) * 1024;
    body += "mad.lo.u32 %x0, %thread, 8, %smem; st.shared.b64 [%x0+" + n(at) +
            "], %a" + n(k) + ";\n";
  }
  uint64_t descriptor = uint64_t(leading >> 4) << 16 |
                        uint64_t(stride >> 4) << 32 |
                        uint64_t(layout.code) << 62;
  body += "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
          "shr.u32 %x1, %smem, 4; cvt.u64.u32 %y0, %x1;\n"
          "or.b64 %y1, %y0, " +
          n(descriptor) + "; add.u64 %y2, %y1, 512;\n";
  std::string a = "%y1";
  if (aInRegisters) {
    // The warp's 16 rows by ldmatrix-like loads from the plain layout.
    body +=
        "shr.u32 %x2, %lane, 2; and.b32 %x3, %lane, 3; shr.u32 %x4, %thread, 5;"
        "\nmad.lo.u32 %x2, %x2, 16, %smem; mad.lo.u32 %x2, %x3, 4, %x2;\n"
        "mad.lo.u32 %x2, %x4, 512, %x2;\n"
        "ld.shared.b32 %x40, [%x2]; ld.shared.b32 %x41, [%x2+256];\n"
        "ld.shared.b32 %x42, [%x2+128]; ld.shared.b32 %x43, [%x2+384];\n";
    a = "{%x40,%x41,%x42,%x43}";
  }
  std::string d = "{%x8,%x9,%x10,%x11,%x12,%x13,%x14,%x15}";
  std::string multiply =
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " + d + ", " + a +
      ", %y2, %p0, 1, 1" + (aInRegisters ? ", 0;\n" : ", 0, 0;\n");
  body +=
      "setp.ne.b32 %p0, 0, 0;\nwgmma.fence.sync.aligned;\n" + multiply +
      "setp.eq.b32 %p0, 0, 0;\n" + multiply +
      "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  for (unsigned k = 0; k < 4; ++k)
    body += "mov.b64 %o" + n(k) + ", {%x" + n(8 + 2 * k) + ", %x" +
            n(9 + 2 * k) + "};\n";
  Snippet snippet(body);
  snippet.threads = 128;
  snippet.outputs = 4;
  snippet.sharedBytes = 16384;
  std::vector<Words> out = snippet(in);
  for (unsigned t = 0; t < 128; ++t)
    for (unsigned i = 0; i < 8; ++i) {
      unsigned row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
      unsigned column = i / 4 * 8 + t % 4 * 2 + i % 2;
      float sum = 0;
      for (unsigned k = 0; k < 16; ++k)
        sum += valueA(row, k) * valueB(column, k);
      ASSERT_EQ(asFloat(out[i / 2][t] >> (32 * (i % 2))), 2 * sum)
          << layout.span << " " << row << " " << column;
    }
}
} // namespace

TEST(Warpgroup, SharedOperandsWithEverySwizzle) {
  check({16, 0, 1}, false);
  check({32, 3, 2}, false);
  check({64, 2, 4}, false);
}

TEST(Warpgroup, OperandInRegisters) { check({16, 0, 1}, true); }

namespace {
/// Both operands are read from 16 KiB of small numbers; all results as one sum
/// that depends on their places.
uint64_t digest(const std::string &types, unsigned elementBytes, unsigned n,
                unsigned k, uint64_t descriptor, bool transposeA,
                bool transposeB, bool halfResult = false) {
  Random random(5);
  std::vector<Words> in(8, Words(128));
  for (Words &words : in)
    for (uint64_t &word : words)
      for (unsigned i = 0; i < 8; i += elementBytes) {
        // Integers from -3 to 3 as e4m3, bf16, f16 or tf32.
        static const uint8_t e4m3[] = {0xc4, 0xc0, 0xb8, 0, 0x38, 0x40, 0x44};
        int value = random.next() % 7;
        uint64_t code = e4m3[value];
        if (elementBytes == 2 && types.find("bf16") != types.npos)
          code = bits(value - 3.0f) >> 16;
        else if (elementBytes == 2)
          code = (code & 0x80) << 8 |
                 ((code & 0x7f) ? ((code & 0x7f) << 7) + 0x2000 : 0);
        else if (elementBytes == 4)
          code = bits(value - 3.0f);
        word |= code << (8 * i);
      }
  auto text = [](uint64_t x) { return std::to_string(x); };
  std::string body =
      "mad.lo.u32 %x0, %thread, 8, %smem; xor.b32 %x1, %thread, 127;\n"
      "mad.lo.u32 %x1, %x1, 8, %smem;\n";
  for (unsigned i = 0; i < 8; ++i)
    body += "st.shared.b64 [%x0+" + text(1024 * i) + "], %a" + text(i) +
            "; st.shared.b64 [%x1+" + text(8192 + 1024 * i) + "], %a" +
            text(7 - i) + ";\n";
  unsigned registers = halfResult ? n / 4 : n / 2;
  std::string d;
  for (unsigned i = 0; i < registers; ++i)
    d += (i ? ",%x" : "%x") + text(8 + i);
  body +=
      "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
      "shr.u32 %x1, %smem, 4; cvt.u64.u32 %y0, %x1;\nor.b64 %y1, %y0, " +
      text(descriptor) +
      "; add.u64 %y2, %y1, 512; setp.ne.b32 %p0, 0, 0;\n"
      "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n" +
      text(n) + "k" + text(k) + types + " {" + d + "}, %y1, %y2, %p0, 1, -1" +
      (elementBytes == 2 ? std::string(", ") + (transposeA ? "1, " : "0, ") +
                               (transposeB ? "1" : "0")
                         : "") +
      ";\nwgmma.commit_group.sync.aligned;\n"
      "wgmma.wait_group.sync.aligned 0;\nmov.b64 %o0, 0;\n";
  for (unsigned i = 0; i < registers; ++i)
    body += "cvt.u64.u32 %y3, %x" + text(8 + i) +
            "; mad.lo.u64 %o0, %o0, 0x100000001b3, %y3;\n";
  Snippet snippet(body);
  snippet.threads = 128;
  snippet.sharedBytes = 16384;
  uint64_t sum = 0;
  std::vector<Words> out = snippet(in);
  for (uint64_t word : out[0])
    sum = sum * 0x9e3779b97f4a7c15 + word;
  return sum;
}

uint64_t describe(unsigned leading, unsigned stride, unsigned swizzle) {
  return uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 |
         uint64_t(swizzle) << 62;
}
} // namespace

// The digests are those of an H200.
TEST(Warpgroup, AsHardware) {
  std::string bf16 = ".f32.bf16.bf16", f16 = ".f32.f16.f16";
  struct Case {
    const char *what;
    uint64_t got, expected;
  };
  const Case cases[] = {
      {"K-major, 128 bytes",
       digest(bf16, 2, 32, 16, describe(16, 1024, 1), false, false),
       13723699047056277504u},
      {"K-major, 64 bytes",
       digest(bf16, 2, 32, 16, describe(16, 512, 2), false, false),
       12356167809644363776u},
      {"K-major, 32 bytes",
       digest(f16, 2, 32, 16, describe(16, 256, 3), false, false),
       11173383849498378240u},
      {"K-major, no swizzle",
       digest(f16, 2, 32, 16, describe(128, 256, 0), false, false),
       7989538614382166016u},
      {"MN-major, 128 bytes",
       digest(bf16, 2, 64, 16, describe(2048, 1024, 1), true, true),
       14911402463911477248u},
      {"MN-major, 64 bytes",
       digest(bf16, 2, 64, 16, describe(1024, 512, 2), true, true),
       5026795000890261504u},
      {"MN-major, 32 bytes",
       digest(bf16, 2, 64, 16, describe(512, 256, 3), true, true),
       4569512132018438144u},
      {"MN-major, no swizzle",
       digest(bf16, 2, 64, 16, describe(1024, 128, 0), true, true),
       15310004124816769024u},
      {"A K-major, B MN-major",
       digest(f16, 2, 64, 16, describe(1024, 1024, 1), false, true),
       16268190038927343616u},
      {"e4m3, 128 bytes",
       digest(".f32.e4m3.e4m3", 1, 32, 32, describe(16, 1024, 1), false, false),
       1967268634615349248u},
      {"e4m3, no swizzle",
       digest(".f32.e4m3.e4m3", 1, 16, 32, describe(128, 256, 0), false, false),
       7741013966186348544u},
      {"tf32, 128 bytes",
       digest(".f32.tf32.tf32", 4, 32, 8, describe(16, 1024, 1), false, false),
       16653378528693190656u},
      {"f16 results",
       digest(".f16.f16.f16", 2, 32, 16, describe(16, 512, 2), false, false,
              true),
       11314589838940716352u},
  };
  for (const Case &test : cases)
    EXPECT_EQ(test.got, test.expected) << test.what;
}

TEST(Warpgroup, ResultsNeedAWait) {
  Snippet snippet("setp.ne.b32 %p0, 0, 0; mov.b64 %y1, 0x100000010;\n"
                  "shr.u32 %x1, %smem, 4; cvt.u64.u32 %y0, %x1;\n"
                  "or.b64 %y1, %y0, %y1; mad.lo.u32 %x0, %thread, 32, %smem;\n"
                  "mov.b32 %x2, 0; st.shared.v4.b32 [%x0], {%x2,%x2,%x2,%x2};\n"
                  "st.shared.v4.b32 [%x0+16], {%x2,%x2,%x2,%x2};\n"
                  "fence.proxy.async.shared::cta; bar.sync 0;\n"
                  "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                  "{%x8,%x9,%x10,%x11}, %y1, %y1, %p0, 1, 1, 0, 0;\n"
                  "wgmma.commit_group.sync.aligned;\n"
                  "add.u32 %x3, %x8, 1; cvt.u64.u32 %o0, %x3;");
  snippet.threads = 128;
  std::vector<Words> out;
  Report report = snippet.run({}, out).report;
  EXPECT_EQ(int(report.fault), int(Fault::Uninitialized));
  EXPECT_NE(report.message.find("no wait_group has covered"), std::string::npos)
      << report.text();
}
