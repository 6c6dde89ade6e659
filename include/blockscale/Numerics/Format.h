//===-- Format.h - What the bits of a block-scaled tensor mean --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A format is three descriptors: the element, the scale shared by a block of
// elements, and the optional scale of the whole tensor. All are plain data: a
// new format is a new value, not new code. Rules format_* in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_FORMAT_H
#define BLOCKSCALE_NUMERICS_FORMAT_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace blockscale {

/// What the largest exponent field of a small float encodes.
enum class Specials : uint8_t {
  Finite,      ///< Every code is a number (OCP FP4, FP6).
  NaNOnly,     ///< The all-ones code is NaN, the rest are numbers (OCP E4M3).
  IEEE,        ///< Infinities and NaNs fill the largest exponent (OCP E5M2).
  TopReserved, ///< The largest exponent is never emitted and decodes to NaN.
};

/// A sign-less or signed binary float of at most 16 bits, bit by bit.
struct FloatLayout {
  uint8_t exponentBits = 0;
  uint8_t mantissaBits = 0;
  int16_t bias = 0;
  Specials specials = Specials::Finite;
  bool hasSign = true;

  unsigned width() const { return exponentBits + mantissaBits + hasSign; }
  /// Exponent of the smallest normal number: 1 - bias.
  int minExponent() const { return 1 - bias; }
  /// Exponent of the largest finite number.
  int maxExponent() const;
  /// Code of the largest finite number, without a sign.
  uint32_t maxCode() const;
  float maxFinite() const;
  /// Code of the canonical NaN, if the layout has one.
  std::optional<uint32_t> nanCode() const;

  static FloatLayout f16() { return {5, 10, 15, Specials::IEEE, true}; }

  friend bool operator==(const FloatLayout &a, const FloatLayout &b) {
    return a.exponentBits == b.exponentBits &&
           a.mantissaBits == b.mantissaBits && a.bias == b.bias &&
           a.specials == b.specials && a.hasSign == b.hasSign;
  }
};

/// The elements of a block.
struct ElementType {
  enum class Kind : uint8_t {
    Float,    ///< FloatLayout, `e2m1`.
    Int,      ///< Two's complement, value = code * 2^-fractionBits, symmetric:
              ///< the most negative code is decoded but never emitted. `int4`,
              ///< `int8q6`.
    UInt,     ///< Unsigned, used with a zero point. `uint4`.
    Midrise,  ///< Two's complement, value = code + 1/2. `midrise4`.
    Codebook, ///< Sixteen ascending f32 values. `nf4`, `codebook[...]`.
  };
  Kind kind = Kind::Float;
  FloatLayout layout;                  ///< Kind::Float only.
  uint8_t bits = 0;                    ///< Width of a code, every kind.
  uint8_t fractionBits = 0;            ///< Kind::Int only.
  std::array<float, 16> codebook = {}; ///< Kind::Codebook only.

  unsigned width() const { return bits; }
  /// Largest finite magnitude: 6 for e2m1, 7 for int4, 1.75 for int4q2.
  float maxMagnitude() const;
  /// floor(log2(maxMagnitude())), the emax of OCP MX.
  int maxExponent() const;
  /// Bits after the leading one of the largest magnitude: 1 for e2m1, 2 for
  /// int4. Not for codebooks.
  unsigned mantissaBits() const;

  static ElementType floating(unsigned exponentBits, unsigned mantissaBits);
  static ElementType integer(unsigned bits, unsigned fractionBits = 0);
  static ElementType unsignedInteger(unsigned bits);
  static ElementType midrise(unsigned bits);
  static ElementType codebookOf(const std::array<float, 16> &values);
  static ElementType nf4();

  /// Parses `e2m1`, `int8q6`, `uint4`, `midrise4`, `nf4`. Returns nullopt and
  /// says why in `error` if the name means nothing.
  static std::optional<ElementType> fromName(std::string_view name,
                                             std::string &error);
  /// The spelling fromName() accepts; `codebook` for an unnamed codebook.
  std::string name() const;
  friend bool operator==(const ElementType &a, const ElementType &b);
};

/// The scale of a block.
struct ScaleType {
  enum class Kind : uint8_t {
    E8M0,  ///< 2^(code - 127), 255 is NaN, no zero. `e8m0`.
    Float, ///< Unsigned 8-bit float. `ue4m3` (7 bits used), `ue5m3` (8 used).
    F16,
    BF16,
    F32,
  };
  Kind kind = Kind::E8M0;
  FloatLayout layout; ///< Kind::Float, and F16; never with a sign.

  /// Bits in memory: 8, 16 or 32.
  unsigned width() const;
  /// Whether every finite value is a power of two.
  bool isPowerOfTwo() const { return kind == Kind::E8M0; }
  /// Largest finite value: 2^127, 448, 114688, 65504, ...
  float maxFinite() const;

  /// The code of 1.0.
  uint32_t codeOfOne() const;

  /// Parses `e8m0`, `ue4m3`, `e4m3` (the same), `ue5m3`, `ue5m3_reserved`,
  /// `f16`, `bf16`, `f32`. uXmY with X + Y = 7 leaves the sign bit unused.
  static std::optional<ScaleType> fromName(std::string_view name,
                                           std::string &error);
  std::string name() const;
  friend bool operator==(const ScaleType &a, const ScaleType &b) {
    return a.kind == b.kind && a.layout == b.layout;
  }
};

/// The zero point of an asymmetric integer block.
enum class ZeroPoint : uint8_t {
  None,
  Code, ///< An unsigned integer of the element's width.
  F16,
  F32,
};

/// A block-scaled format. value = element * block scale [* tensor scale], or
/// (code - zero point) * block scale.
struct Format {
  ElementType element;
  int64_t blockRows = 1; ///< Rows that share a scale: 1, or blockCols.
  int64_t blockCols = 0; ///< Elements along the contraction axis: 8..128.
  ScaleType scale;
  bool hasTensorScale = false; ///< An f32 scale of the whole tensor.
  ZeroPoint zero = ZeroPoint::None;

  int64_t elementsPerBlock() const { return blockRows * blockCols; }
  /// Stored bits per element, tensor scale excluded: 4.5 for nvfp4.
  double bitsPerElement() const;
  /// Bits of a zero point as bitsPerElement() counts them.
  unsigned zeroPointWidth() const;

  /// A `key = value` of the textual form; the value as written.
  using Option = std::pair<std::string, std::string>;
  /// `head` is a preset or an element name, `options` override: block (`16`,
  /// `16x16`), scale, tensor (`f32`, `none`), zero (`none`, `code`, `f16`,
  /// `f32`). Checks that the combination is possible.
  static std::optional<Format> fromText(std::string_view head,
                                        const std::vector<Option> &options,
                                        std::string &error);
  /// Nullopt if `name` is no preset.
  static std::optional<Format> fromPreset(std::string_view name);
  /// Empty if the combination is possible, else why not, both values named.
  std::string check() const;
  /// The name of the preset this is, or empty.
  std::string_view presetName() const;
  /// `nvfp4`, or `e2m1, block = 16, scale = ue5m3, tensor = f32`.
  std::string text() const;

  friend bool operator==(const Format &a, const Format &b);
  friend bool operator!=(const Format &a, const Format &b) { return !(a == b); }
};

/// A named format and where it comes from.
struct Preset {
  std::string_view name;
  Format format;
  std::string_view source;
};
/// Every preset, in documentation order: the one table of names.
const std::vector<Preset> &presets();

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_FORMAT_H
