//===-- Pcg32.h - The generator of the random test tensors ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PCG-XSH-RR 64/32 (O'Neill), and normals by the inverse of the distribution
// function: AS241 PPND16 (Wichura, Applied Statistics 37, 1988). Reproduces
// the tensors of test/Inputs/refs from their seeds.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_UNITTESTS_NUMERICS_PCG32_H
#define BLOCKSCALE_UNITTESTS_NUMERICS_PCG32_H

#include <cmath>
#include <cstdint>
#include <vector>

namespace blockscale::test {

class Pcg32 {
public:
  explicit Pcg32(uint64_t seed, uint64_t sequence = 54)
      : increment((sequence << 1) | 1) {
    next();
    state += seed;
    next();
  }

  uint32_t next() {
    uint64_t old = state;
    state = old * 6364136223846793005ull + increment;
    uint32_t shifted = uint32_t(((old >> 18) ^ old) >> 27);
    unsigned rotation = unsigned(old >> 59);
    return (shifted >> rotation) | (shifted << ((32 - rotation) & 31));
  }

  /// Inside (0, 1).
  double uniform() { return (next() + 0.5) / 4294967296.0; }
  float normal() { return float(normalQuantile(uniform())); }

  std::vector<float> normals(size_t count) {
    std::vector<float> values(count);
    for (float &value : values)
      value = normal();
    return values;
  }

  /// AS241, about 16 digits.
  static double normalQuantile(double p) {
    auto ratio = [](double r, const double (&n)[8], const double (&d)[7]) {
      double numerator = n[7], denominator = d[6];
      for (int i = 6; i >= 0; --i)
        numerator = numerator * r + n[i];
      for (int i = 5; i >= 0; --i)
        denominator = denominator * r + d[i];
      return numerator / (denominator * r + 1);
    };
    static constexpr double a[8] = {
        3.3871328727963666080e0, 1.3314166789178437745e2,
        1.9715909503065514427e3, 1.3731693765509461125e4,
        4.5921953931549871457e4, 6.7265770927008700853e4,
        3.3430575583588128105e4, 2.5090809287301226727e3};
    static constexpr double b[7] = {
        4.2313330701600911252e1, 6.8718700749205790830e2,
        5.3941960214247511077e3, 2.1213794301586595867e4,
        3.9307895800092710610e4, 2.8729085735721942674e4,
        5.2264952788528545610e3};
    static constexpr double c[8] = {
        1.42343711074968357734e0,  4.63033784615654529590e0,
        5.76949722146069140550e0,  3.64784832476320460504e0,
        1.27045825245236838258e0,  2.41780725177450611770e-1,
        2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static constexpr double d[7] = {
        2.05319162663775882187e0,  1.67638483018380384940e0,
        6.89767334985100004550e-1, 1.48103976427480074590e-1,
        1.51986665636164571966e-2, 5.47593808499534494600e-4,
        1.05075007164441684324e-9};
    static constexpr double e[8] = {
        6.65790464350110377720e0,  5.46378491116411436990e0,
        1.78482653991729133580e0,  2.96560571828504891230e-1,
        2.65321895265761230930e-2, 1.24266094738807843860e-3,
        2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static constexpr double f[7] = {
        5.99832206555887937690e-1, 1.36929880922735805310e-1,
        1.48753612908506148525e-2, 7.86869131145613259100e-4,
        1.84631831751005468180e-5, 1.42151175831644588870e-7,
        2.04426310338993978564e-15};
    double q = p - 0.5;
    if (std::fabs(q) <= 0.425)
      return q * ratio(0.180625 - q * q, a, b);
    double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
    double value = r <= 5 ? ratio(r - 1.6, c, d) : ratio(r - 5, e, f);
    return q < 0 ? -value : value;
  }

private:
  uint64_t state = 0;
  uint64_t increment;
};

} // namespace blockscale::test

#endif // BLOCKSCALE_UNITTESTS_NUMERICS_PCG32_H
