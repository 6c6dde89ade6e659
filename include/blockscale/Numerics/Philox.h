//===-- Philox.h - Counter-based random bits --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011). The bits of an element depend on the seed and on the
// element's index alone, so every target and every tiling draws the same.
// Rules random_c* in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_PHILOX_H
#define BLOCKSCALE_NUMERICS_PHILOX_H

#include "blockscale/Numerics/ValueBuilder.h"

#include <array>
#include <vector>

namespace blockscale {

/// Four words of a 128-bit counter under a 64-bit key (random_c1).
template <typename B>
std::array<ValueOf<B>, 4> philox4x32_10(B &b, ValueOf<B> c0, ValueOf<B> c1,
                                        ValueOf<B> c2, ValueOf<B> c3,
                                        ValueOf<B> k0, ValueOf<B> k1) {
  using V = ValueOf<B>;
  V multiplier0 = b.i32(0xD2511F53u), multiplier1 = b.i32(0xCD9E8D57u);
  for (unsigned round = 0; round < 10; ++round) {
    if (round) {
      k0 = b.add(k0, b.i32(0x9E3779B9u));
      k1 = b.add(k1, b.i32(0xBB67AE85u));
    }
    auto [low0, high0] = b.mulWide(c0, multiplier0);
    auto [low1, high1] = b.mulWide(c2, multiplier1);
    c0 = b.bxor(b.bxor(high1, c1), k0);
    c1 = low1;
    c2 = b.bxor(b.bxor(high0, c3), k1);
    c3 = low0;
  }
  return {c0, c1, c2, c3};
}

/// The random words of `count` neighbouring elements (random_c2), a lane each.
/// `indexLow` and `indexHigh` are the 64-bit linear index of lane 0; it and
/// `count` are multiples of four.
template <typename B>
ValueOf<B> randomLanes(B &b, ValueOf<B> indexLow, ValueOf<B> indexHigh,
                       unsigned count, ValueOf<B> seedLow,
                       ValueOf<B> seedHigh) {
  using V = ValueOf<B>;
  std::vector<uint32_t> groups(count / 4);
  for (unsigned i = 0; i < groups.size(); ++i)
    groups[i] = i;
  V first = b.bor(b.lshr(indexLow, b.i32(2)), b.shl(indexHigh, b.i32(30)));
  V low = b.add(first, b.laneConstants(groups));
  V carry = b.select(b.ult(low, first), b.i32(1), b.i32(0));
  V high = b.add(b.lshr(indexHigh, b.i32(2)), carry);
  V zero = b.i32(0);
  std::array<V, 4> words =
      philox4x32_10(b, low, high, zero, zero, seedLow, seedHigh);
  return b.interleave4(words[0], words[1], words[2], words[3]);
}

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_PHILOX_H
