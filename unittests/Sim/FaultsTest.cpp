//===-- FaultsTest.cpp - Injected faults are reported -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace blockscale::sim;
using namespace blockscale::sim::test;

namespace {
/// Warps in turns, so that which thread is the first to be wrong is known.
Options inTurns() {
  Options options;
  options.seed = 0;
  return options;
}

Report report(const std::string &body, unsigned threads = 64,
              Options options = inTurns()) {
  Snippet snippet(body);
  snippet.threads = threads;
  std::vector<Words> out;
  return snippet.run({Words(threads)}, out, options).report;
}

void expectFault(const Report &report, Fault fault, const std::string &text,
                 const std::string &instruction) {
  EXPECT_EQ(int(report.fault), int(fault)) << report.text();
  EXPECT_NE(report.text().find(text), std::string::npos) << report.text();
  EXPECT_EQ(report.instruction, instruction);
  EXPECT_GT(report.line, 0u);
}

/// A neighbour's word after a barrier, or without.
std::string exchange(const std::string &barrier) {
  return "mad.lo.u32 %x0, %thread, 4, %smem; st.shared.b32 [%x0], %thread;\n" +
         barrier +
         "\nxor.b32 %x1, %thread, 32; mad.lo.u32 %x1, %x1, 4, %smem;\n"
         "ld.shared.b32 %x2, [%x1]; cvt.u64.u32 %o0, %x2;";
}

/// Warp 0 fills a buffer by a bulk copy, warp 1 reads it after `wait`.
std::string
bulk(const std::string &wait, const std::string &fence = "",
     const std::string &initFence = "fence.mbarrier_init.release.cluster;") {
  return "setp.eq.u32 %p0, %thread, 0; setp.ge.u32 %p1, %thread, 32;\n"
         "add.u32 %x0, %smem, 2048;\n"
         "@%p0 mbarrier.init.shared.b64 [%x0], 1;\n" +
         initFence + "\nbar.sync 0;\n" + fence +
         "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%x0], 256;\n"
         "@%p0 "
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
         " [%smem], [%in], 256, [%x0];\nmov.b32 %x2, 0;\n" +
         wait +
         "\nmad.lo.u32 %x1, %lane, 8, %smem; @%p1 ld.shared.b32 %x2, [%x1];\n"
         "cvt.u64.u32 %o0, %x2;";
}
const char *waitFor0 =
    "again: mbarrier.try_wait.parity.shared.b64 %p2, [%x0], 0;\n"
    "@!%p2 bra again;";
} // namespace

TEST(Faults, MissingBarrier) {
  EXPECT_EQ(int(report(exchange("bar.sync 0;")).fault), 0);
  Report race = report(exchange(""));
  EXPECT_TRUE(race.fault == Fault::Race || race.fault == Fault::Uninitialized)
      << race.text();
  // Even when the data happen to be there.
  Options slow = inTurns();
  slow.quantum = 6;
  expectFault(report(exchange("mov.b32 %x3, 1; mov.b32 %x3, 2;"), 64, slow),
              Fault::Race, "nothing that orders", "ld.shared.b32");
  // Nor may a second round overwrite what others still read.
  // (the warps' turns decide which of the two accesses comes second).
  Report again =
      report(exchange("bar.sync 0;") + "\nst.shared.b32 [%x0], %x2;");
  EXPECT_EQ(int(again.fault), int(Fault::Race)) << again.text();
}

TEST(Faults, MissingWarpSync) {
  std::string body = "mad.lo.u32 %x0, %lane, 4, %smem;\n"
                     "st.shared.b32 [%x0], %lane;\n";
  std::string rest = "xor.b32 %x1, %lane, 1; mad.lo.u32 %x1, %x1, 4, %smem;\n"
                     "ld.shared.b32 %x2, [%x1]; cvt.u64.u32 %o0, %x2;";
  EXPECT_EQ(int(report(body + "bar.warp.sync -1;\n" + rest, 32).fault), 0);
  expectFault(report(body + rest, 32), Fault::Race, "bar.warp.sync",
              "ld.shared.b32");
  Options lax;
  lax.checkWarpRaces = false;
  EXPECT_EQ(int(report(body + rest, 32, lax).fault), 0);
}

TEST(Faults, BulkCopyWithoutWait) {
  EXPECT_EQ(int(report(bulk(waitFor0)).fault), 0);
  expectFault(report(bulk("bar.sync 0;")), Fault::Race, "a bulk copy wrote",
              "ld.shared.b32");
}

TEST(Faults, WrongPhaseOfAnMbarrier) {
  // Parity 1 of a fresh mbarrier is the phase before: no wait at all.
  std::string wrong = waitFor0;
  wrong.replace(wrong.find(", 0;"), 4, ", 1;");
  Report early = report(bulk(wrong));
  EXPECT_TRUE(early.fault == Fault::Race || early.fault == Fault::Uninitialized)
      << early.text();
  // And waiting for a phase that nobody completes is a deadlock.
  expectFault(report(bulk(std::string(waitFor0) +
                          "\nmore: mbarrier.try_wait.parity.shared.b64 %p2, "
                          "[%x0], 1;\n@!%p2 bra more;")),
              Fault::Deadlock, "waits for the mbarrier",
              "mbarrier.try_wait.parity.shared.b64");
}

TEST(Faults, MissingProxyFence) {
  std::string write = "@%p0 st.shared.b32 [%smem], %thread;\nbar.sync 0;\n";
  expectFault(
      report(bulk(waitFor0, write)), Fault::Race, "fence.proxy.async",
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes");
  EXPECT_EQ(int(report(bulk(waitFor0, "@%p0 st.shared.b32 [%smem], %thread;\n"
                                      "fence.proxy.async.shared::cta;\n"
                                      "bar.sync 0;\n"))
                    .fault),
            0);
}

TEST(Faults, MissingFenceAfterMbarrierInit) {
  expectFault(
      report(bulk(waitFor0, "", "")), Fault::Race, "fence.mbarrier_init",
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes");
  // Either fence, by the thread that made it or by the one that copies.
  for (const char *fence :
       {"@%p0 fence.mbarrier_init.release.cluster;", "fence.proxy.async;",
        "@%p0 fence.proxy.async.shared::cta;"})
    EXPECT_EQ(int(report(bulk(waitFor0, "", fence)).fault), 0) << fence;
  EXPECT_EQ(int(report(bulk(waitFor0, "fence.proxy.async;\n", "")).fault), 0);
  // Before the init it says nothing.
  std::string early = bulk(waitFor0, "", "");
  early.insert(early.find("@%p0 mbarrier.init"), "fence.proxy.async;\n");
  EXPECT_EQ(int(report(early).fault), int(Fault::Race));
}

TEST(Faults, MbarriersOfOtherCTAs) {
  // Each CTA of a pair arrives at the other's mbarrier.
  auto error = [](const std::string &between) {
    std::string all;
    for (unsigned quantum : {1u, 64u}) {
      Device device;
      std::string error;
      EXPECT_TRUE(device.load(
          ".version 8.6\n.target sm_90\n.address_size 64\n"
          ".visible .entry k() .reqnctapercluster 2, 1, 1\n{\n"
          ".reg .b32 %r<9>; .reg .pred %p, %q;\n"
          ".shared .align 8 .b64 mine;\nmov.u32 %r0, mine;\n"
          "mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1;\n"
          "mov.u32 %r5, %tid.x; setp.eq.u32 %q, %r5, 0;\n"
          "@%q mbarrier.init.shared.b64 [%r0], 1;\n" +
              between +
              "\nmapa.shared::cluster.u32 %r3, %r0, %r2;\n@%q mbarrier.arrive"
              ".release.cluster.shared::cluster.b64 _, [%r3];\nagain: "
              "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, "
              "[%r0], 0;\n@!%p bra again;\nbarrier.cluster.arrive;\n"
              "barrier.cluster.wait;\nret;\n}\n",
          error))
          << error;
      Launch launch;
      launch.entry = "k";
      launch.grid = {2};
      launch.block = {64};
      launch.options.quantum = quantum;
      all += device.launch(launch).text();
    }
    return all;
  };
  const std::string fence = "fence.mbarrier_init.release.cluster;",
                    relaxed = "barrier.cluster.arrive.relaxed;"
                              "barrier.cluster.wait;";
  EXPECT_EQ(error("barrier.cluster.arrive; barrier.cluster.wait;"), "");
  EXPECT_EQ(error(fence + relaxed), "");
  EXPECT_EQ(error("@%q " + fence + relaxed), "");
  for (const std::string &wrong : {std::string("bar.sync 0;"), fence, relaxed,
                                   fence + "bar.sync 0;", relaxed + fence})
    EXPECT_NE(error(wrong).find("mbarrier"), std::string::npos) << wrong;
}

TEST(Faults, CopyWithoutWaitGroup) {
  auto copy = [](const std::string &wait) {
    return "mad.lo.u32 %x0, %thread, 16, %smem; mad.wide.u32 %y0, %lane, 8, "
           "%in;\n"
           "and.b64 %y0, %y0, -16;\n"
           "cp.async.cg.shared.global [%x0], [%y0], 16;\n"
           "cp.async.commit_group;\n" +
           wait + "\nld.shared.b32 %x1, [%x0]; cvt.u64.u32 %o0, %x1;";
  };
  EXPECT_EQ(int(report(copy("cp.async.wait_group 0;")).fault), 0);
  expectFault(report(copy("cp.async.wait_group 1;")), Fault::Race,
              "cp.async of", "ld.shared.b32");
}

TEST(Faults, OutOfBoundsByOne) {
  // Thread 63 reads one word behind the 64 inputs.
  expectFault(
      report("ld.global.b64 %o0, [%in+8]; mad.wide.u32 %y0, %thread, 8, "
             "%in;\nld.global.b64 %o0, [%y0+8];"),
      Fault::OutOfBounds, "byte 512 of 'in', which has 512 bytes",
      "ld.global.b64");
  expectFault(report("mov.b64 %o0, 0; mad.lo.u32 %x0, %thread, 64, %smem;\n"
                     "st.shared.b32 [%x0+64], %thread;"),
              Fault::OutOfBounds, "but the CTA has 4096 bytes",
              "st.shared.b32");
}

TEST(Faults, Misaligned) {
  Report fault = report("mov.b64 %o0, 0; mad.lo.u32 %x0, %thread, 4, %smem;\n"
                        "st.shared.v2.b32 [%x0], {%thread, %thread};");
  expectFault(fault, Fault::Misaligned, "multiple of 8", "st.shared.v2.b32");
  EXPECT_EQ(fault.thread.x, 1u);
  EXPECT_TRUE(fault.hasAddress);
}

TEST(Faults, UninitialisedReads) {
  expectFault(report("ld.shared.b32 %x0, [%smem+16]; cvt.u64.u32 %o0, %x0;"),
              Fault::Uninitialized, "shared memory that was never written",
              "ld.shared.b32");
  expectFault(report("add.u32 %x0, %x1, 1; cvt.u64.u32 %o0, %x0;"),
              Fault::Uninitialized, "'%x1'", "add.u32");
  expectFault(report("ld.global.b64 %o0, [%out];"), Fault::Uninitialized,
              "global memory", "ld.global.b64");
  // Copies pass it on, only uses count.
  EXPECT_EQ(int(report("mov.b32 %x0, %x1; mov.b64 %o0, 1;").fault), 0);
  // Some lanes only.
  Report some = report("setp.lt.u32 %p0, %lane, 20; @%p0 mov.b32 %x0, 1;\n"
                       "add.u32 %x1, %x0, 1; cvt.u64.u32 %o0, %x1;");
  EXPECT_EQ(some.thread.x, 20u);
}

TEST(Faults, Deadlock) {
  Report fault = report("setp.lt.u32 %p0, %thread, 32; @%p0 bra one;\n"
                        "bar.sync 1, 64; bra end;\none: bar.sync 2, 64;\n"
                        "end: mov.b64 %o0, 1;");
  expectFault(fault, Fault::Deadlock, "32 of 64 threads have arrived",
              "bar.sync");
}

TEST(Faults, BarrierInADivergentBranch) {
  expectFault(report("setp.lt.u32 %p0, %lane, 7; @!%p0 bra end;\nbar.sync 0;\n"
                     "end: bar.sync 0; mov.b64 %o0, 1;"),
              Fault::BadSync, "do not", "bar.sync");
}

TEST(Faults, MemberMasks) {
  expectFault(report("shfl.sync.idx.b32 %x0, %lane, 0, 31, 0xffff;\n"
                     "cvt.u64.u32 %o0, %x0;"),
              Fault::BadSync, "in the member mask", "shfl.sync.idx.b32");
  expectFault(report("setp.lt.u32 %p0, %lane, 7; mov.b32 %x0, 0;\n"
                     "@!%p0 bra end;\n"
                     "shfl.sync.idx.b32 %x0, %lane, 0, 31, 0xffffffff;\n"
                     "end: cvt.u64.u32 %o0, %x0;"),
              Fault::BadSync, "lanes 0xffffff80 do not", "shfl.sync.idx.b32");
}

TEST(Faults, MbarrierMisuse) {
  std::string init = "setp.eq.u32 %p0, %thread, 0;\n"
                     "@%p0 mbarrier.init.shared.b64 [%smem], 1;\nbar.sync 0;\n"
                     "mov.b64 %o0, 1;\n";
  expectFault(report(init + "@%p0 mbarrier.arrive.shared.b64 _, [%smem+8];"),
              Fault::Uninitialized, "never written",
              "mbarrier.arrive.shared.b64");
  expectFault(report(init + "@%p0 mbarrier.arrive.shared.b64 _, [%smem], 2;"),
              Fault::BadSync, "expects only 1 more",
              "mbarrier.arrive.shared.b64");
}

TEST(Faults, TrapAndLimit) {
  expectFault(report("mov.b64 %o0, 1; trap;"), Fault::Trap, "trapped", "trap");
  Options limited;
  limited.maxInstructions = 1000;
  expectFault(report("mov.b64 %o0, 1; spin: bra spin;", 32, limited),
              Fault::TooLong, "1000 instructions", "bra");
}

TEST(Faults, UnknownInstructionAndSyntax) {
  Device device;
  std::string error;
  EXPECT_FALSE(device.load(".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".entry e() { add.u32 1 2; }",
                           error));
  EXPECT_NE(error.find("line 4: expects ','"), std::string::npos) << error;
  ASSERT_TRUE(device.load(".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".entry e() {\n .reg .b32 %r;\n frobnicate.b32 %r; }",
                          error));
  EXPECT_FALSE(device.prepare("e", error));
  EXPECT_EQ(error, "line 6: frobnicate.b32: the simulator does not know this "
                   "instruction");
  Launch launch;
  launch.entry = "none";
  EXPECT_EQ(int(device.launch(launch).report.fault), int(Fault::BadLaunch));
}
