//===-- Chance.h - Choices that a seed determines ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_CHANCE_H
#define BLOCKSCALE_LIB_SIM_CHANCE_H

#include <cstdint>

namespace blockscale::sim {

/// The n-th choice is a function of the seed, the stream and n, so clusters on
/// other threads of the host do not change it.
class Chance {
public:
  /// No seed, 0: nothing is left to chance.
  void start(uint64_t seed, uint64_t stream) {
    isOn = seed != 0;
    key = mix(mix(seed) + stream);
    count = 0;
  }
  explicit operator bool() const { return isOn; }
  uint32_t below(uint32_t bound) {
    return (mix(key + ++count) >> 32) * bound >> 32;
  }
  /// From 0 to 2^bits - 1, each number of bits as likely as another: mostly
  /// short, sometimes long.
  uint32_t spread(uint32_t bits) { return below(1u << below(bits + 1)); }

private:
  static uint64_t mix(uint64_t z) { // SplitMix64's output function.
    z *= 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  bool isOn = false;
  uint64_t key = 0, count = 0;
};

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_CHANCE_H
