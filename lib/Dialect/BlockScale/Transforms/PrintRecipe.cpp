//===-- PrintRecipe.cpp - Recipes as tables and as a graph ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ToolOutputFile.h"

namespace blockscale {
#define GEN_PASS_DEF_PRINTRECIPEPASS
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h.inc"
} // namespace blockscale

using namespace mlir;
using namespace blockscale;

namespace {

struct PrintRecipePass
    : blockscale::impl::PrintRecipePassBase<PrintRecipePass> {
  using PrintRecipePassBase::PrintRecipePassBase;
  void runOnOperation() override;

private:
  FailureOr<SmallVector<RecipeAttr>> findRecipes();
};

/// The columns of a site.
struct SiteText {
  std::string format, rule, rounding, rotation;

  explicit SiteText(SiteAttr site);
};

/// A product: what it computes and from what.
struct ProductText {
  LinearRole role;
  const char *result, *lhs, *rhs, *contraction;
};

} // namespace

static constexpr ProductText kProducts[] = {
    {LinearRole::Forward, "y", "x", "w^T", "K"},
    {LinearRole::Dgrad, "dx", "dy", "w", "N"},
    {LinearRole::Wgrad, "dw", "dy^T", "x", "M"},
};

/// The name of a site's rule. Of equal rules, text() takes the one that is
/// named after its two levels: not where there is no tensor scale.
static std::string ruleOf(SiteAttr site) {
  std::string text = site.getRule().getValue().text();
  if (site.getFormat().hasTensorScale())
    return text;
  return llvm::StringSwitch<std::string>(text)
      .Case("two_level", "reciprocal")
      .Case("torchao_two_level", "absmax")
      .Default(text);
}

SiteText::SiteText(SiteAttr site) {
  format = site.isPlain() ? "plain" : site.getFormat().getValue().text();
  if (site.getReuse())
    format += site.isPlain() ? " (of the forward values)" : " (again)";
  rule = site.isPlain() ? "-" : ruleOf(site);
  rounding = site.isPlain() ? "-"
             : site.getRounding()
                 ? stringifyRounding(site.getRounding().getValue()).str()
                 : "by role";
  rotation = "-";
  if (site.getRotation()) {
    rotation = "H" + std::to_string(site.getRotation());
    if (site.getSeededSigns())
      rotation += " seeded signs";
    else if (site.getSigns())
      rotation += " fixed signs";
  }
}

static std::string titleOf(RecipeAttr recipe) {
  StringRef name = recipe.getPresetName();
  std::string title = name.empty() ? "recipe" : ("recipe " + name).str();
  if (recipe.getMasks())
    title += ", masked gradients";
  if (recipe.getHeldPeriod())
    title +=
        ", amax held for " + std::to_string(recipe.getHeldPeriod()) + " steps";
  if (recipe.getLowRank())
    title += ", branch of rank " + std::to_string(recipe.getLowRank());
  if (recipe.getBalanceSteps())
    title += ", weight balanced in " +
             std::to_string(recipe.getBalanceSteps()) + " steps";
  return title;
}

static std::string productOf(const ProductText &product) {
  return llvm::formatv("{0} = {1} {2}", product.result, product.lhs,
                       product.rhs);
}

/// Rows of equally wide columns; the first row is the header.
static void printTable(raw_ostream &os,
                       ArrayRef<SmallVector<std::string>> rows) {
  SmallVector<size_t> widths(rows.front().size());
  for (const auto &row : rows)
    for (auto [width, cell] : llvm::zip_equal(widths, row))
      width = std::max(width, cell.size());
  for (const auto &[index, row] : llvm::enumerate(rows)) {
    std::string line;
    for (auto [width, cell] : llvm::zip_equal(widths, row))
      line += "| " + cell + std::string(width - cell.size() + 1, ' ');
    os << line << "|\n";
    if (index == 0) {
      for (size_t width : widths)
        os << '|' << std::string(width + 2, '-');
      os << "|\n";
    }
  }
}

static void printRecipe(raw_ostream &os, RecipeAttr recipe) {
  os << titleOf(recipe) << '\n';
  SmallVector<SmallVector<std::string>> rows = {{"product", "along", "operand",
                                                 "format", "scale rule",
                                                 "rounding", "rotation"}};
  for (const ProductText &product : kProducts) {
    auto [lhs, rhs] = RecipeAttr::getOperandRoles(product.role);
    for (OperandRole operand : {lhs, rhs}) {
      SiteText text(recipe.getSite(operand));
      bool first = operand == lhs;
      rows.push_back({first ? productOf(product) : "",
                      first ? product.contraction : "",
                      stringifyOperandRole(operand).str(), text.format,
                      text.rule, text.rounding, text.rotation});
    }
  }
  printTable(os, rows);
}

/// tensor -> [rotation] -> [quantization] -> product, for each operand.
static void drawRecipe(raw_ostream &os, RecipeAttr recipe, unsigned number) {
  os << llvm::formatv("  subgraph cluster_{0} {{\n    label=\"{1}\";\n", number,
                      titleOf(recipe));
  for (const ProductText &product : kProducts) {
    std::string node =
        llvm::formatv("r{0}_{1}", number, stringifyLinearRole(product.role));
    os << llvm::formatv("    {0} [shape=circle, label=\"{1}\\nalong {2}\"];\n",
                        node, productOf(product), product.contraction);
    auto [lhs, rhs] = RecipeAttr::getOperandRoles(product.role);
    for (OperandRole operand : {lhs, rhs}) {
      SiteAttr site = recipe.getSite(operand);
      SiteText text(site);
      std::string name =
          llvm::formatv("r{0}_{1}", number, stringifyOperandRole(operand));
      std::string last = name;
      os << llvm::formatv("    {0} [shape=plaintext, label=\"{1}{2}\"];\n",
                          name, operand == lhs ? product.lhs : product.rhs,
                          site.getReuse() ? " as forward saw it" : "");
      auto then = [&](const char *suffix, const std::string &label) {
        std::string next = name + suffix;
        os << llvm::formatv("    {0} [label=\"{1}\"];\n    {2} -> {0};\n", next,
                            label, last);
        last = next;
      };
      if (site.getRotation())
        then("_rotate", "rotate " + text.rotation);
      if (!site.isPlain())
        then("_quantize",
             text.format + "\\nby " + text.rule + "\\nround " + text.rounding);
      os << llvm::formatv("    {0} -> {1};\n", last, node);
    }
  }
  os << "  }\n";
}

FailureOr<SmallVector<RecipeAttr>> PrintRecipePass::findRecipes() {
  SmallVector<RecipeAttr> recipes;
  if (!preset.empty() && preset != "all") {
    RecipeAttr named = RecipeAttr::getPreset(&getContext(), preset);
    if (!named)
      return getOperation()->emitError("expects the name of a recipe or all, "
                                       "but got ")
             << preset;
    recipes.push_back(named);
    return recipes;
  }
  if (preset == "all") {
    for (StringRef name : RecipeAttr::getPresetNames())
      recipes.push_back(RecipeAttr::getPreset(&getContext(), name));
    return recipes;
  }
  llvm::SmallSetVector<RecipeAttr, 4> found;
  getOperation()->walk([&](LinearOp op) { found.insert(op.getRecipe()); });
  llvm::append_range(recipes, found);
  return recipes;
}

void PrintRecipePass::runOnOperation() {
  auto recipes = findRecipes();
  if (failed(recipes))
    return signalPassFailure();
  for (auto [number, recipe] : llvm::enumerate(*recipes)) {
    llvm::errs() << (number ? "\n" : "");
    printRecipe(llvm::errs(), recipe);
  }
  if (dotPath.empty())
    return;
  std::string error;
  auto file = openOutputFile(dotPath, &error);
  if (!file) {
    getOperation()->emitError() << error;
    return signalPassFailure();
  }
  file->os() << "digraph recipe {\n  rankdir=LR;\n  node [shape=box];\n";
  for (auto [number, recipe] : llvm::enumerate(*recipes))
    drawRecipe(file->os(), recipe, number);
  file->os() << "}\n";
  file->keep();
}
