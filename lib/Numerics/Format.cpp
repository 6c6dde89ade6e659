//===-- Format.cpp - What the bits of a block-scaled tensor mean ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/Format.h"
#include "blockscale/Numerics/HostBuilder.h"
#include "blockscale/Numerics/ScaleCoding.h"

#include <cmath>

using namespace blockscale;

//===----------------------------------------------------------------------===//
// FloatLayout (format_c2)
//===----------------------------------------------------------------------===//

static bool topBinadeIsReserved(const FloatLayout &layout) {
  switch (layout.specials) {
  case Specials::Finite:
    return false;
  case Specials::NaNOnly:
    return layout.mantissaBits == 0;
  case Specials::IEEE:
  case Specials::TopReserved:
    return true;
  }
  return false;
}

int FloatLayout::maxExponent() const {
  int topField = (1 << exponentBits) - 1;
  return topField - topBinadeIsReserved(*this) - bias;
}

uint32_t FloatLayout::maxCode() const {
  uint32_t topField = (1u << exponentBits) - 1;
  if (topBinadeIsReserved(*this))
    return (topField << mantissaBits) - 1;
  uint32_t allOnes = (1u << (exponentBits + mantissaBits)) - 1;
  return specials == Specials::NaNOnly ? allOnes - 1 : allOnes;
}

float FloatLayout::maxFinite() const {
  uint32_t steps = maxCode() & ((1u << mantissaBits) - 1);
  double significand = 1 + std::ldexp(double(steps), -int(mantissaBits));
  return float(std::ldexp(significand, maxExponent()));
}

std::optional<uint32_t> FloatLayout::nanCode() const {
  uint32_t topField = (1u << exponentBits) - 1;
  if (specials == Specials::NaNOnly)
    return (1u << (exponentBits + mantissaBits)) - 1;
  if (specials != Specials::IEEE)
    return std::nullopt;
  // Quiet in f16; 0x7D in e5m2.
  uint32_t payload = width() > 8 ? 1u << (mantissaBits - 1) : 1;
  return (topField << mantissaBits) | payload;
}

//===----------------------------------------------------------------------===//
// ElementType (format_c3 to format_c6)
//===----------------------------------------------------------------------===//

float ElementType::maxMagnitude() const {
  switch (kind) {
  case Kind::Float:
    return layout.maxFinite();
  case Kind::Int:
    return float(std::ldexp(double((1 << (bits - 1)) - 1), -int(fractionBits)));
  case Kind::UInt:
    return float((1 << bits) - 1);
  case Kind::Midrise:
    return float(1 << (bits - 1)) - 0.5f;
  case Kind::Codebook:
    return std::max(std::fabs(codebook.front()), std::fabs(codebook.back()));
  }
  return 0;
}

int ElementType::maxExponent() const { return std::ilogb(maxMagnitude()); }

unsigned ElementType::mantissaBits() const {
  switch (kind) {
  case Kind::Float:
    return layout.mantissaBits;
  case Kind::Int:
    return bits - 2;
  case Kind::UInt:
  case Kind::Midrise:
    return bits - 1;
  case Kind::Codebook:
    return 0;
  }
  return 0;
}

ElementType ElementType::floating(unsigned exponentBits,
                                  unsigned mantissaBits) {
  ElementType type;
  type.kind = Kind::Float;
  type.bits = 1 + exponentBits + mantissaBits;
  type.layout.exponentBits = exponentBits;
  type.layout.mantissaBits = mantissaBits;
  type.layout.bias = (1 << (exponentBits - 1)) - 1;
  // Eight-bit types spend codes on NaN: OCP E5M2 and LLVM's E3M4 like IEEE, the
  // others one code, like OCP E4M3.
  if (type.bits < 8)
    type.layout.specials = Specials::Finite;
  else if ((exponentBits == 5 && mantissaBits == 2) ||
           (exponentBits == 3 && mantissaBits == 4))
    type.layout.specials = Specials::IEEE;
  else
    type.layout.specials = Specials::NaNOnly;
  return type;
}

static ElementType ofKind(ElementType::Kind kind, unsigned bits) {
  ElementType type;
  type.kind = kind;
  type.bits = bits;
  return type;
}

ElementType ElementType::integer(unsigned bits, unsigned fractionBits) {
  ElementType type = ofKind(Kind::Int, bits);
  type.fractionBits = fractionBits;
  return type;
}
ElementType ElementType::unsignedInteger(unsigned bits) {
  return ofKind(Kind::UInt, bits);
}
ElementType ElementType::midrise(unsigned bits) {
  return ofKind(Kind::Midrise, bits);
}
ElementType ElementType::codebookOf(const std::array<float, 16> &values) {
  ElementType type = ofKind(Kind::Codebook, 4);
  type.codebook = values;
  return type;
}

ElementType ElementType::nf4() {
  // bitsandbytes, functional.py: quantiles of a normal distribution.
  return codebookOf(
      {-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
       -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f,
       0.0f, 0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f,
       0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f,
       0.7229568362236023f, 1.0f});
}

//===----------------------------------------------------------------------===//
// ScaleType (format_c7)
//===----------------------------------------------------------------------===//

unsigned ScaleType::width() const {
  switch (kind) {
  case Kind::E8M0:
  case Kind::Float:
    return 8;
  case Kind::F16:
  case Kind::BF16:
    return 16;
  case Kind::F32:
    return 32;
  }
  return 0;
}

float ScaleType::maxFinite() const {
  switch (kind) {
  case Kind::E8M0:
    return 0x1p127f;
  case Kind::Float:
  case Kind::F16:
    return layout.maxFinite();
  case Kind::BF16:
    return f32OfBits(0x7f7f0000u);
  case Kind::F32:
    return f32OfBits(kF32MaxBits);
  }
  return 0;
}

uint32_t ScaleType::codeOfOne() const {
  HostBuilder b;
  return encodeScale(b, *this, b.f32(1), Rounding::NearestEven)[0];
}

//===----------------------------------------------------------------------===//
// Format
//===----------------------------------------------------------------------===//

unsigned Format::zeroPointWidth() const {
  switch (zero) {
  case ZeroPoint::None:
    return 0;
  case ZeroPoint::Code:
    return element.bits;
  case ZeroPoint::F16:
    return 16;
  case ZeroPoint::F32:
    return 32;
  }
  return 0;
}

double Format::bitsPerElement() const {
  return element.bits +
         double(scale.width() + zeroPointWidth()) / double(elementsPerBlock());
}

namespace blockscale {
bool operator==(const ElementType &a, const ElementType &b) {
  if (a.kind != b.kind || a.bits != b.bits)
    return false;
  switch (a.kind) {
  case ElementType::Kind::Float:
    return a.layout == b.layout;
  case ElementType::Kind::Int:
    return a.fractionBits == b.fractionBits;
  case ElementType::Kind::Codebook:
    return a.codebook == b.codebook;
  case ElementType::Kind::UInt:
  case ElementType::Kind::Midrise:
    return true;
  }
  return true;
}

bool operator==(const Format &a, const Format &b) {
  return a.element == b.element && a.blockRows == b.blockRows &&
         a.blockCols == b.blockCols && a.scale == b.scale &&
         a.hasTensorScale == b.hasTensorScale && a.zero == b.zero;
}
} // namespace blockscale

//===----------------------------------------------------------------------===//
// Format::check (format_c8)
//===----------------------------------------------------------------------===//

/// `expects <wanted>, but got <got>`
static std::string mismatch(std::string_view wanted, std::string_view got) {
  return "expects " + std::string(wanted) + ", but got " + std::string(got);
}

static std::string checkElement(const ElementType &element) {
  switch (element.kind) {
  case ElementType::Kind::Float:
    if (element.bits < 3 || element.bits > 8 || element.layout.exponentBits < 1)
      return mismatch("an element eXmY with 1 + X + Y from 3 to 8 and X at "
                      "least 1",
                      element.name());
    return "";
  case ElementType::Kind::Int:
    if (element.bits < 2 || element.bits > 8)
      return mismatch("an element intN with N from 2 to 8", element.name());
    if (element.fractionBits > 30)
      return mismatch("at most 30 fraction bits", element.name());
    return "";
  case ElementType::Kind::UInt:
  case ElementType::Kind::Midrise:
    if (element.bits < 1 || element.bits > 8)
      return mismatch("an element of 1 to 8 bits", element.name());
    return "";
  case ElementType::Kind::Codebook:
    for (unsigned i = 0; i < 16; ++i)
      if (!std::isfinite(element.codebook[i]))
        return "expects finite codebook values, but value " +
               std::to_string(i) + " is not";
    for (unsigned i = 1; i < 16; ++i)
      if (!(element.codebook[i - 1] < element.codebook[i]))
        return "expects ascending codebook values, but value " +
               std::to_string(i) + " (" + std::to_string(element.codebook[i]) +
               ") follows " + std::to_string(element.codebook[i - 1]);
    return "";
  }
  return "";
}

std::string Format::check() const {
  std::string error = checkElement(element);
  if (!error.empty())
    return error;
  if (blockCols < 8 || blockCols > 128 || blockCols % 8)
    return mismatch("a block of a multiple of 8 columns from 8 to 128",
                    std::to_string(blockCols) + " columns");
  if (blockRows != 1 && blockRows != blockCols)
    return mismatch("a block of 1 row or of as many rows as columns (" +
                        std::to_string(blockCols) + ")",
                    std::to_string(blockRows) + " rows");
  bool isUnsigned = element.kind == ElementType::Kind::UInt;
  if (isUnsigned && zero == ZeroPoint::None)
    return mismatch("a zero point (zero = code, f16 or f32) with element " +
                        element.name(),
                    "zero = none");
  if (!isUnsigned && zero != ZeroPoint::None)
    return mismatch("an element uintN with a zero point",
                    "element " + element.name());
  if (zero != ZeroPoint::None && hasTensorScale)
    return mismatch("no tensor scale with a zero point",
                    "tensor = f32 and element " + element.name());
  if (zero != ZeroPoint::None && scale.isPowerOfTwo())
    return mismatch("a scale with a mantissa with a zero point",
                    "scale = " + scale.name());
  if (hasTensorScale && scale.kind == ScaleType::Kind::F32)
    return mismatch("a scale of at most 16 bits with tensor = f32",
                    "scale = " + scale.name());
  return "";
}
