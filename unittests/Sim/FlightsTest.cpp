//===-- FlightsTest.cpp - Copies land late and in any order ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include <set>

using namespace blockscale::sim;
using namespace blockscale::sim::test;

namespace {
constexpr uint64_t kSeeds = 40;

struct Execution {
  Result result;
  Words out;
};

/// Thread t's input word is 1000 + t.
Execution run(const std::string &body, uint64_t seed, unsigned threads = 32,
              bool checks = true) {
  Snippet snippet(body);
  snippet.threads = threads;
  Options options;
  options.seed = seed;
  options.checkRaces = options.checkMemory = checks;
  Words in;
  for (unsigned t = 0; t < threads; ++t)
    in.push_back(1000 + t);
  Execution execution;
  std::vector<Words> out;
  execution.result = snippet.run({in}, out, options);
  execution.out = out.front();
  return execution;
}

/// Thread 0's outputs of all seeds, without the checks of order.
std::set<uint64_t> outcomes(const std::string &body) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Execution one = run(body, seed, 32, false);
    EXPECT_TRUE(one.result) << one.result.text();
    seen.insert(one.out[0]);
  }
  return seen;
}

using Outcomes = std::set<uint64_t>;

/// Two mbarriers, at %x0 and %x0 + 8, for copies of thread 0.
const std::string twoBarriers =
    "setp.eq.u32 %p0, %thread, 0; add.u32 %x0, %smem, 2048;\n"
    "@%p0 st.shared.b64 [%smem], 1; @%p0 st.shared.b64 [%smem+16], 1;\n"
    "@%p0 mbarrier.init.shared.b64 [%x0], 1;\n"
    "@%p0 mbarrier.init.shared.b64 [%x0+8], 1;\n"
    "fence.proxy.async; bar.sync 0;\n"
    "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%x0], 16;\n"
    "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%x0+8], 16;\n";

std::string load(unsigned which) {
  std::string at = std::to_string(16 * which), bar = std::to_string(8 * which);
  return "@%p0 cp.async.bulk.shared::cluster.global"
         ".mbarrier::complete_tx::bytes [%smem+" +
         at + "], [%in], 16, [%x0+" + bar + "];\n";
}

std::string wait(const std::string &label, unsigned which) {
  return label + ": mbarrier.try_wait.parity.shared.b64 %p1, [%x0+" +
         std::to_string(8 * which) + "], 0;\n@!%p1 bra " + label + ";\n";
}

/// Warp 0 fills `stages` stages by bulk copies, of which warps 1 and 2 take the
/// steps 0, 2, ... and 1, 3, ...: sums of every second input word.
std::string ring(unsigned stages, const std::string &afterStep = "") {
  const std::string n = std::to_string(stages);
  std::string text = "setp.eq.u32 %p0, %thread, 0; add.u32 %x0, %smem, 2048;\n";
  for (unsigned stage = 0; stage < stages; ++stage)
    text += "@%p0 mbarrier.init.shared.b64 [%x0+" + std::to_string(8 * stage) +
            "], 1;\n@%p0 mbarrier.init.shared.b64 [%x0+" +
            std::to_string(64 + 8 * stage) + "], 32;\n";
  return text +
         "fence.mbarrier_init.release.cluster; bar.sync 0;\n"
         "shr.u32 %x1, %thread, 5; setp.ge.u32 %p1, %x1, 1;\n"
         "selp.u32 %x2, %x1, 1, %p1; sub.u32 %x2, %x2, 1;\n"
         "selp.u32 %x3, 2, 1, %p1; mov.b64 %o0, 0;\n"
         "next: setp.ge.u32 %p2, %x2, 24; @%p2 bra end;\n"
         "rem.u32 %x4, %x2, " +
         n + "; div.u32 %x5, %x2, " + n +
         "; and.b32 %x5, %x5, 1;\n"
         "mad.lo.u32 %x6, %x4, 8, %x0; mad.lo.u32 %x7, %x4, 16, %smem;\n"
         "@%p1 bra consume;\nxor.b32 %x5, %x5, 1;\n"
         "free: mbarrier.try_wait.parity.shared.b64 %p3, [%x6+64], %x5;\n"
         "@!%p3 bra free;\nmul.wide.u32 %y0, %x2, 16;\n"
         "add.u64 %y0, %y0, %in;\n"
         "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%x6], 16;\n"
         "@%p0 cp.async.bulk.shared::cluster.global"
         ".mbarrier::complete_tx::bytes [%x7], [%y0], 16, [%x6];\n"
         "bra step;\nconsume:\n"
         "full: mbarrier.try_wait.parity.shared.b64 %p3, [%x6], %x5;\n"
         "@!%p3 bra full;\nld.shared.b64 %y1, [%x7];\n"
         "add.u64 %o0, %o0, %y1;\nmbarrier.arrive.shared.b64 _, [%x6+64];\n" +
         afterStep + "step: add.u32 %x2, %x2, %x3; bra next;\nend:";
}
} // namespace

TEST(Flights, BulkCopiesLandInAnyOrder) {
  // 1 where the first copy has ended when the second has.
  const std::string test =
      "mbarrier.test_wait.parity.shared.b64 %p2, [%x0], 0;\n"
      "selp.u32 %x1, 1, 0, %p2; cvt.u64.u32 %o0, %x1;\n";
  std::string body = twoBarriers + load(0) + load(1) + wait("again", 1) + test;
  EXPECT_EQ(outcomes(body), (Outcomes{0, 1}));
  EXPECT_EQ(run(body, 0).out[0], 1u);
  // The wait for the first tells.
  EXPECT_EQ(outcomes(twoBarriers + load(0) + load(1) + wait("again", 1) +
                     wait("more", 0) + test),
            Outcomes{1});
}

TEST(Flights, BulkCopiesAreSeenBehindTheirMbarrier) {
  std::string read = "ld.shared.b64 %o0, [%smem];\n";
  EXPECT_EQ(outcomes(twoBarriers + load(0) + load(1) + wait("again", 0) + read),
            Outcomes{1000});
  // The wrong one; and with the checks, each seed is reported.
  std::string wrong = twoBarriers + load(0) + load(1) + wait("again", 1) + read;
  EXPECT_EQ(outcomes(wrong), (Outcomes{1, 1000}));
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Execution one = run(wrong, seed);
    EXPECT_EQ(int(one.result.report.fault), int(Fault::Race));
    EXPECT_EQ(one.result.report.instruction, "ld.shared.b64");
  }
}

TEST(Flights, AsyncCopies) {
  auto copy = [](const std::string &then) {
    return "mov.b64 %y1, 1; st.shared.b64 [%smem], %y1;\n"
           "st.shared.b64 [%smem+8], %y1; bar.warp.sync -1;\n"
           "setp.eq.u32 %p0, %thread, 0;\n"
           "@%p0 cp.async.ca.shared.global [%smem], [%in], 8;\n"
           "cp.async.commit_group;\n"
           "@%p0 cp.async.ca.shared.global [%smem+8], [%in+8], 8;\n"
           "cp.async.commit_group;\n" +
           then;
  };
  const std::string first = "ld.shared.b64 %o0, [%smem];",
                    second = "ld.shared.b64 %o0, [%smem+8];";
  EXPECT_EQ(outcomes(copy("cp.async.wait_group 1;" + first)), Outcomes{1000});
  EXPECT_EQ(outcomes(copy("cp.async.wait_group 1;" + second)),
            (Outcomes{1, 1001}));
  EXPECT_EQ(outcomes(copy("cp.async.wait_all;" + second)), Outcomes{1001});
  EXPECT_EQ(outcomes(copy(first)), (Outcomes{1, 1000}));
  // An mbarrier that hears of them.
  for (const char *form : {"", ".noinc"}) {
    std::string body =
        "@%p0 mbarrier.init.shared.b64 [%x0], 1; bar.warp.sync -1;\n"
        "@%p0 cp.async.mbarrier.arrive" +
        std::string(form) + ".shared.b64 [%x0];\n" +
        (*form ? "" : "@%p0 mbarrier.arrive.shared.b64 _, [%x0];\n");
    EXPECT_EQ(outcomes(copy("add.u32 %x0, %smem, 2048;" + body +
                            wait("again", 0) + second)),
              Outcomes{1001});
  }
}

TEST(Flights, BulkStoresReadAndWriteLate) {
  // Thread 0 stores 5 to the first input word, over a 7 that is there.
  auto store = [](const std::string &then) {
    return "setp.eq.u32 %p0, %thread, 0; mov.b64 %y1, 5; mov.b64 %y2, 7;\n"
           "mov.b64 %o0, 3; @!%p0 bra end;\n"
           "st.shared.b64 [%smem], %y1; st.shared.b64 [%smem+8], %y1;\n"
           "st.global.b64 [%in], %y2; fence.proxy.async;\n"
           "cp.async.bulk.global.shared::cta.bulk_group [%in], [%smem], 16;\n"
           "cp.async.bulk.commit_group;\n" +
           then + "end:";
  };
  const std::string get = "ld.global.b64 %o0, [%in];",
                    change = "st.shared.b64 [%smem], %y2;",
                    read = "cp.async.bulk.wait_group.read 0;",
                    done = "cp.async.bulk.wait_group 0;";
  EXPECT_EQ(outcomes(store(done + get)), Outcomes{5});
  EXPECT_EQ(outcomes(store(read + get)), (Outcomes{5, 7}));
  // Over another word, so that the two values differ from what was there.
  const std::string before = "mov.b64 %y2, 9;";
  EXPECT_EQ(outcomes(store(before + read + change + done + get)), Outcomes{5});
  EXPECT_EQ(outcomes(store(before + change + done + get)), (Outcomes{5, 9}));
}

TEST(Flights, MbarrierMustOutliveItsCopies) {
  const std::string inval = "@%p0 mbarrier.inval.shared.b64 [%x0];\n"
                            "mov.b64 %o0, 1;\n";
  unsigned reports = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Execution one = run(twoBarriers + load(0) + inval, seed);
    reports += one.result.report.fault == Fault::BadSync;
    Execution good =
        run(twoBarriers + load(0) + wait("again", 0) + inval, seed);
    EXPECT_TRUE(good.result) << good.result.text();
  }
  EXPECT_GT(reports, 0u);
}

TEST(Flights, GroupsThatShareStages) {
  // Input words of even steps 0, 2, ... are 1000 + 0, 4, ...; and so on.
  uint64_t sums[2] = {12 * 1000 + 4 * 66, 12 * 1002 + 4 * 66};
  unsigned failures = 0, early = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    // Each group has stages of its own, or knows how far the other one is.
    for (const std::string &body :
         {ring(2), ring(4), ring(3, "bar.sync 1, 64;\n")}) {
      Execution good = run(body, seed, 96);
      EXPECT_TRUE(good.result) << good.result.text();
      EXPECT_EQ(good.out[32], sums[0]);
      EXPECT_EQ(good.out[64], sums[1]);
    }
    // A group waits for every second phase of a stage. Either that is
    // reported, or that it passes two phases too early and reads.
    Execution wrong = run(ring(3), seed, 96);
    EXPECT_EQ(int(wrong.result.report.fault), int(Fault::Race));
    bool isWait = wrong.result.text().find("nothing orders it behind the end "
                                           "of phase 0") != std::string::npos;
    EXPECT_TRUE(isWait ||
                (seed && wrong.result.report.instruction == "ld.shared.b64"))
        << wrong.result.text();
    early += !isWait;
    // What it does then: wrong sums, or arrivals that nobody expects.
    Execution late = run(ring(3), seed, 96, false);
    failures +=
        !late.result || late.out[32] != sums[0] || late.out[64] != sums[1];
    if (seed == 0)
      EXPECT_EQ(failures, 0u);
  }
  EXPECT_GT(failures, 0u);
  EXPECT_GT(early, 0u);
}

TEST(Flights, SameSeedSameRun) {
  std::set<uint64_t> counts;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    uint64_t count = run(ring(4), seed, 96).result.warpInstructions;
    EXPECT_EQ(run(ring(4), seed, 96).result.warpInstructions, count);
    counts.insert(count);
  }
  EXPECT_GT(counts.size(), kSeeds / 4);
}
