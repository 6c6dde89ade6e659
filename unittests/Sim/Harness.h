//===-- Harness.h - Runs snippets of PTX ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_UNITTESTS_SIM_HARNESS_H
#define BLOCKSCALE_UNITTESTS_SIM_HARNESS_H

#include "blockscale/Sim/Simulator.h"

#include "gtest/gtest.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace blockscale::sim::test {

using Words = std::vector<uint64_t>;

inline uint32_t bits(float value) {
  uint32_t result;
  std::memcpy(&result, &value, 4);
  return result;
}
inline float asFloat(uint32_t bits) {
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}
inline uint64_t bits64(double value) {
  uint64_t result;
  std::memcpy(&result, &value, 8);
  return result;
}
inline double asDouble(uint64_t bits) {
  double result;
  std::memcpy(&result, &bits, 8);
  return result;
}

/// A kernel of one CTA around `body`. Thread t reads word t of each input:
/// %a0, %a1, ... hold 64 bits of it, %r0 32, %h0 16. The body writes %o0, %o1,
/// ..., which are stored as words. Registers %x0-%x63 (b32), %y0-%y15 (b64),
/// %z0-%z15 (b16), %p0-%p15 are free; %thread, %lane, and 4096 bytes of shared
/// memory at %smem.
struct Snippet {
  std::string body;
  unsigned threads = 32;
  unsigned outputs = 1;
  std::string target = "sm_90a";
  std::string declarations; ///< Before the entry.
  unsigned sharedBytes = 4096;

  explicit Snippet(std::string body) : body(std::move(body)) {}
  std::string text(size_t inputs) const;
  Result run(const std::vector<Words> &inputs, std::vector<Words> &out,
             Options options = {}) const;
  /// Runs without a fault; the outputs.
  std::vector<Words> operator()(const std::vector<Words> &inputs) const;
};

/// One output of one instruction on 32 lanes per call, however many words.
Words evaluate(const std::string &body, const std::vector<Words> &inputs);

/// All pairs of interesting values.
Words crossLeft(const Words &values), crossRight(const Words &values);

/// Pseudo-random words, the same each time.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 2 + 1) {}
  uint64_t next() {
    // SplitMix64.
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  Words words(size_t count) {
    Words result(count);
    for (uint64_t &word : result)
      word = next();
    return result;
  }

private:
  uint64_t state;
};

std::string readFile(const std::string &path);

} // namespace blockscale::sim::test

#endif // BLOCKSCALE_UNITTESTS_SIM_HARNESS_H
