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

/// fl(1 / sqrt(n)), the last multiplication of a rotation of n.
inline float rotationFactor(unsigned n) {
  return float(1.0 / std::sqrt(double(n)));
}

/// `value` with the sign changed in the lanes for which isNegative is true.
template <typename B, typename F>
ValueOf<B> negateWhere(B &b, ValueOf<B> value, F isNegative) {
  std::vector<uint32_t> mask(b.lanes(value));
  for (unsigned i = 0; i < mask.size(); ++i)
    mask[i] = isNegative(i) ? 0x80000000u : 0;
  return b.asFloat(b.bxor(b.asInt(value), b.laneConstants(mask)));
}

/// The stages h = 1, 2, ..., n / 2 in every n neighbouring lanes of x.
template <typename B> ValueOf<B> butterflies(B &b, ValueOf<B> x, unsigned n) {
  for (unsigned h = 1; h < n; h *= 2) {
    std::vector<int> partner(b.lanes(x));
    for (unsigned i = 0; i < partner.size(); ++i)
      partner[i] = i ^ h;
    // Lane without h: a + b. Lane with h: a - b, where a is the partner.
    ValueOf<B> other = b.shuffle(x, partner);
    x = b.fadd(other,
               negateWhere(b, x, [h](unsigned i) { return (i & h) != 0; }));
  }
  return x;
}

/// A stage between two parts of a group: x is one, `other` the other, and
/// `sign` is 1 in the first and -1 in the second.
template <typename B>
ValueOf<B> butterflyOfParts(B &b, ValueOf<B> x, ValueOf<B> other,
                            ValueOf<B> sign) {
  return b.fmuladd(x, sign, other);
}

/// y = (x * sign) H / sqrt(n) for n = lanes(x), a power of two; inverse:
/// y = sign * (x H / sqrt(n)). `signs` holds 1 or -1 per lane; empty means all
/// 1 (rotate_c1 to rotate_c3).
template <typename B>
ValueOf<B> rotateLanes(B &b, ValueOf<B> x, const std::vector<int> &signs,
                       bool inverse) {
  unsigned n = b.lanes(x);
  auto applySigns = [&](ValueOf<B> value) {
    if (signs.empty())
      return value;
    return negateWhere(b, value, [&](unsigned i) { return signs[i] < 0; });
  };

  if (!inverse)
    x = applySigns(x);
  x = b.fmul(butterflies(b, x, n), b.f32(rotationFactor(n)));
  return inverse ? applySigns(x) : x;
}

/// butterflies across values: element i of every lane is rows[i]. The same
/// operations in the same order.
template <typename B>
void butterfliesOfRows(B &b, std::vector<ValueOf<B>> &rows, unsigned n) {
  using V = ValueOf<B>;
  for (unsigned h = 1; h < n; h *= 2)
    for (unsigned i = 0; i < rows.size(); ++i)
      if (!(i & h)) {
        V sum = b.fadd(rows[i + h], rows[i]);
        rows[i + h] = b.fsub(rows[i], rows[i + h]);
        rows[i] = sum;
      }
}

/// The same rotation across values: the lanes are rotated side by side (an axis
/// that is not innermost). Without signs.
template <typename B>
std::vector<ValueOf<B>> rotateRows(B &b, std::vector<ValueOf<B>> rows) {
  unsigned n = rows.size();
  butterfliesOfRows(b, rows, n);
  for (ValueOf<B> &row : rows)
    row = b.fmul(row, b.f32(rotationFactor(n)));
  return rows;
}

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_HADAMARD_H
