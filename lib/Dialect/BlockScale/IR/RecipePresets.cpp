//===-- RecipePresets.cpp - The one table of named recipes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace blockscale;

namespace {
/// A recipe, as data, and where it comes from.
struct RecipePreset {
  const char *name;
  const char *options; ///< As between the brackets of #blockscale.recipe<>.
  const char *source;
};
} // namespace

// Parts of several rows.
#define NVFP4 "#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level>"
#define NVFP4_2D                                                               \
  "#blockscale.format<nvfp4, block = 16x16> by "                               \
  "#blockscale.scale_rule<two_level>"
#define UE5M3(block, bound)                                                    \
  "#blockscale.format<fp4_ue5m3, tensor = f32, block = " block                 \
  "> by #blockscale.scale_rule<ue5m3, bound = " bound ">"
#define MXFP4_SR                                                               \
  "#blockscale.format<mxfp4> by #blockscale.scale_rule<floor, "                \
  "pre_multiplier = 0.75> round stochastic"
#define ALL_SIX(site)                                                          \
  "fprop_x = #blockscale.site<" site ">, fprop_w = #blockscale.site<" site     \
  ">, dgrad_dy = #blockscale.site<" site ">, dgrad_w = #blockscale.site<" site \
  ">, wgrad_dy = #blockscale.site<" site ">, wgrad_x = #blockscale.site<" site \
  ">"
// get_wgrad_sign_vector() of Transformer Engine.
#define TE_SIGNS                                                               \
  "rotate 16 signs [1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1]"

static constexpr RecipePreset kPresets[] = {
    {"bf16", "", "no quantization, for comparisons"},
    {"te_nvfp4",
     "fprop_x = #blockscale.site<" NVFP4 " round nearest_even>, "
     "fprop_w = #blockscale.site<" NVFP4_2D " round nearest_even>, "
     "dgrad_dy = #blockscale.site<" NVFP4 " round stochastic>, "
     "dgrad_w = #blockscale.site<" NVFP4_2D " round nearest_even>, "
     "wgrad_dy = #blockscale.site<" NVFP4 " round stochastic " TE_SIGNS ">, "
     "wgrad_x = #blockscale.site<" NVFP4 " round nearest_even " TE_SIGNS ">",
     "Transformer Engine; arXiv 2509.25149"},
    {"fp4_all_the_way",
     "fprop_x = #blockscale.site<" NVFP4 " round nearest_even>, "
     "fprop_w = #blockscale.site<" NVFP4 " round nearest_even>, "
     "dgrad_dy = #blockscale.site<" NVFP4 " round stochastic>, "
     "dgrad_w = #blockscale.site<" NVFP4 " round nearest_even>, "
     "wgrad_dy = #blockscale.site<" NVFP4 " round stochastic>, "
     "wgrad_x = #blockscale.site<" NVFP4 " round stochastic>",
     "arXiv 2505.19115"},
    {"ue5m3",
     "held = 50, "
     "fprop_x = #blockscale.site<" UE5M3(
         "16",
         "448") " round nearest_even>, "
                "fprop_w = #blockscale.site<" UE5M3(
                    "16x16",
                    "448") " round nearest_even>, "
                           "dgrad_dy = #blockscale.site<" UE5M3(
                               "16",
                               "448") " round stochastic>, "
                                      "dgrad_w = #blockscale.site<" UE5M3(
                                          "16x16",
                                          "448") " round nearest_even>, "
                                                 "wgrad_dy = "
                                                 "#blockscale.site<" UE5M3(
                                                     "16",
                                                     "2048") " round "
                                                             "stochastic>, "
                                                             "wgrad_x = "
                                                             "#blockscale."
                                                             "site<" UE5M3(
                                                                 "16",
                                                                 "448") " round"
                                                                        " neare"
                                                                        "st_"
                                                                        "even>",
     "arXiv 2609.02846"},
    {"mxfp4_training",
     "dgrad_dy = #blockscale.site<" MXFP4_SR " rotate 64 signs seeded>, "
     "dgrad_w = #blockscale.site<" MXFP4_SR " rotate 64 signs seeded>, "
     "wgrad_dy = #blockscale.site<" MXFP4_SR " rotate 64 signs seeded>, "
     "wgrad_x = #blockscale.site<" MXFP4_SR " rotate 64 signs seeded>",
     "Training LLMs with MXFP4, arXiv 2502.20586"},
    {"quartet",
     "masks = true, "
     "fprop_x = #blockscale.site<#blockscale.format<mxfp4> by "
     "#blockscale.scale_rule<rms> round nearest_even rotate 32>, "
     "fprop_w = #blockscale.site<#blockscale.format<mxfp4> by "
     "#blockscale.scale_rule<rms> round nearest_even rotate 32>, "
     "dgrad_dy = #blockscale.site<" MXFP4_SR " rotate 32 signs seeded>, "
     "dgrad_w = #blockscale.site<" MXFP4_SR " rotate 32 signs seeded reuse>, "
     "wgrad_dy = #blockscale.site<" MXFP4_SR " rotate 32 signs seeded>, "
     "wgrad_x = #blockscale.site<" MXFP4_SR " rotate 32 signs seeded reuse>",
     "Quartet, arXiv 2505.14669"},
    {"quest",
     "masks = true, "
     "fprop_x = #blockscale.site<#blockscale.format<midrise4, block = 128, "
     "scale = f32> by #blockscale.scale_rule<division, estimator = rms, "
     "clip = 2.5139306> round nearest_even rotate 128>, "
     "fprop_w = #blockscale.site<#blockscale.format<midrise4, block = 128, "
     "scale = f32> by #blockscale.scale_rule<division, estimator = rms, "
     "clip = 2.5139306> round nearest_even rotate 128>, "
     "dgrad_w = #blockscale.site<plain reuse>, "
     "wgrad_x = #blockscale.site<plain reuse>",
     "QuEST, arXiv 2502.05003"},
    {"mxint",
     ALL_SIX("#blockscale.format<mxint8> by #blockscale.scale_rule<rceil> "
             "round nearest_even rotate 32 signs seeded"),
     "INT vs. FP, arXiv 2510.25602"},
    {"nvint",
     ALL_SIX("#blockscale.format<nvint4> by #blockscale.scale_rule<two_level> "
             "round nearest_even rotate 16 signs seeded"),
     "INT vs. FP, arXiv 2510.25602"},
    {"weight_only",
     "fprop_w = #blockscale.site<" NVFP4 " round nearest_even>, "
     "dgrad_w = #blockscale.site<plain reuse>",
     "QeRL, arXiv 2510.11696"},
    {"svdquant",
     "low_rank = 32, "
     "fprop_x = #blockscale.site<#blockscale.format<e2m1, block = 16, "
     "scale = ue4m3> by #blockscale.scale_rule<svdquant> round nearest_even>, "
     "fprop_w = #blockscale.site<" NVFP4 " round nearest_even>",
     "SVDQuant, arXiv 2411.05007; Nunchaku"},
    {"sinq",
     "balance = 16, "
     "fprop_w = #blockscale.site<#blockscale.format<uint4> by "
     "#blockscale.scale_rule<minmax> round nearest_even>, "
     "dgrad_w = #blockscale.site<plain reuse>",
     "SINQ, arXiv 2509.22944"},
    {"nf4",
     "fprop_w = #blockscale.site<#blockscale.format<nf4> by "
     "#blockscale.scale_rule<absmax> round nearest_even>, "
     "dgrad_w = #blockscale.site<plain reuse>",
     "QLoRA, bitsandbytes"},
};

RecipeAttr RecipeAttr::getPreset(MLIRContext *context, StringRef name) {
  for (const RecipePreset &preset : kPresets)
    if (name == preset.name)
      return cast<RecipeAttr>(parseAttribute(
          ("#blockscale.recipe<" + StringRef(preset.options) + ">").str(),
          context));
  return {};
}

SmallVector<StringRef> RecipeAttr::getPresetNames() {
  SmallVector<StringRef> names;
  for (const RecipePreset &preset : kPresets)
    names.push_back(preset.name);
  return names;
}

StringRef RecipeAttr::getPresetName() const {
  for (const RecipePreset &preset : kPresets)
    if (getPreset(getContext(), preset.name) == *this)
      return preset.name;
  return {};
}
