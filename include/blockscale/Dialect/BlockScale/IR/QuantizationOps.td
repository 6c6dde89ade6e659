//===-- QuantizationOps.td - amax, scale, quantize, dequantize -*- td -*---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_QUANTIZATION_OPS_TD
#define BLOCKSCALE_QUANTIZATION_OPS_TD

include "blockscale/Dialect/BlockScale/IR/BlockScaleAttrs.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class BlockScale_Op<string mnemonic, list<Trait> traits = []>
    : Op<BlockScale_Dialect, mnemonic, traits>;

def BlockScale_AmaxOp : BlockScale_Op<"amax", [Pure, InferTypeOpAdaptor]> {
  let summary = "largest magnitude of a tensor";
  let description = [{
    The largest `|x|` of all elements, as f32. NaN is ignored; the amax of a
    tensor without numbers is 0 (scale_c9 of `docs/Spec.md`). Its use is a tensor scale that is measured at
    one time and held for later ones (`amax` of `blockscale.scale`).

    ```mlir
    func.func @measure(%x: tensor<?x64xbf16>) -> tensor<f32> {
      %a = blockscale.amax %x : tensor<?x64xbf16> -> tensor<f32>
      return %a : tensor<f32>
    }
    ```
  }];
  let arguments = (ins BlockScale_RealTensor:$source);
  let results = (outs BlockScale_ScalarF32:$result);
  let assemblyFormat = [{
    $source attr-dict `:` type($source) `->` type($result)
  }];
}

def BlockScale_ScaleOp : BlockScale_Op<"scale", [
    Pure, AttrSizedResultSegments, InferTypeOpAdaptorWithIsCompatible,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>]> {
  let summary = "block scales of a tensor, chosen by a scale rule";
  let description = [{
    Results, in this order, as the format and the rule demand:

    | result | type | present |
    |---|---|---|
    | scales | `[..., K / block]` of the format's scale type | always |
    | tensor scale | `tensor<f32>` | the format has `tensor = f32` |
    | zero points | shape of the scales | the format has zero points |
    | encode factors | shape of the scales, f32 | the rule encodes by multiplication |

    What is computed are the rules scale_* of `docs/Spec.md`.

    `amax` is the largest magnitude that the tensor scale is made for; without
    it the source's own is measured. The scales may be asked for in another
    layout, by the encoding of their type.

    K must be a multiple of the block, or `pad` says that the last block of
    each row is completed with zeros. Blocks of several rows may end early.

    ```mlir
    #fmt = #blockscale.format<nvfp4>
    func.func @scales(%x: tensor<?x4096xbf16>)
        -> (tensor<?x256xf8E4M3FN>, tensor<f32>, tensor<?x256xf32>) {
      %s, %g, %e = blockscale.scale %x : tensor<?x4096xbf16>
          to #fmt by #blockscale.scale_rule<two_level>
          -> tensor<?x256xf8E4M3FN>, tensor<f32>, tensor<?x256xf32>
      return %s, %g, %e : tensor<?x256xf8E4M3FN>, tensor<f32>, tensor<?x256xf32>
    }
    ```
  }];
  let arguments = (ins
    BlockScale_RealTensor:$source,
    Optional<BlockScale_ScalarF32>:$amax,
    BlockScale_FormatAttr:$format,
    BlockScale_ScaleRuleAttr:$rule,
    UnitAttr:$pad);
  let results = (outs
    BlockScale_ScalesTensor:$scales,
    Optional<BlockScale_ScalarF32>:$tensor_scale,
    Optional<BlockScale_ScalesTensor>:$zeros,
    Optional<BlockScale_FactorsTensor>:$encode);
  let assemblyFormat = [{
    $source `:` type($source) (`amax` `(` $amax^ `:` type($amax) `)`)?
    `to` qualified($format) `by` qualified($rule) attr-dict `->`
    custom<ScaleResults>(ref($format), ref($rule), type($scales),
                         type($tensor_scale), type($zeros), type($encode))
  }];
  let builders = [
    /// Infers the result types; `layout` is the encoding of the scales.
    OpBuilder<(ins "::mlir::Value":$source, "::mlir::Value":$amax,
                   "::blockscale::FormatAttr":$format,
                   "::blockscale::ScaleRuleAttr":$rule,
                   CArg<"bool", "false">:$pad,
                   CArg<"::mlir::Attribute", "{}">:$layout)>];
  let hasVerifier = 1;
}

def BlockScale_QuantizeOp : BlockScale_Op<"quantize", [
    Pure, AttrSizedOperandSegments, InferTypeOpAdaptorWithIsCompatible,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>]> {
  let summary = "elements of a tensor, given its scales";
  let description = [{
    Either `encode`, the factors that `blockscale.scale` returned beside the
    scales: each value is multiplied by the factor of its block and rounded. Or
    `scales` (and `tensor`, the tensor scale, where the format has one): each
    value is divided by its block's decoded scale and rounded. A format with
    zero points takes `zeros` as well.

    Rounding saturates always. What is computed are the rules quantize_* of
    `docs/Spec.md`. Stochastic rounding draws its bits from Philox
    4x32-10, with the `seed` as key and the linear index of the element as
    counter: the same seed gives the same elements on every target.

    With `pad` the innermost extent of the result is K rounded up to whole
    blocks; the elements there encode zero.

    ```mlir
    #fmt = #blockscale.format<nvfp4>
    func.func @elements(%x: tensor<?x4096xbf16>, %e: tensor<?x256xf32>,
                        %s: tensor<?x256xf8E4M3FN>, %g: tensor<f32>,
                        %seed: tensor<i64>)
        -> (tensor<?x4096xf4E2M1FN>, tensor<?x4096xf4E2M1FN>) {
      %a = blockscale.quantize %x : tensor<?x4096xbf16>
          encode(%e : tensor<?x256xf32>)
          to #fmt round stochastic seed(%seed : tensor<i64>)
          -> tensor<?x4096xf4E2M1FN>
      %b = blockscale.quantize %x : tensor<?x4096xbf16>
          scales(%s : tensor<?x256xf8E4M3FN>) tensor(%g : tensor<f32>)
          to #fmt -> tensor<?x4096xf4E2M1FN>
      return %a, %b : tensor<?x4096xf4E2M1FN>, tensor<?x4096xf4E2M1FN>
    }
    ```
  }];
  let arguments = (ins
    BlockScale_RealTensor:$source,
    Optional<BlockScale_ScalesTensor>:$scales,
    Optional<BlockScale_ScalarF32>:$tensor_scale,
    Optional<BlockScale_ScalesTensor>:$zeros,
    Optional<BlockScale_FactorsTensor>:$encode,
    Optional<BlockScale_ScalarI64>:$seed,
    BlockScale_FormatAttr:$format,
    OptionalAttr<BlockScale_RoundingAttr>:$rounding_mode,
    UnitAttr:$pad);
  let results = (outs BlockScale_ElementsTensor:$elements);
  let assemblyFormat = [{
    $source `:` type($source)
    (`scales` `(` $scales^ `:` type($scales) `)`)?
    (`tensor` `(` $tensor_scale^ `:` type($tensor_scale) `)`)?
    (`zeros` `(` $zeros^ `:` type($zeros) `)`)?
    (`encode` `(` $encode^ `:` type($encode) `)`)?
    `to` qualified($format) (`round` `` $rounding_mode^)?
    (`seed` `(` $seed^ `:` type($seed) `)`)?
    attr-dict `->` type($elements)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$source, "::mlir::Value":$scales,
                   "::mlir::Value":$tensor_scale, "::mlir::Value":$zeros,
                   "::mlir::Value":$encode, "::mlir::Value":$seed,
                   "::blockscale::FormatAttr":$format,
                   "::blockscale::Rounding":$rounding,
                   CArg<"bool", "false">:$pad)>];
  let extraClassDeclaration = [{
    /// The rounding asked for, or nearest_even.
    ::blockscale::Rounding getRounding() {
      return getRoundingMode().value_or(::blockscale::Rounding::NearestEven);
    }
  }];
  let hasVerifier = 1;
}

def BlockScale_DequantizeOp : BlockScale_Op<"dequantize", [
    Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>]> {
  let summary = "real values of elements and their scales";
  let description = [{
    `element * block scale * tensor scale`, from left to right, or `(code - zero
    point) * block scale`, computed in f32 and then rounded to the type of the
    result (dequantize_c1 of `docs/Spec.md`).

    ```mlir
    #fmt = #blockscale.format<nvfp4>
    func.func @values(%q: tensor<?x4096xf4E2M1FN>, %s: tensor<?x256xf8E4M3FN>,
                      %g: tensor<f32>) -> tensor<?x4096xbf16> {
      %x = blockscale.dequantize %q : tensor<?x4096xf4E2M1FN>
          scales(%s : tensor<?x256xf8E4M3FN>) tensor(%g : tensor<f32>)
          from #fmt -> tensor<?x4096xbf16>
      return %x : tensor<?x4096xbf16>
    }
    ```
  }];
  let arguments = (ins
    BlockScale_ElementsTensor:$elements,
    BlockScale_ScalesTensor:$scales,
    Optional<BlockScale_ScalarF32>:$tensor_scale,
    Optional<BlockScale_ScalesTensor>:$zeros,
    BlockScale_FormatAttr:$format);
  let results = (outs BlockScale_RealTensor:$result);
  let assemblyFormat = [{
    $elements `:` type($elements)
    `scales` `(` $scales `:` type($scales) `)`
    (`tensor` `(` $tensor_scale^ `:` type($tensor_scale) `)`)?
    (`zeros` `(` $zeros^ `:` type($zeros) `)`)?
    `from` qualified($format) attr-dict `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // BLOCKSCALE_QUANTIZATION_OPS_TD
