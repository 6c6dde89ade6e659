//===-- Hadamard.h - The block rotation -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The orthonormal Walsh-Hadamard transform in natural (Sylvester) order, as
// butterflies. The order of f32 operations is part of the rule, so that every
// target gives the same bits. Rules rotate_c* in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_HADAMARD_H
#define BLOCKSCALE_NUMERICS_HADAMARD_H

#include "blockscale/Numerics/ValueBuilder.h"

#include <cmath>
#include <vector>

namespace blockscale {

/// y = (x * sign) H / sqrt(n) for n = lanes(x), a power of two; inverse:
/// y = sign * (x H / sqrt(n)). `signs` holds 1 or -1 per lane; empty means all
/// 1 (rotate_c1 to rotate_c3).
template <typename B>
ValueOf<B> rotateLanes(B &b, ValueOf<B> x, const std::vector<int> &signs,
                       bool inverse) {
  using V = ValueOf<B>;
  unsigned n = b.lanes(x);
  auto negateWhere = [&](V value, auto isNegative) {
    std::vector<uint32_t> mask(n);
    for (unsigned i = 0; i < n; ++i)
      mask[i] = isNegative(i) ? 0x80000000u : 0;
    return b.asFloat(b.bxor(b.asInt(value), b.laneConstants(mask)));
  };
  auto applySigns = [&](V value) {
    if (signs.empty())
      return value;
    return negateWhere(value, [&](unsigned i) { return signs[i] < 0; });
  };

  if (!inverse)
    x = applySigns(x);
  for (unsigned h = 1; h < n; h *= 2) {
    std::vector<int> partner(n);
    for (unsigned i = 0; i < n; ++i)
      partner[i] = i ^ h;
    // Lane without h: a + b. Lane with h: a - b, where a is the partner.
    V other = b.shuffle(x, partner);
    x = b.fadd(other, negateWhere(x, [h](unsigned i) { return (i & h) != 0; }));
  }
  x = b.fmul(x, b.f32(float(1.0 / std::sqrt(double(n)))));
  return inverse ? applySigns(x) : x;
}

/// The same rotation across values: element i of every lane is rows[i], and
/// the lanes are rotated side by side (an axis that is not innermost). Without
/// signs; the same operations in the same order as rotateLanes.
template <typename B>
std::vector<ValueOf<B>> rotateRows(B &b, std::vector<ValueOf<B>> rows) {
  using V = ValueOf<B>;
  unsigned n = rows.size();
  for (unsigned h = 1; h < n; h *= 2)
    for (unsigned i = 0; i < n; ++i)
      if (!(i & h)) {
        V sum = b.fadd(rows[i + h], rows[i]);
        rows[i + h] = b.fsub(rows[i], rows[i + h]);
        rows[i] = sum;
      }
  for (V &row : rows)
    row = b.fmul(row, b.f32(float(1.0 / std::sqrt(double(n)))));
  return rows;
}

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_HADAMARD_H
