//===-- WarpsTest.cpp - Control flow, warps, memory, barriers ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace blockscale::sim;
using namespace blockscale::sim::test;

namespace {
Words iota(size_t count) {
  Words result(count);
  for (size_t i = 0; i < count; ++i)
    result[i] = i;
  return result;
}
} // namespace

TEST(ControlFlow, LoopsOfDifferentLength) {
  // The sum 0 + ... + lane, then all lanes meet for a ballot.
  Words out = evaluate("mov.b32 %x0, 0; mov.b32 %x1, 0;\n"
                       "loop: setp.gt.u32 %p0, %x1, %r0; @%p0 bra done;\n"
                       "add.u32 %x0, %x0, %x1; add.u32 %x1, %x1, 1; bra loop;\n"
                       "done: vote.sync.ballot.b32 %x2, 1, 0xffffffff;\n"
                       "mov.b64 %o0, {%x0, %x2};",
                       {iota(32)});
  for (uint64_t l = 0; l < 32; ++l)
    EXPECT_EQ(out[l], l * (l + 1) / 2 | 0xffffffffull << 32);
}

TEST(ControlFlow, IndexedBranchAndNestedScopes) {
  Words out = evaluate(
      "and.b32 %x0, %r0, 3;\ntable: .branchtargets A, B, C, D;\n"
      "brx.idx %x0, table;\nA: mov.b64 %o0, 10; bra E;\n"
      "B: { .reg .b64 %o0x; mov.b64 %o0x, 20; mov.b64 %o0, %o0x; bra E; }\n"
      "C: mov.b64 %o0, 30; bra E;\nD: mov.b64 %o0, 40;\nE:",
      {iota(32)});
  for (unsigned l = 0; l < 32; ++l)
    EXPECT_EQ(out[l], 10 * (l % 4 + 1));
}

TEST(ControlFlow, ScopesHaveTheirOwnLabels) {
  std::string spin = "{ .reg .pred p; .reg .b32 n; mov.b32 n, 0;\n"
                     "again: add.u32 n, n, 1; setp.lt.u32 p, n, 5;\n"
                     "@p bra again; add.u32 %x0, %x0, n; }\n";
  Words out = evaluate(
      "mov.b32 %x0, 0;\n" + spin + spin + "cvt.u64.u32 %o0, %x0;", {iota(32)});
  EXPECT_EQ(out[3], 10u);
}

/// Of 64 threads the last 24 store 1 and leave, the others come to a barrier
/// and store 7.
static void expectEarlyExit(const std::string &body) {
  Snippet snippet(body);
  snippet.threads = 64;
  Words out = snippet({iota(64)})[0];
  for (unsigned t = 0; t < 64; ++t)
    EXPECT_EQ(out[t], t < 40 ? 7u : 1u);
}

TEST(ControlFlow, EarlyExitBeforeABarrier) {
  expectEarlyExit("setp.lt.u32 %p0, %thread, 40; mov.b64 %o0, 1;\n"
                  "st.global.b64 [%at], %o0;\n@%p0 bra go;\nret;\n"
                  "go: bar.sync 0; mov.b64 %o0, 7;");
}

TEST(ControlFlow, EarlyExitThatIsTheExitOfAll) {
  // What compilers make of `if (thread >= 40) return; __syncthreads(); ...`.
  expectEarlyExit("setp.ge.u32 %p0, %thread, 40; mov.b64 %o0, 1;\n"
                  "st.global.b64 [%at], %o0;\n@%p0 bra done;\n"
                  "bar.sync 0; mov.b64 %o0, 7;\n"
                  "st.global.b64 [%at], %o0;\ndone: ret;");
}

TEST(ControlFlow, Calls) {
  Snippet snippet(
      "{ .param .b32 p0; .param .align 16 .b8 p1[16]; .param .b32 r;\n"
      "st.param.b32 [p0], %r0; st.param.v2.b64 [p1], {%a0, 100};\n"
      "call.uni (r), twice, (p0, p1); ld.param.b32 %x0, [r]; }\n"
      "call.uni (%x1), triple, (%r0);\nmov.b64 %o0, {%x0, %x1};");
  snippet.declarations =
      ".func (.param .b32 r) twice(.param .b32 a, .param .align 16 .b8 b[16])\n"
      "{ .reg .b32 %t<4>; .reg .b64 %l; .reg .pred %p;\n"
      "ld.param.b32 %t0, [a]; ld.param.b64 %l, [b+8]; cvt.u32.u64 %t1, %l;\n"
      "setp.gt.u32 %p, %t0, 20; @%p bra big; add.u32 %t2, %t0, %t0;\n"
      "st.param.b32 [r], %t2; ret;\nbig: st.param.b32 [r], %t1; ret; }\n"
      ".func (.reg .b32 d) triple(.reg .b32 s) { mul.lo.u32 d, s, 3; ret; }\n";
  Words out = snippet({iota(32)})[0];
  for (uint64_t l = 0; l < 32; ++l)
    EXPECT_EQ(out[l], (l > 20 ? 100 : 2 * l) | 3 * l << 32);
}

TEST(Warps, Shuffles) {
  auto shuffle = [](const std::string &text) {
    return evaluate("shfl.sync." + text +
                        ", 0xffffffff; selp.b32 %x1, 1, 0, %p0;"
                        "mov.b64 %o0, {%x0, %x1};",
                    {iota(32)});
  };
  Words up = shuffle("up.b32 %x0|%p0, %r0, 3, 0");
  Words down = shuffle("down.b32 %x0|%p0, %r0, 2, 0x1807"); // Segments of 8.
  Words butterfly = shuffle("bfly.b32 %x0|%p0, %r0, 5, 31");
  Words index = shuffle("idx.b32 %x0|%p0, %r0, 6, 0x181f");
  for (uint64_t l = 0; l < 32; ++l) {
    EXPECT_EQ(up[l], l >= 3 ? l - 3 | 1ull << 32 : l);
    EXPECT_EQ(down[l], l % 8 < 6 ? l + 2 | 1ull << 32 : l);
    EXPECT_EQ(butterfly[l], (l ^ 5) | 1ull << 32);
    EXPECT_EQ(index[l], (l / 8 * 8 + 6) | 1ull << 32);
  }
}

TEST(Warps, VotesMatchesAndReductions) {
  Words in = Random(31).words(32);
  for (uint64_t &word : in)
    word &= 7;
  Words out = evaluate("setp.gt.u32 %p0, %r0, 3;"
                       "vote.sync.ballot.b32 %x0, %p0, 0xffffffff;"
                       "match.any.sync.b32 %x1, %r0, 0xffffffff;"
                       "mov.b64 %o0, {%x0, %x1};",
                       {in});
  uint32_t ballot = 0, sum = 0, high = 0, all = ~0u;
  for (unsigned l = 0; l < 32; ++l) {
    ballot |= uint32_t(in[l] > 3) << l;
    sum += in[l];
    high = std::max<uint32_t>(high, in[l]);
    all &= in[l];
  }
  for (unsigned l = 0; l < 32; ++l) {
    uint32_t same = 0;
    for (unsigned k = 0; k < 32; ++k)
      same |= uint32_t(in[k] == in[l]) << k;
    EXPECT_EQ(out[l], ballot | uint64_t(same) << 32);
  }
  out = evaluate("redux.sync.add.u32 %x0, %r0, 0xffffffff;"
                 "redux.sync.max.s32 %x1, %r0, 0xffffffff;"
                 "mov.b64 %o0, {%x0, %x1};",
                 {in});
  EXPECT_EQ(out[5], sum | uint64_t(high) << 32);
  out = evaluate("redux.sync.and.b32 %x0, %r0, 0xffffffff;"
                 "elect.sync %x1|%p0, 0xffffffff; selp.b32 %x1, 1, 0, %p0;"
                 "mov.b64 %o0, {%x0, %x1};",
                 {in});
  EXPECT_EQ(out[0], all | 1ull << 32);
  EXPECT_EQ(out[9], all);
}

TEST(Warps, PartialGroups) {
  // Each half of the warp reduces alone, in its own branch.
  Words out = evaluate("setp.lt.u32 %p0, %lane, 16; @%p0 bra low;\n"
                       "redux.sync.add.u32 %x0, %r0, 0xffff0000; bra end;\n"
                       "low: redux.sync.add.u32 %x0, %r0, 0x0000ffff;\nend:\n"
                       "cvt.u64.u32 %o0, %x0;",
                       {iota(32)});
  EXPECT_EQ(out[0], 120u);
  EXPECT_EQ(out[31], 376u);
}

TEST(Memory, VectorsAndSubwords) {
  Words in = Random(32).words(32);
  Words out = evaluate(
      "mad.lo.u32 %x0, %lane, 16, %smem; mov.b64 {%x1, %x2}, %a0;\n"
      "st.shared.v4.b32 [%x0], {%x1, %x2, 7, -1};\nbar.warp.sync 0xffffffff;\n"
      "xor.b32 %x3, %x0, 16; ld.shared.v2.b32 {%x4, %x5}, [%x3];\n"
      "ld.shared.s8 %x6, [%x3+1]; ld.shared.u16 %x7, [%x3+2];\n"
      "add.u32 %x4, %x6, %x7; mov.b64 %o0, {%x4, %x5};",
      {in});
  for (unsigned l = 0; l < 32; ++l) {
    uint64_t word = in[l ^ 1];
    uint32_t low = int32_t(int8_t(word >> 8)) + uint32_t(uint16_t(word >> 16));
    EXPECT_EQ(out[l], low | word >> 32 << 32);
  }
}

TEST(Memory, GenericLocalAndConstant) {
  Snippet snippet("{ .local .align 8 .b8 depot[32]; .reg .b64 %q<4>;\n"
                  "mov.b64 %q0, depot; cvta.local.u64 %q1, %q0;\n"
                  "st.b64 [%q1+8], %a0; ld.local.b64 %q2, [%q0+8];\n"
                  "mov.b64 %q3, table; cvta.const.u64 %q3, %q3;\n"
                  "ld.b32 %x0, [%q3+4]; cvt.u64.u32 %q3, %x0;\n"
                  "add.u64 %o0, %q2, %q3; }");
  snippet.declarations = ".const .align 4 .b32 table[3] = {5, 6, 7};\n";
  EXPECT_EQ(snippet({iota(32)})[0][9], 15u);
}

TEST(Memory, Atomics) {
  Snippet snippet(
      "setp.eq.u32 %p0, %thread, 0;\n"
      "@%p0 st.shared.v4.b32 [%smem], {0, 100, 0x3f800000, 9};\n"
      "bar.sync 0;\natom.shared.add.u32 %x0, [%smem], 1;\n"
      "atom.shared.min.s32 %x1, [%smem+4], %thread;\n"
      "red.shared.add.f32 [%smem+8], 0f3F000000;\n"
      "atom.shared.cas.b32 %x2, [%smem+12], 9, %thread;\n"
      "bar.sync 0;\nld.shared.v4.b32 {%x3, %x4, %x5, %x6}, [%smem];\n"
      "mov.b64 %o0, {%x3, %x4}; mov.b64 %o1, {%x5, %x6};");
  snippet.threads = 128;
  snippet.outputs = 2;
  std::vector<Words> out = snippet({iota(128)});
  EXPECT_EQ(out[0][77], 128u);
  EXPECT_EQ(out[1][77] & 0xffffffff, bits(65.0f));
  EXPECT_LT(out[1][77] >> 32, 128u);
  // Halves and vectors in global memory.
  out = {evaluate("mov.b32 %x0, 0x3c003c00; add.u64 %y0, %at, 0;\n"
                  "mov.b64 %o0, 0; st.global.b64 [%y0], %o0;\n"
                  "red.global.add.noftz.f16x2 [%y0], %x0;\n"
                  "red.global.add.noftz.f16x2 [%y0], %x0;\n"
                  "ld.global.b64 %o0, [%y0];",
                  {iota(32)})};
  EXPECT_EQ(out[0][3], 0x40004000u);
}

TEST(Barriers, NamedWithReduction) {
  // Warps 0 and 1 meet at barrier 3; warp 2 only arrives at barrier 4 for 0.
  Snippet snippet("shr.u32 %x0, %thread, 5; setp.eq.u32 %p0, %x0, 2;\n"
                  "mov.b32 %x1, 0; @%p0 bra third;\n"
                  "setp.gt.u32 %p1, %r0, 50;\n"
                  "barrier.cta.red.popc.aligned.u32 %x1, 3, 64, %p1;\n"
                  "setp.eq.u32 %p2, %x0, 0; @!%p2 bra end;\n"
                  "bar.sync 4, 64; bra end;\nthird: bar.arrive 4, 64;\n"
                  "end: cvt.u64.u32 %o0, %x1;");
  snippet.threads = 96;
  Words out = snippet({iota(96)})[0];
  EXPECT_EQ(out[0], 13u);
  EXPECT_EQ(out[63], 13u);
  EXPECT_EQ(out[64], 0u);
}

TEST(Barriers, MbarrierOrdersAndCounts) {
  Snippet snippet(
      "setp.eq.u32 %p0, %thread, 0; add.u32 %x0, %smem, 1024;\n"
      "@%p0 mbarrier.init.shared.b64 [%x0], 64;\nbar.sync 0;\n"
      "mad.lo.u32 %x1, %thread, 4, %smem; st.shared.b32 [%x1], %r0;\n"
      "mbarrier.arrive.shared.b64 %y0, [%x0];\n"
      "wait: mbarrier.try_wait.parity.shared.b64 %p1, [%x0], 0;\n"
      "@!%p1 bra wait;\nxor.b32 %x2, %thread, 63;\n"
      "mad.lo.u32 %x2, %x2, 4, %smem; ld.shared.b32 %x3, [%x2];\n"
      "mbarrier.test_wait.shared.b64 %p2, [%x0], %y0;\n"
      "selp.b32 %x4, 1, 0, %p2; mov.b64 %o0, {%x3, %x4};");
  snippet.threads = 64;
  Words out = snippet({iota(64)})[0];
  for (unsigned t = 0; t < 64; ++t)
    EXPECT_EQ(out[t], (63 - t) | 1ull << 32);
}

TEST(Barriers, Clusters) {
  // Each of two CTAs writes into the other's shared memory.
  std::string ptx =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry exchange(.param .u64 out) .reqnctapercluster 2, 1, 1\n"
      "{ .reg .b32 %r<9>; .reg .b64 %d<4>; .shared .align 16 .b8 mine[16];\n"
      "mov.u32 %r0, %cluster_ctarank; xor.b32 %r1, %r0, 1;\n"
      "mov.u32 %r2, mine; mapa.shared::cluster.u32 %r3, %r2, %r1;\n"
      "add.u32 %r4, %r0, 40; st.shared::cluster.u32 [%r3], %r4;\n"
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;\nld.shared.u32 %r5, [%r2];\n"
      "ld.param.u64 %d0, [out]; mov.u32 %r6, %ctaid.x;\n"
      "mad.wide.u32 %d1, %r6, 4, %d0; st.global.u32 [%d1], %r5; ret; }\n";
  Device device;
  std::string error;
  ASSERT_TRUE(device.load(ptx, error)) << error;
  uint64_t out = device.allocate(16, "out");
  Launch launch;
  launch.entry = "exchange";
  launch.grid = {4};
  launch.add(out);
  Result result = device.launch(launch);
  ASSERT_TRUE(result) << result.text();
  uint32_t values[4];
  device.read(out, values, 16);
  EXPECT_EQ(values[0], 41u);
  EXPECT_EQ(values[1], 40u);
  EXPECT_EQ(values[3], 40u);
}
