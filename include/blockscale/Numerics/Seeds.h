//===-- Seeds.h - Seeds of many draws, signs of rotations -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules random_c4 and random_c5 in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_SEEDS_H
#define BLOCKSCALE_NUMERICS_SEEDS_H

#include "blockscale/Numerics/Philox.h"

namespace blockscale {

/// Sites of a base seed.
inline constexpr int64_t kMaxSites = 1 << 16;
/// The constants of SplitMix64 (Steele, Lea, Flood: "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
inline constexpr uint64_t kSiteStride = 0x9E3779B97F4A7C15u;
inline constexpr uint64_t kMixFirst = 0xBF58476D1CE4E5B9u;
inline constexpr uint64_t kMixSecond = 0x94D049BB133111EBu;

/// Base seeds of an iteration lie so many bits above those of the last one.
inline constexpr unsigned kIterationShift = 31;

/// The seed of draw `site` of those that `base` is the seed of, in an
/// iteration of a loop (random_c4).
inline uint64_t deriveSeed(uint64_t base, uint64_t site,
                           uint64_t iteration = 0) {
  uint64_t z = base + (iteration << kIterationShift) + site * kSiteStride;
  z = (z ^ (z >> 30)) * kMixFirst;
  z = (z ^ (z >> 27)) * kMixSecond;
  return z ^ (z >> 31);
}

/// `count` lanes of i32, a multiple of four, 1 or -1 each (random_c5).
template <typename B>
ValueOf<B> signLanes(B &b, unsigned count, ValueOf<B> seedLow,
                     ValueOf<B> seedHigh) {
  std::vector<uint32_t> groups(count / 4);
  for (unsigned i = 0; i < groups.size(); ++i)
    groups[i] = i;
  auto zero = b.i32(0);
  auto words = philox4x32_10<B>(b, b.laneConstants(groups), zero, b.i32(1),
                                zero, seedLow, seedHigh);
  auto random = b.interleave4(words[0], words[1], words[2], words[3]);
  return b.bor(b.ashr(random, b.i32(31)), b.i32(1));
}

/// `count` signs, 1 or -1 (random_c5).
std::vector<int8_t> randomSigns(uint64_t seed, unsigned count);

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_SEEDS_H
