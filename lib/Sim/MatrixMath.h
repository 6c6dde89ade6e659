//===-- MatrixMath.h - Sums of products, rounded once -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accumulation model of all matrix instructions with float results: the
// sum of C and all products, exact to about 106 bits, is rounded once.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_MATRIXMATH_H
#define BLOCKSCALE_LIB_SIM_MATRIXMATH_H

#include "SmallFloats.h"

#include <cmath>

namespace blockscale::sim {

constexpr unsigned columns = 8; ///< Summed at a time.

/// Sums that keep their rounding errors.
struct Sums {
  double high[columns] = {}, low[columns] = {};

  void add(const double *values) {
    for (unsigned n = 0; n < columns; ++n) {
      double sum = high[n] + values[n];
      low[n] += sumError(high[n], values[n], sum);
      high[n] = sum;
    }
  }
};

/// Elements of a matrix operand as they lie in registers or memory.
struct ElementReader {
  const float *table = nullptr; ///< Of all codes, up to 8 bits.
  unsigned bits = 8;            ///< From one element to the next.
  unsigned shift = 0;           ///< Of the code in its container.
  unsigned codeBits = 8;
  Type type = Type::None;
  bool exactDots = false; ///< Sums of 64 products are exact in a double.

  float read(uint32_t container) const;
  /// Element `k` of a 32-bit register.
  float at(uint32_t bitsOfRegister, unsigned k) const {
    return read(bits == 32
                    ? bitsOfRegister
                    : (bitsOfRegister >> (bits * k)) & ((1u << bits) - 1));
  }
};
/// `wideContainers`: types below 8 bits lie in bytes, as in kind::f8f6f4.
bool readerOf(Type type, bool wideContainers, ElementReader &reader);

/// Adds sum over k of a[k] * b[k][n], times scale[n].
void addProducts(Sums &sums, const float *a, const float (*b)[columns],
                 unsigned count, bool exact, const double *scale = nullptr);
uint32_t roundedF32(double high, double low);
uint16_t roundedF16(double high, double low);

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_MATRIXMATH_H
