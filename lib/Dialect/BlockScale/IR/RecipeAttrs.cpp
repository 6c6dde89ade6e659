//===-- RecipeAttrs.cpp - Text and checks of sites and recipes ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;

//===----------------------------------------------------------------------===//
// site
//===----------------------------------------------------------------------===//

/// `signs` (`seeded` | `[` integer, ... `]`)
static ParseResult parseSigns(AsmParser &parser, bool &seeded,
                              DenseI8ArrayAttr &signs) {
  if (failed(parser.parseOptionalKeyword("signs")))
    return success();
  seeded = succeeded(parser.parseOptionalKeyword("seeded"));
  if (seeded)
    return success();
  SmallVector<int8_t> values;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(values.emplace_back());
      }))
    return failure();
  signs = DenseI8ArrayAttr::get(parser.getContext(), values);
  return success();
}

Attribute SiteAttr::parse(AsmParser &parser, Type) {
  FormatAttr format;
  ScaleRuleAttr rule;
  RoundingAttr rounding;
  DenseI8ArrayAttr signs;
  int64_t rotation = 0;
  bool seeded = false;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  if (failed(parser.parseOptionalKeyword("plain")) &&
      (parser.parseAttribute(format) || parser.parseKeyword("by") ||
       parser.parseAttribute(rule)))
    return {};
  if (succeeded(parser.parseOptionalKeyword("round"))) {
    Attribute parsed = RoundingAttr::parse(parser, {});
    if (!parsed)
      return {};
    rounding = cast<RoundingAttr>(parsed);
  }
  if (succeeded(parser.parseOptionalKeyword("rotate")) &&
      (parser.parseInteger(rotation) || parseSigns(parser, seeded, signs)))
    return {};
  bool reuse = succeeded(parser.parseOptionalKeyword("reuse"));
  if (parser.parseGreater())
    return {};
  return SiteAttr::getChecked([&] { return parser.emitError(location); },
                              parser.getContext(), format, rule, rounding,
                              rotation, signs, seeded, reuse);
}

void SiteAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (isPlain())
    printer << "plain";
  else
    printer << getFormat() << " by " << getRule();
  if (getRounding())
    printer << " round " << stringifyRounding(getRounding().getValue());
  if (getRotation())
    printer << " rotate " << getRotation();
  if (getSeededSigns())
    printer << " signs seeded";
  if (getSigns()) {
    printer << " signs [";
    llvm::interleaveComma(getSigns().asArrayRef(), printer,
                          [&](int8_t sign) { printer << int(sign); });
    printer << ']';
  }
  if (getReuse())
    printer << " reuse";
  printer << '>';
}

LogicalResult SiteAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               FormatAttr format, ScaleRuleAttr rule,
                               RoundingAttr rounding, int64_t rotation,
                               DenseI8ArrayAttr signs, bool seededSigns, bool) {
  if (bool(format) != bool(rule))
    return emitError() << "expects a format and a scale rule or neither, but "
                       << "got one of them";
  if (format) {
    std::string error = rule.getValue().check(format.getValue());
    if (!error.empty())
      return emitError() << error;
  }
  if (rounding && !format)
    return emitError() << "expects no rounding of a plain operand, but got "
                       << stringifyRounding(rounding.getValue());
  if (rounding && rounding.getValue() == Rounding::Up)
    return emitError() << "expects a rounding of elements, but got up, which "
                          "rounds scales";
  if (rotation != 0 &&
      (rotation < 2 || rotation > 256 || !llvm::isPowerOf2_64(rotation)))
    return emitError() << "expects a rotation by a power of two from 2 to 256, "
                          "but got "
                       << rotation;
  if ((signs || seededSigns) && rotation == 0)
    return emitError() << "expects a rotation with signs, but got none; add "
                          "`rotate n` with n from 2 to 256 or drop the signs";
  if (signs && int64_t(signs.size()) != rotation)
    return emitError() << "expects " << rotation << " signs, but got "
                       << signs.size();
  if (signs)
    for (int8_t sign : signs.asArrayRef())
      if (sign != 1 && sign != -1)
        return emitError() << "expects every sign to be 1 or -1, but got "
                           << int(sign);
  return success();
}

//===----------------------------------------------------------------------===//
// recipe
//===----------------------------------------------------------------------===//

namespace {
/// The parameters of a recipe while it is parsed.
struct RecipeDraft {
  SmallVector<SiteAttr, 6> sites;
  bool masks = false;
  int64_t heldPeriod = 0, lowRank = 0, balanceSteps = 0;
  llvm::SmallSetVector<StringRef, 6> given;

  explicit RecipeDraft(MLIRContext *context) {
    sites.assign(6, SiteAttr::get(context, {}, {}, {}, 0, {}, false, false));
  }
  explicit RecipeDraft(RecipeAttr recipe)
      : sites(recipe.getSites()), masks(recipe.getMasks()),
        heldPeriod(recipe.getHeldPeriod()), lowRank(recipe.getLowRank()),
        balanceSteps(recipe.getBalanceSteps()) {}

  /// An error if `key`, or what it stands for, has a value already.
  ParseResult noteKey(AsmParser &parser, StringRef key, SMLoc location);
  /// The value of option `key`, after its `=`.
  ParseResult parseValue(AsmParser &parser, StringRef key, SMLoc location);
};
} // namespace

ParseResult RecipeDraft::noteKey(AsmParser &parser, StringRef key,
                                 SMLoc location) {
  if (!given.insert(key))
    return parser.emitError(location, "expects one value of ")
           << key << ", but got two";
  if (key == "backward")
    for (StringRef other : given)
      if (other.starts_with("dgrad_") || other.starts_with("wgrad_"))
        return parser.emitError(location, "expects backward before ")
               << other << ", which it would replace";
  return success();
}

ParseResult RecipeDraft::parseValue(AsmParser &parser, StringRef key,
                                    SMLoc location) {
  if (auto role = symbolizeOperandRole(key))
    return parser.parseAttribute(sites[static_cast<unsigned>(*role)]);
  if (key == "held")
    return parser.parseInteger(heldPeriod);
  if (key == "low_rank")
    return parser.parseInteger(lowRank);
  if (key == "balance")
    return parser.parseInteger(balanceSteps);
  StringRef word;
  if (key == "masks") {
    if (parser.parseKeyword(&word))
      return failure();
    masks = word == "true";
    if (!masks && word != "false")
      return parser.emitError(location, "expects masks = true or false, but "
                                        "got masks = ")
             << word;
    return success();
  }
  if (key == "backward") {
    if (parser.parseKeyword(&word))
      return failure();
    if (word != "plain")
      return parser.emitError(location, "expects backward = plain, but got "
                                        "backward = ")
             << word;
    SiteAttr plain =
        SiteAttr::get(parser.getContext(), {}, {}, {}, 0, {}, false, false);
    std::fill(sites.begin() + 2, sites.end(), plain);
    return success();
  }
  return parser.emitError(location, "expects an option fprop_x, fprop_w, "
                                    "dgrad_dy, dgrad_w, wgrad_dy, wgrad_x, "
                                    "backward, masks, held, low_rank or "
                                    "balance, but got ")
         << key;
}

Attribute RecipeAttr::parse(AsmParser &parser, Type) {
  SMLoc start = parser.getCurrentLocation();
  MLIRContext *context = parser.getContext();
  RecipeDraft draft(context);
  if (parser.parseLess())
    return {};
  bool first = true;
  while (failed(parser.parseOptionalGreater())) {
    if (!first && parser.parseComma())
      return {};
    SMLoc location = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key))
      return {};
    bool isName = first && failed(parser.parseOptionalEqual());
    if (isName) {
      RecipeAttr preset = getPreset(context, key);
      if (!preset) {
        parser.emitError(location, "expects a recipe (")
            << llvm::join(getPresetNames(), ", ") << "), but got " << key;
        return {};
      }
      draft = RecipeDraft(preset);
    } else if ((!first && parser.parseEqual()) ||
               draft.noteKey(parser, key, location) ||
               draft.parseValue(parser, key, location)) {
      return {};
    }
    first = false;
  }
  return RecipeAttr::getChecked(
      [&] { return parser.emitError(start); }, context, ArrayRef(draft.sites),
      draft.masks, draft.heldPeriod, draft.lowRank, draft.balanceSteps);
}

std::string RecipeAttr::getSpelledOut() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::ListSeparator comma;
  for (auto [index, site] : llvm::enumerate(getSites()))
    if (!site.isPlain() || site.getRotation() || site.getReuse())
      os << comma << stringifyOperandRole(static_cast<OperandRole>(index))
         << " = " << site;
  if (getMasks())
    os << comma << "masks = true";
  if (getHeldPeriod())
    os << comma << "held = " << getHeldPeriod();
  if (getLowRank())
    os << comma << "low_rank = " << getLowRank();
  if (getBalanceSteps())
    os << comma << "balance = " << getBalanceSteps();
  return text;
}

void RecipeAttr::print(AsmPrinter &printer) const {
  StringRef name = getPresetName();
  printer << '<' << (name.empty() ? StringRef(getSpelledOut()) : name) << '>';
}

std::pair<OperandRole, OperandRole>
RecipeAttr::getOperandRoles(LinearRole role) {
  switch (role) {
  case LinearRole::Forward:
    return {OperandRole::FpropX, OperandRole::FpropW};
  case LinearRole::Dgrad:
    return {OperandRole::DgradDY, OperandRole::DgradW};
  case LinearRole::Wgrad:
    return {OperandRole::WgradDY, OperandRole::WgradX};
  }
  llvm_unreachable("every product has operands");
}

/// recipe_c1 to recipe_c4, recipe_c9
LogicalResult RecipeAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<SiteAttr> sites, bool masks,
                                 int64_t heldPeriod, int64_t lowRank,
                                 int64_t balanceSteps) {
  if (sites.size() != 6)
    return emitError() << "expects 6 sites, but got " << sites.size();
  for (LinearRole role :
       {LinearRole::Forward, LinearRole::Dgrad, LinearRole::Wgrad}) {
    auto [lhs, rhs] = getOperandRoles(role);
    SiteAttr a = sites[static_cast<unsigned>(lhs)];
    SiteAttr b = sites[static_cast<unsigned>(rhs)];
    if (a.getRotation() != b.getRotation() || a.getSigns() != b.getSigns() ||
        a.getSeededSigns() != b.getSeededSigns())
      return emitError() << "expects equal rotations of the operands of "
                         << stringifyLinearRole(role)
                         << ", which cancel in the product, but got " << a
                         << " and " << b;
  }
  auto siteOf = [&](OperandRole role) {
    return sites[static_cast<unsigned>(role)];
  };
  for (OperandRole role : {OperandRole::FpropX, OperandRole::FpropW,
                           OperandRole::DgradDY, OperandRole::WgradDY})
    if (siteOf(role).getReuse())
      return emitError() << "expects reuse in dgrad_w or wgrad_x, but got it "
                         << "in " << stringifyOperandRole(role);
  if (masks)
    for (auto [forward, backward] :
         {std::pair(OperandRole::FpropX, OperandRole::DgradW),
          std::pair(OperandRole::FpropW, OperandRole::WgradX)}) {
      if (siteOf(forward).isPlain())
        return emitError() << "expects a quantized "
                           << stringifyOperandRole(forward)
                           << " with masks = true, but got plain";
      if (!siteOf(backward).getReuse())
        return emitError() << "expects reuse in "
                           << stringifyOperandRole(backward)
                           << " with masks = true, but got "
                           << siteOf(backward);
      // mask_clipped looks at x divided by its scale.
      FormatAttr format = siteOf(forward).getFormat();
      if (format.hasZeroPoints())
        return emitError() << "expects a format without zero points in "
                           << stringifyOperandRole(forward)
                           << " with masks = true, but got " << format;
      ScaleRuleAttr rule = siteOf(forward).getRule();
      if (rule.getValue().hasEncodeFactor())
        return emitError() << "expects a scale rule in "
                           << stringifyOperandRole(forward)
                           << " by which elements are divided by their scale, "
                              "with masks = true, but got "
                           << rule
                           << ", which encodes by a factor of its own: the "
                              "scale does not tell what was clipped; use "
                              "floor, ceil, rceil, even, division or rms "
                              "without pre_multiplier";
    }
  if (heldPeriod < 0)
    return emitError() << "expects a positive number for held, but got "
                       << heldPeriod;
  for (SiteAttr site : sites) {
    if (heldPeriod == 0)
      continue;
    if (!site.isPlain() && !site.getFormat().hasTensorScale())
      return emitError() << "expects formats with tensor = f32 with held = "
                         << heldPeriod << ", but got " << site.getFormat();
    if (site.getReuse())
      return emitError() << "expects no reuse with held = " << heldPeriod
                         << ": a gradient does not know the forward amax";
  }
  if (lowRank < 0 || lowRank > 4096)
    return emitError() << "expects low_rank from 1 to 4096, but got "
                       << lowRank;
  if (balanceSteps < 0 || balanceSteps > 1024)
    return emitError() << "expects balance from 1 to 1024, but got "
                       << balanceSteps;
  if (balanceSteps && siteOf(OperandRole::FpropW).isPlain())
    return emitError() << "expects a quantized fprop_w with balance = "
                       << balanceSteps << ", but got plain";
  // The other gradients know the weight only as it was.
  if (balanceSteps && (masks || siteOf(OperandRole::WgradX).getReuse()))
    return emitError() << "expects neither masks nor reuse in wgrad_x with "
                       << "balance = " << balanceSteps << ", but got "
                       << (masks ? "masks = true" : "reuse in wgrad_x");
  return success();
}
