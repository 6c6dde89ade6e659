//===-- FormatText.cpp - Formats as text ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Text.h"
#include "blockscale/Numerics/Format.h"

#include <algorithm>

using namespace blockscale;

/// Splits `e2m1` into 2 and 1.
static std::optional<std::pair<unsigned, unsigned>>
parseExponentMantissa(std::string_view text) {
  size_t m = text.find('m');
  if (!startsWith(text, "e") || m == std::string_view::npos)
    return std::nullopt;
  auto exponentBits = parseUnsigned(text.substr(1, m - 1));
  auto mantissaBits = parseUnsigned(text.substr(m + 1));
  if (!exponentBits || !mantissaBits || *exponentBits > 16 ||
      *mantissaBits > 16)
    return std::nullopt;
  return std::make_pair(*exponentBits, *mantissaBits);
}

static std::string exponentMantissaName(const FloatLayout &layout) {
  return "e" + std::to_string(layout.exponentBits) + "m" +
         std::to_string(layout.mantissaBits);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static std::optional<ElementType> parseCodebook(std::string_view name,
                                                std::string &error) {
  std::string_view list = name.substr(9, name.size() - 10);
  std::array<float, 16> values = {};
  size_t count = 0;
  while (!list.empty()) {
    size_t comma = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, comma);
    while (startsWith(item, " "))
      item.remove_prefix(1);
    auto value = parseFloat(item);
    if (!value) {
      error =
          "expects a number in a codebook, but got `" + std::string(item) + "`";
      return std::nullopt;
    }
    if (count < 16)
      values[count] = *value;
    ++count;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  if (count != 16) {
    error = "expects 16 values in a codebook, but got " + std::to_string(count);
    return std::nullopt;
  }
  return ElementType::codebookOf(values);
}

std::optional<ElementType> ElementType::fromName(std::string_view name,
                                                 std::string &error) {
  auto integerName = [&](std::string_view prefix) -> std::optional<unsigned> {
    if (!startsWith(name, prefix))
      return std::nullopt;
    auto bits = parseUnsigned(name.substr(prefix.size()));
    return bits && *bits >= 1 && *bits <= 8 ? bits : std::nullopt;
  };
  if (name == "nf4")
    return nf4();
  if (startsWith(name, "codebook[") && name.back() == ']')
    return parseCodebook(name, error);
  if (auto bits = integerName("uint"))
    return unsignedInteger(*bits);
  if (auto bits = integerName("midrise"))
    return midrise(*bits);
  if (startsWith(name, "int")) {
    std::string_view rest = name.substr(3);
    size_t q = std::min(rest.find('q'), rest.size());
    auto bits = parseUnsigned(rest.substr(0, q));
    std::optional<unsigned> fraction = 0;
    if (q < rest.size())
      fraction = parseUnsigned(rest.substr(q + 1));
    if (bits && fraction && *bits >= 2 && *bits <= 8 && *fraction <= 30)
      return integer(*bits, *fraction);
  }
  if (auto widths = parseExponentMantissa(name)) {
    auto [exponentBits, mantissaBits] = *widths;
    unsigned bits = 1 + exponentBits + mantissaBits;
    if (exponentBits >= 1 && bits >= 3 && bits <= 8)
      return floating(exponentBits, mantissaBits);
    error = "expects an element eXmY with 1 + X + Y from 3 to 8 and X at "
            "least 1, but got " +
            std::string(name);
    return std::nullopt;
  }
  error = "expects a preset or an element (eXmY, intN, intNqF, uintN, "
          "midriseN, nf4 or codebook[...]), but got " +
          std::string(name);
  return std::nullopt;
}

std::string ElementType::name() const {
  switch (kind) {
  case Kind::Float:
    return exponentMantissaName(layout);
  case Kind::Int:
    return "int" + std::to_string(bits) +
           (fractionBits ? "q" + std::to_string(fractionBits) : "");
  case Kind::UInt:
    return "uint" + std::to_string(bits);
  case Kind::Midrise:
    return "midrise" + std::to_string(bits);
  case Kind::Codebook: {
    if (codebook == nf4().codebook)
      return "nf4";
    std::string text = "codebook[";
    for (size_t i = 0; i < codebook.size(); ++i)
      text += (i ? ", " : "") + textOf(codebook[i]);
    return text + "]";
  }
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

std::optional<ScaleType> ScaleType::fromName(std::string_view name,
                                             std::string &error) {
  ScaleType type;
  if (name == "e8m0" || name == "ue8m0")
    return type;
  if (name == "f16") {
    type.kind = Kind::F16;
    type.layout = FloatLayout::f16();
    type.layout.hasSign = false;
    return type;
  }
  if (name == "bf16" || name == "f32") {
    type.kind = name == "f32" ? Kind::F32 : Kind::BF16;
    return type;
  }

  std::string_view rest = name;
  if (startsWith(rest, "u"))
    rest.remove_prefix(1);
  constexpr std::string_view kReserved = "_reserved";
  bool reserved = rest.size() > kReserved.size() &&
                  rest.substr(rest.size() - kReserved.size()) == kReserved;
  if (reserved)
    rest.remove_suffix(kReserved.size());
  if (auto widths = parseExponentMantissa(rest)) {
    auto [exponentBits, mantissaBits] = *widths;
    unsigned bits = exponentBits + mantissaBits;
    if ((bits == 7 || bits == 8) && exponentBits >= 1 + unsigned(reserved) &&
        mantissaBits >= 1) {
      type.kind = Kind::Float;
      type.layout.exponentBits = exponentBits;
      type.layout.mantissaBits = mantissaBits;
      type.layout.bias = (1 << (exponentBits - 1)) - 1;
      type.layout.hasSign = false;
      type.layout.specials =
          reserved ? Specials::TopReserved : Specials::NaNOnly;
      return type;
    }
    error = "expects a scale ueXmY with X + Y of 7 or 8, X and Y at least 1, "
            "but got " +
            std::string(name);
    return std::nullopt;
  }
  error = "expects a scale (e8m0, ueXmY, f16, bf16 or f32), but got " +
          std::string(name);
  return std::nullopt;
}

std::string ScaleType::name() const {
  switch (kind) {
  case Kind::E8M0:
    return "e8m0";
  case Kind::Float:
    return "u" + exponentMantissaName(layout) +
           (layout.specials == Specials::TopReserved ? "_reserved" : "");
  case Kind::F16:
    return "f16";
  case Kind::BF16:
    return "bf16";
  case Kind::F32:
    return "f32";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

/// `16` or `16x16`
static bool parseBlock(std::string_view text, Format &format) {
  size_t x = text.find('x');
  auto first = parseUnsigned(text.substr(0, x));
  if (!first)
    return false;
  format.blockRows = 1;
  format.blockCols = *first;
  if (x == std::string_view::npos)
    return true;
  auto second = parseUnsigned(text.substr(x + 1));
  if (!second)
    return false;
  format.blockRows = *first;
  format.blockCols = *second;
  return true;
}

static constexpr std::pair<std::string_view, ZeroPoint> kZeroPoints[] = {
    {"none", ZeroPoint::None},
    {"code", ZeroPoint::Code},
    {"f16", ZeroPoint::F16},
    {"f32", ZeroPoint::F32},
};

/// Applies one option; false with `error` set if it means nothing.
static bool applyOption(const Format::Option &option, Format &format,
                        std::string &error) {
  const auto &[key, value] = option;
  if (key == "block") {
    if (parseBlock(value, format))
      return true;
    error = "expects block = N or NxN, but got block = " + value;
    return false;
  }
  if (key == "scale") {
    auto scale = ScaleType::fromName(value, error);
    if (scale)
      format.scale = *scale;
    return scale.has_value();
  }
  if (key == "tensor") {
    format.hasTensorScale = value == "f32";
    if (value == "f32" || value == "none")
      return true;
    error = "expects tensor = f32 or none, but got tensor = " + value;
    return false;
  }
  if (key == "zero") {
    for (auto [name, zero] : kZeroPoints)
      if (name == value) {
        format.zero = zero;
        return true;
      }
    error = "expects zero = none, code, f16 or f32, but got zero = " + value;
    return false;
  }
  error = "expects an option block, scale, tensor or zero, but got " + key;
  return false;
}

std::optional<Format> Format::fromText(std::string_view head,
                                       const std::vector<Option> &options,
                                       std::string &error) {
  std::vector<std::string_view> missing;
  Format format;
  if (auto preset = fromPreset(head)) {
    format = *preset;
  } else {
    auto element = ElementType::fromName(head, error);
    if (!element)
      return std::nullopt;
    format.element = *element;
    missing = {"block", "scale"};
  }
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string &key = options[i].first;
    for (size_t j = 0; j < i; ++j)
      if (options[j].first == key) {
        error = "expects one value of " + key + ", but got " +
                options[j].second + " and " + options[i].second;
        return std::nullopt;
      }
    if (!applyOption(options[i], format, error))
      return std::nullopt;
    missing.erase(std::remove(missing.begin(), missing.end(), key),
                  missing.end());
  }
  if (!missing.empty()) {
    error = "expects a preset, or an element with block and scale, but got " +
            std::string(head) + " without " + std::string(missing.front());
    return std::nullopt;
  }
  error = format.check();
  if (!error.empty())
    return std::nullopt;
  return format;
}

std::string Format::text() const {
  if (std::string_view preset = presetName(); !preset.empty())
    return std::string(preset);
  std::string block = std::to_string(blockCols);
  if (blockRows != 1)
    block = std::to_string(blockRows) + "x" + block;
  std::string text =
      element.name() + ", block = " + block + ", scale = " + scale.name();
  // `nf4` is a preset too, whose options would show through.
  bool isPresetHead = fromPreset(element.name()).has_value();
  if (hasTensorScale || isPresetHead)
    text += std::string(", tensor = ") + (hasTensorScale ? "f32" : "none");
  for (auto [name, point] : kZeroPoints)
    if (point == zero && (zero != ZeroPoint::None || isPresetHead))
      text += ", zero = " + std::string(name);
  return text;
}
