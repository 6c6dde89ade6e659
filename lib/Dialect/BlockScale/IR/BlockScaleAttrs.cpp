//===-- BlockScaleAttrs.cpp - Text, hashing and types of the attributes ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/BlockScaleAttrs.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;

#define GET_ATTRDEF_CLASSES
#include "blockscale/Dialect/BlockScale/IR/BlockScaleAttrs.cpp.inc"

void BlockScaleDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "blockscale/Dialect/BlockScale/IR/BlockScaleAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Hashing: consistent with operator==, so -0.0 hashes as 0.0
//===----------------------------------------------------------------------===//

static uint32_t hashableBits(float value) {
  return llvm::bit_cast<uint32_t>(value + 0.0f);
}

static llvm::hash_code hashOf(const FloatLayout &layout) {
  return llvm::hash_combine(layout.exponentBits, layout.mantissaBits,
                            layout.bias, static_cast<uint8_t>(layout.specials),
                            layout.hasSign);
}

/// Only what the kind of element compares.
static llvm::hash_code hashOf(const ElementType &element) {
  llvm::hash_code hash =
      llvm::hash_combine(static_cast<uint8_t>(element.kind), element.bits);
  switch (element.kind) {
  case ElementType::Kind::Float:
    return llvm::hash_combine(hash, hashOf(element.layout));
  case ElementType::Kind::Int:
    return llvm::hash_combine(hash, element.fractionBits);
  case ElementType::Kind::Codebook:
    for (float value : element.codebook)
      hash = llvm::hash_combine(hash, hashableBits(value));
    return hash;
  case ElementType::Kind::UInt:
  case ElementType::Kind::Midrise:
    return hash;
  }
  llvm_unreachable("every element has a hash");
}

llvm::hash_code blockscale::hash_value(const Format &format) {
  return llvm::hash_combine(
      hashOf(format.element), format.blockRows, format.blockCols,
      static_cast<uint8_t>(format.scale.kind), hashOf(format.scale.layout),
      format.hasTensorScale, static_cast<uint8_t>(format.zero));
}

llvm::hash_code blockscale::hash_value(const ScaleRule &rule) {
  return llvm::hash_combine(
      static_cast<uint8_t>(rule.estimator), static_cast<uint8_t>(rule.order),
      static_cast<uint8_t>(rule.select), rule.satfinite,
      hashableBits(rule.bound), hashableBits(rule.preMultiplier),
      hashableBits(rule.headroom), hashableBits(rule.clip),
      hashableBits(rule.epsilon));
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// A number as the descriptors' parsers read it back.
static std::string numberText(Attribute number) {
  SmallString<32> text;
  if (auto integer = dyn_cast<IntegerAttr>(number))
    integer.getValue().toString(text, 10, /*Signed=*/true);
  else if (auto real = dyn_cast<FloatAttr>(number))
    real.getValue().toString(text, /*FormatPrecision=*/17);
  return std::string(text);
}

static ParseResult parseNumber(AsmParser &parser, std::string &text) {
  SMLoc location = parser.getCurrentLocation();
  Attribute number;
  if (parser.parseAttribute(number))
    return failure();
  text = numberText(number);
  if (text.empty())
    return parser.emitError(location, "expects a name or a number, but got ")
           << number;
  return success();
}

/// name | number | integer `x` integer
static ParseResult parseOptionValue(AsmParser &parser, std::string &text) {
  StringRef keyword;
  if (succeeded(parser.parseOptionalKeyword(&keyword))) {
    text = keyword.str();
    return success();
  }
  if (parseNumber(parser, text))
    return failure();
  // `16x16` reaches us as the integer 16 and the identifier x16.
  if (succeeded(parser.parseOptionalKeyword(&keyword)))
    text += keyword.str();
  return success();
}

/// `codebook` `[` number (`,` number)* `]`
static ParseResult parseCodebook(AsmParser &parser, std::string &head) {
  SmallVector<std::string> values;
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&] { return parseNumber(parser, values.emplace_back()); },
          " in a codebook"))
    return failure();
  head += "[" + llvm::join(values, ", ") + "]";
  return success();
}

/// `<` head (`,` key `=` value)* `>`, understood by Descriptor::fromText.
template <typename Descriptor>
static std::optional<Descriptor> parseDescriptor(AsmParser &parser) {
  std::string head;
  std::vector<Format::Option> options;
  SmallVector<SMLoc> locations;
  if (parser.parseLess())
    return std::nullopt;
  locations.push_back(parser.getCurrentLocation());
  if (parser.parseKeywordOrString(&head))
    return std::nullopt;
  if (std::is_same_v<Descriptor, Format> && head == "codebook" &&
      parseCodebook(parser, head))
    return std::nullopt;
  while (succeeded(parser.parseOptionalComma())) {
    locations.push_back(parser.getCurrentLocation());
    StringRef key;
    std::string value;
    if (parser.parseKeyword(&key) || parser.parseEqual() ||
        parseOptionValue(parser, value))
      return std::nullopt;
    options.emplace_back(key.str(), std::move(value));
  }
  if (parser.parseGreater())
    return std::nullopt;

  std::string error;
  if (auto descriptor = Descriptor::fromText(head, options, error))
    return descriptor;
  // Point at the first option that causes this very error.
  size_t culprit = options.size();
  for (size_t count = 0; count < options.size(); ++count) {
    std::string sooner;
    std::vector<Format::Option> first(options.begin(), options.begin() + count);
    if (!Descriptor::fromText(head, first, sooner) && sooner == error) {
      culprit = count;
      break;
    }
  }
  parser.emitError(locations[culprit], error);
  return std::nullopt;
}

Attribute FormatAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  auto format = parseDescriptor<Format>(parser);
  if (!format)
    return {};
  return FormatAttr::getChecked([&] { return parser.emitError(location); },
                                parser.getContext(), *format);
}

void FormatAttr::print(AsmPrinter &printer) const {
  printer << '<' << getValue().text() << '>';
}

LogicalResult FormatAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Format value) {
  std::string error = value.check();
  if (!error.empty())
    return emitError() << error;
  return success();
}

Attribute ScaleRuleAttr::parse(AsmParser &parser, Type) {
  auto rule = parseDescriptor<ScaleRule>(parser);
  if (!rule)
    return {};
  return ScaleRuleAttr::get(parser.getContext(), *rule);
}

void ScaleRuleAttr::print(AsmPrinter &printer) const {
  printer << '<' << getValue().text() << '>';
}

StringRef blockscale::stringifyRounding(Rounding rounding) {
  switch (rounding) {
  case Rounding::NearestEven:
    return "nearest_even";
  case Rounding::TowardZero:
    return "toward_zero";
  case Rounding::NearestAway:
    return "nearest_away";
  case Rounding::NearestZero:
    return "nearest_zero";
  case Rounding::Stochastic:
    return "stochastic";
  case Rounding::Up:
    return "up";
  }
  llvm_unreachable("every rounding has a name");
}

std::optional<Rounding> blockscale::symbolizeRounding(StringRef name) {
  return llvm::StringSwitch<std::optional<Rounding>>(name)
      .Case("nearest_even", Rounding::NearestEven)
      .Case("toward_zero", Rounding::TowardZero)
      .Case("nearest_away", Rounding::NearestAway)
      .Case("nearest_zero", Rounding::NearestZero)
      .Case("stochastic", Rounding::Stochastic)
      .Case("up", Rounding::Up)
      .Default(std::nullopt);
}

Attribute RoundingAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return {};
  if (auto rounding = symbolizeRounding(name))
    return RoundingAttr::get(parser.getContext(), *rounding);
  parser.emitError(location)
      << "expects a rounding (nearest_even, toward_zero, nearest_away, "
         "nearest_zero or stochastic), but got "
      << name;
  return {};
}

void RoundingAttr::print(AsmPrinter &printer) const {
  printer << ' ' << stringifyRounding(getValue());
}

//===----------------------------------------------------------------------===//
// Types of a format's tensors
//===----------------------------------------------------------------------===//

static bool isLayout(const FloatLayout &layout, unsigned exponentBits,
                     unsigned mantissaBits, int bias, Specials specials) {
  return layout.exponentBits == exponentBits &&
         layout.mantissaBits == mantissaBits && layout.bias == bias &&
         layout.specials == specials;
}

Type FormatAttr::getElementType() const {
  Builder builder(getContext());
  const ElementType &element = getValue().element;
  const FloatLayout &layout = element.layout;
  if (element.kind == ElementType::Kind::Float && layout.hasSign) {
    if (isLayout(layout, 2, 1, 1, Specials::Finite))
      return builder.getType<Float4E2M1FNType>();
    if (isLayout(layout, 2, 3, 1, Specials::Finite))
      return builder.getType<Float6E2M3FNType>();
    if (isLayout(layout, 3, 2, 3, Specials::Finite))
      return builder.getType<Float6E3M2FNType>();
    if (isLayout(layout, 4, 3, 7, Specials::NaNOnly))
      return builder.getType<Float8E4M3FNType>();
    if (isLayout(layout, 5, 2, 15, Specials::IEEE))
      return builder.getType<Float8E5M2Type>();
  }
  return builder.getIntegerType(element.width());
}

Type FormatAttr::getScaleType() const {
  Builder builder(getContext());
  const ScaleType &scale = getValue().scale;
  switch (scale.kind) {
  case ScaleType::Kind::E8M0:
    return builder.getType<Float8E8M0FNUType>();
  case ScaleType::Kind::Float:
    // The sign bit of ue4m3 is unused, so that its codes are f8E4M3FN's.
    if (isLayout(scale.layout, 4, 3, 7, Specials::NaNOnly))
      return builder.getType<Float8E4M3FNType>();
    return builder.getIntegerType(scale.width());
  case ScaleType::Kind::F16:
    return builder.getF16Type();
  case ScaleType::Kind::BF16:
    return builder.getBF16Type();
  case ScaleType::Kind::F32:
    return builder.getF32Type();
  }
  llvm_unreachable("every scale has a type");
}

Type FormatAttr::getZeroPointType() const {
  Builder builder(getContext());
  switch (getValue().zero) {
  case ZeroPoint::None:
    return {};
  case ZeroPoint::Code:
    // A byte each: there are few, and rows stay addressable.
    return builder.getI8Type();
  case ZeroPoint::F16:
    return builder.getF16Type();
  case ZeroPoint::F32:
    return builder.getF32Type();
  }
  llvm_unreachable("every zero point has a type");
}

int64_t FormatAttr::getPaddedExtent(int64_t extent) const {
  int64_t rest = extent % getBlockCols();
  return rest == 0 ? extent : extent - rest + getBlockCols();
}

RankedTensorType FormatAttr::getElementsTypeOf(RankedTensorType source) const {
  SmallVector<int64_t> shape(source.getShape());
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() = getPaddedExtent(shape.back());
  return RankedTensorType::get(shape, getElementType());
}

SmallVector<int64_t>
FormatAttr::getScalesShapeOf(ArrayRef<int64_t> source) const {
  SmallVector<int64_t> shape(source);
  auto divide = [](int64_t &extent, int64_t block) {
    if (!ShapedType::isDynamic(extent))
      extent = llvm::divideCeil(extent, block);
  };
  divide(shape.back(), getBlockCols());
  if (getBlockRows() != 1 && shape.size() >= 2)
    divide(shape[shape.size() - 2], getBlockRows());
  return shape;
}

RankedTensorType FormatAttr::getScalesTypeOf(RankedTensorType source,
                                             Attribute layout) const {
  return RankedTensorType::get(getScalesShapeOf(source.getShape()),
                               getScaleType(), layout);
}

RankedTensorType
FormatAttr::getZeroPointsTypeOf(RankedTensorType source) const {
  if (!hasZeroPoints())
    return {};
  return RankedTensorType::get(getScalesShapeOf(source.getShape()),
                               getZeroPointType());
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

LogicalResult Tiled128x4Attr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    function_ref<InFlightDiagnostic()> emitError) const {
  // The parser asks even if there is none, after it has complained.
  if (!elementType)
    return failure();
  if (!elementType.isIntOrFloat() || elementType.getIntOrFloatBitWidth() != 8)
    return emitError() << *this << " expects 8-bit scales, but got "
                       << elementType;
  if (shape.size() < 2)
    return emitError() << *this << " expects a tensor of rank 2 or more, but "
                       << "got rank " << shape.size();
  return success();
}
