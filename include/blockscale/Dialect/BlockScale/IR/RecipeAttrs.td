//===-- RecipeAttrs.td - How a layer's three products quantize -*- td -*---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_RECIPE_ATTRS_TD
#define BLOCKSCALE_RECIPE_ATTRS_TD

include "blockscale/Dialect/BlockScale/IR/BlockScaleAttrs.td"
include "mlir/IR/EnumAttr.td"

def BlockScale_LinearRole
    : I32Enum<"LinearRole", "which product of a linear layer", [
        I32EnumCase<"Forward", 0, "forward">,
        I32EnumCase<"Dgrad", 1, "dgrad">,
        I32EnumCase<"Wgrad", 2, "wgrad">]> {
  let cppNamespace = "::blockscale";
}
def BlockScale_LinearRoleAttr
    : EnumAttr<BlockScale_Dialect, BlockScale_LinearRole, "linear_role">;

def BlockScale_OperandRole
    : I32Enum<"OperandRole", "operand of a product of a linear layer", [
        I32EnumCase<"FpropX", 0, "fprop_x">,
        I32EnumCase<"FpropW", 1, "fprop_w">,
        I32EnumCase<"DgradDY", 2, "dgrad_dy">,
        I32EnumCase<"DgradW", 3, "dgrad_w">,
        I32EnumCase<"WgradDY", 4, "wgrad_dy">,
        I32EnumCase<"WgradX", 5, "wgrad_x">]> {
  let cppNamespace = "::blockscale";
}
def BlockScale_OperandRoleAttr
    : EnumAttr<BlockScale_Dialect, BlockScale_OperandRole, "role"> {
  let assemblyFormat = "`<` $value `>`";
  let summary = "which of the six quantize sites of a linear layer an op is";
  let description = [{
    `blockscale.role` on a `blockscale.quantize` without `round` lets
    `-blockscale-choose-rounding` choose by it.

    ```mlir
    func.func private @uses() attributes {blockscale.role = #blockscale.role<wgrad_dy>}
    ```
  }];
}

def BlockScale_SiteAttr : BlockScale_Attr<"Site", "site"> {
  let summary = "how one operand of one product is quantized";
  let description = [{
    `plain` (not quantized), or a format `by` a scale rule; then, in this order
    and each optional:

    | | |
    |---|---|
    | `round mode` | left out: chosen by `-blockscale-choose-rounding` |
    | `rotate n` | blocks of n are rotated along the contraction first |
    | `signs [1, -1, ...]` | n signs of the rotation |
    | `signs seeded` | the signs are drawn anew for each seed |
    | `reuse` | dgrad_w and wgrad_x only: the tensor as the forward product saw it (rotated, quantized, dequantized), not the original |

    ```mlir
    #dy = #blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level> round stochastic rotate 16 signs seeded>
    #w = #blockscale.site<plain reuse>
    func.func private @uses() attributes {a = #dy, b = #w}
    ```
  }];
  let parameters = (ins
    OptionalParameter<"::blockscale::FormatAttr">:$format,
    OptionalParameter<"::blockscale::ScaleRuleAttr">:$rule,
    OptionalParameter<"::blockscale::RoundingAttr">:$rounding,
    DefaultValuedParameter<"int64_t", "0">:$rotation,
    OptionalParameter<"::mlir::DenseI8ArrayAttr">:$signs,
    DefaultValuedParameter<"bool", "false">:$seededSigns,
    DefaultValuedParameter<"bool", "false">:$reuse);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isPlain() const { return !getFormat(); }
    /// What elements were multiplied by before rounding (3/4); the product is
    /// divided by it.
    float getPreMultiplier() const {
      return isPlain() ? 1.0f : getRule().getValue().preMultiplier;
    }
  }];
}

def BlockScale_RecipeAttr : BlockScale_Attr<"Recipe", "recipe"> {
  let summary = "a quantized training or inference scheme for a linear layer";
  let description = [{
    A preset, `key = value` options, or a preset that options override:

    | option | |
    |---|---|
    | `fprop_x`, `fprop_w` | sites of y = x w^T |
    | `dgrad_dy`, `dgrad_w` | sites of dx = dy w |
    | `wgrad_dy`, `wgrad_x` | sites of dw = dy^T x |
    | `backward = plain` | all of the last four (quantization-aware finetuning) |
    | `masks = true` | gradients of what the forward quantization clipped are 0 |
    | `held = D` | tensor scales come from an amax measured every D steps |
    | `low_rank = R` | x w^T has a branch of rank R in 16 bits, and so has dx |
    | `balance = n` | fprop_w is balanced (`blockscale.balance`) by n steps in its blocks first |

    A site that is not named is `plain`. Presets: `docs/Recipes.md`.

    ```mlir
    #paper = #blockscale.recipe<te_nvfp4>
    #finetune = #blockscale.recipe<fp4_all_the_way, backward = plain>
    #w = #blockscale.site<#blockscale.format<nf4> by #blockscale.scale_rule<absmax>>
    #mine = #blockscale.recipe<fprop_w = #w>
    func.func private @uses() attributes {a = #paper, b = #finetune, c = #mine}
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::blockscale::SiteAttr", "by OperandRole">:$sites,
    "bool":$masks, "int64_t":$heldPeriod, "int64_t":$lowRank,
    "int64_t":$balanceSteps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::blockscale::SiteAttr getSite(::blockscale::OperandRole role) const {
      return getSites()[static_cast<unsigned>(role)];
    }
    /// The sites of the left and the right operand of a product.
    std::pair<::blockscale::OperandRole, ::blockscale::OperandRole>
    static getOperandRoles(::blockscale::LinearRole role);
    /// The preset of this name, or null.
    static RecipeAttr getPreset(::mlir::MLIRContext *context,
                                ::llvm::StringRef name);
    /// The names of all presets, in documentation order.
    static ::llvm::SmallVector<::llvm::StringRef> getPresetNames();
    /// The name of the preset this is, or empty.
    ::llvm::StringRef getPresetName() const;
    /// Options that spell it out, without the name of a preset.
    std::string getSpelledOut() const;
  }];
}

#endif // BLOCKSCALE_RECIPE_ATTRS_TD
