//===-- ScaleRule.h - How a block's scale is chosen -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scale rule says, step by step and in which order of f32 operations, how
// statistics of a block become its scale and the factor its elements are
// encoded with. Rules scale_* in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_SCALERULE_H
#define BLOCKSCALE_NUMERICS_SCALERULE_H

#include "blockscale/Numerics/Format.h"

namespace blockscale {

/// How a value between two neighbours becomes one of them. Saturating always.
enum class Rounding : uint8_t {
  NearestEven, ///< Ties to the even code.
  TowardZero,
  NearestAway, ///< Ties away from zero.
  NearestZero, ///< Ties toward zero.
  Stochastic,  ///< Up with the probability of the discarded fraction.
  Up,          ///< Toward +inf; unsigned scales only.
};

struct ScaleRule {
  /// What is measured on a block.
  enum class Estimator : uint8_t {
    AbsMax, ///< max |x|
    Rms,    ///< clip / M * sqrt(mean x^2) + epsilon, M = element maximum
    MinMax, ///< max x - min x with 0 in the range; asymmetric formats
  };
  /// How the measure becomes a scale, and the scale an encode factor.
  enum class Order : uint8_t {
    Floor,      ///< 2^(floor(log2 m) - emax)              (OCP MX 6.3)
    Ceil,       ///< 2^(ceil(log2 m) - emax)
    RCeil,      ///< fl(m * fl(1/M)), exponent rounded up   (cuBLAS, TE)
    Even,       ///< m rounded to the element's mantissa, then floor (torchao)
    Reciprocal, ///< S = fl(bound M / amax); s = rne(m fl(S fl(1/M)));
                ///< x * min(fl(S/s), FLT_MAX)               (TE)
    Division,   ///< g = fl(amax / (bound M)); s = rne(clamp(fl(fl(m/M)/g)));
                ///< x / fl(g s)                            (torchao)
    Unrounded,  ///< s = rne(u), u = fl(m fl(1/M)); x * fl(1/u) (SVDQuant)
    Held,       ///< S as Reciprocal; s = rne(fl(m fl(bound/amax))), 0
                ///< becomes 1; x * fl(S/s)                 (UE5M3 paper)
  };
  /// Which of several candidate scales a block takes.
  enum class Select : uint8_t {
    Single,
    FourOverSixMSE, ///< s or 1.5 s, the smaller squared error; a tie takes s.
    FourOverSixMAE, ///< The same by absolute error.
  };

  Estimator estimator = Estimator::AbsMax;
  Order order = Order::RCeil;
  Select select = Select::Single;
  /// E8M0 only: an infinite measure gives 254 instead of NaN.
  bool satfinite = false;
  /// The block scale that the tensor's largest block maps to; 0 means the
  /// scale type's maximum (448). Reciprocal, Division, Held.
  float bound = 0;
  /// Multiplies every element before rounding: 3/4 in MXFP4 training.
  float preMultiplier = 1;
  /// Divides M where the scale is computed: 16/17 leaves room for a scale
  /// that rounds down. M becomes fl(M * headroom).
  float headroom = 1;
  /// Estimator::Rms only.
  float clip = 2.92247856f;
  float epsilon = 1e-8f;

  /// Whether elements are encoded by a factor of their own, which `scale`
  /// then returns beside the scales. Where not, they are encoded by dividing
  /// by the decoded scale (rule quantize_c2).
  bool hasEncodeFactor() const;

  /// `head` names an order or a preset (`two_level`, `torchao_two_level`,
  /// `four_over_six`, `svdquant`, `ue5m3`, `rms`, `minmax`, `absmax`...);
  /// `options` override by field name.
  static std::optional<ScaleRule>
  fromText(std::string_view head, const std::vector<Format::Option> &options,
           std::string &error);
  std::string text() const;
  /// Empty if the rule can make scales of `format`, else why not.
  std::string check(const Format &format) const;
  /// The rule a format uses when none is named.
  static ScaleRule defaultFor(const Format &format);

  friend bool operator==(const ScaleRule &a, const ScaleRule &b);
};

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_SCALERULE_H
