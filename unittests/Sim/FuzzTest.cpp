//===-- FuzzTest.cpp - Random values against hardware -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one instruction gives for random operands, folded into one number. The
// numbers here are those of an H200: every word that the simulator computes was
// compared with the device once.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace blockscale::sim::test;

namespace {
/// 2048 random words each, with shifts so that small numbers occur, too.
uint64_t digest(const std::string &body) {
  std::vector<Words> in;
  for (unsigned k = 0; k < 3; ++k) {
    in.push_back(Random(60 + k).words(2048));
    for (size_t i = 0; i < in[k].size(); ++i)
      if (i % 4 == 3)
        in[k][i] >>= (i / 4 * (k + 3)) % 64;
  }
  uint64_t sum = 0;
  for (uint64_t word : evaluate(body, in))
    sum = sum * 0x9e3779b97f4a7c15 + word;
  return sum;
}
std::string b32(const std::string &instruction) {
  return instruction + "; cvt.u64.u32 %o0, %x0;";
}
std::string b16(const std::string &instruction) {
  return instruction + "; cvt.u64.u16 %o0, %z0;";
}
struct Case {
  std::string body;
  uint64_t expected;
};
} // namespace

TEST(Fuzz, AsHardware) {
  const Case cases[] = {
#include "FuzzCases.h"
  };
  for (const Case &test : cases)
    EXPECT_EQ(digest(test.body), test.expected) << test.body;
}
