//===-- BlockScaleAttrs.td - Formats, scale rules, layouts -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_ATTRS_TD
#define BLOCKSCALE_ATTRS_TD

include "blockscale/Dialect/BlockScale/IR/BlockScaleBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"

class BlockScale_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<BlockScale_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def BlockScale_FormatAttr : BlockScale_Attr<"Format", "format"> {
  let summary = "what the bits of a block-scaled tensor mean";
  let description = [{
    A preset or an element, then `key = value` options that override:

    | option | values | |
    |---|---|---|
    | `block` | `16`, `1x16`, `16x16` | elements that share a scale |
    | `scale` | `e8m0`, `ue4m3`, `ue5m3`, any `ueXmY`, `f16`, `bf16`, `f32` | type of a block scale |
    | `tensor` | `f32`, `none` | scale of the whole tensor |
    | `zero` | `none`, `code`, `f16`, `f32` | zero point of a block |

    Elements are spelled `eXmY`, `intN`, `intNqF` (F fraction bits), `uintN`,
    `midriseN`, `nf4` or `codebook[...]` with 16 ascending values. A format that
    has a name prints by its name. Presets: `docs/Formats.md`.

    ```mlir
    #fp4 = #blockscale.format<nvfp4>
    #same = #blockscale.format<e2m1, block = 16, scale = ue4m3, tensor = f32>
    #weights = #blockscale.format<nvfp4, block = 16x16>
    func.func private @uses() attributes {a = #fp4, b = #same, c = #weights}
    ```
  }];
  let parameters = (ins
    AttrParameter<"::blockscale::Format", "the descriptor",
                  "const ::blockscale::Format &">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Builtin type of an element: a small float where the layout is exactly
    /// that one, else an integer as wide as a code.
    ::mlir::Type getElementType() const;
    /// Builtin type of a block scale; i8 for 8-bit floats that are not builtin.
    ::mlir::Type getScaleType() const;
    /// Builtin type of a zero point, i8 for codes; null if the format has none.
    ::mlir::Type getZeroPointType() const;

    int64_t getBlockRows() const { return getValue().blockRows; }
    int64_t getBlockCols() const { return getValue().blockCols; }
    bool hasTensorScale() const { return getValue().hasTensorScale; }
    bool hasZeroPoints() const {
      return getValue().zero != ::blockscale::ZeroPoint::None;
    }

    /// `extent` rounded up to whole blocks.
    int64_t getPaddedExtent(int64_t extent) const;
    /// Type of the elements that `source` becomes: the innermost extent is
    /// rounded up to whole blocks.
    ::mlir::RankedTensorType
    getElementsTypeOf(::mlir::RankedTensorType source) const;
    /// Shape of the scales of `shape` (of real values or of elements): one for
    /// each block, [..., rows, K / cols].
    ::llvm::SmallVector<int64_t>
    getScalesShapeOf(::llvm::ArrayRef<int64_t> shape) const;
    /// Type of the scales of `source`, in `layout` (null: row major).
    ::mlir::RankedTensorType
    getScalesTypeOf(::mlir::RankedTensorType source,
                    ::mlir::Attribute layout = {}) const;
    /// Type of the zero points of `source`, or null if the format has none.
    ::mlir::RankedTensorType
    getZeroPointsTypeOf(::mlir::RankedTensorType source) const;
  }];
}

def BlockScale_ScaleRuleAttr : BlockScale_Attr<"ScaleRule", "scale_rule"> {
  let summary = "how the scale of a block is chosen";
  let description = [{
    The estimator, the order of f32 operations and the rounding that turn the
    statistics of a block into its scale (rules scale_* of `docs/Spec.md`). A
    named rule, then `key = value` options that override its fields.

    ```mlir
    #te = #blockscale.scale_rule<two_level>
    #narrow = #blockscale.scale_rule<two_level, bound = 256>
    func.func private @uses() attributes {a = #te, b = #narrow}
    ```
  }];
  let parameters = (ins
    AttrParameter<"::blockscale::ScaleRule", "the descriptor",
                  "const ::blockscale::ScaleRule &">:$value);
  let hasCustomAssemblyFormat = 1;
}

def BlockScale_RoundingAttr : BlockScale_Attr<"Rounding", "rounding"> {
  let summary = "how a value between two codes becomes one of them";
  let description = [{
    `nearest_even` (ties to the even code), `nearest_away` (ties away from
    zero), `nearest_zero` (ties toward zero), `toward_zero`, or `stochastic`
    (away from zero with the probability of the discarded fraction).
  }];
  let parameters = (ins AttrParameter<"::blockscale::Rounding", "the mode">:$value);
  let hasCustomAssemblyFormat = 1;
  let returnType = "::blockscale::Rounding";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall =
      "::blockscale::RoundingAttr::get($_builder.getContext(), $0)";
}

def BlockScale_Tiled128x4Attr
    : BlockScale_Attr<"Tiled128x4", "tiled_128x4",
        [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "the scale layout that Blackwell's tensor cores read";
  let description = [{
    The encoding of a tensor of 8-bit scales: 128x4 tiles in row-major order,
    partial tiles padded with zeros. Inside a tile, scale (r, c) is at byte
    `(r % 32) * 16 + (r / 32) * 4 + c`. Dimensions before the last two are
    batches, each a whole number of tiles.

    ```mlir
    func.func @scales(%s: tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4>) {
      return
    }
    ```
  }];
}

#endif // BLOCKSCALE_ATTRS_TD
