//===-- SimulationOps.td - fake_quantize, errors, masks ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_SIMULATION_OPS_TD
#define BLOCKSCALE_SIMULATION_OPS_TD

include "blockscale/Dialect/BlockScale/IR/QuantizationOps.td"

def BlockScale_FakeQuantizeOp : BlockScale_Op<"fake_quantize", [
    Pure, AttrSizedOperandSegments, AllTypesMatch<["source", "result"]>]> {
  let summary = "what is left of a tensor after quantization";
  let description = [{
    Q(x): `scale`, `quantize` and `dequantize` in one, without the tensors in
    between. With `residual` x - Q(x), one f32 subtraction, the error-feedback
    term of CAGE. The last block of a row may be partial, as with `pad`.

    ```mlir
    #fmt = #blockscale.format<nvfp4>
    func.func @both(%x: tensor<?x4096xbf16>, %seed: tensor<i64>)
        -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
      %q = blockscale.fake_quantize %x : tensor<?x4096xbf16>
          to #fmt by #blockscale.scale_rule<two_level> round stochastic seed(%seed : tensor<i64>)
      %r = blockscale.fake_quantize residual %x : tensor<?x4096xbf16>
          to #fmt by #blockscale.scale_rule<two_level>
      return %q, %r : tensor<?x4096xbf16>, tensor<?x4096xbf16>
    }
    ```
  }];
  let arguments = (ins
    BlockScale_RealTensor:$source,
    Optional<BlockScale_ScalarF32>:$amax,
    Optional<BlockScale_ScalarI64>:$seed,
    BlockScale_FormatAttr:$format,
    BlockScale_ScaleRuleAttr:$rule,
    DefaultValuedAttr<BlockScale_RoundingAttr,
                      "::blockscale::Rounding::NearestEven">:$rounding,
    UnitAttr:$residual);
  let results = (outs BlockScale_RealTensor:$result);
  let assemblyFormat = [{
    (`residual` $residual^)? $source `:` type($source)
    (`amax` `(` $amax^ `:` type($amax) `)`)?
    `to` qualified($format) `by` qualified($rule) (`round` `` $rounding^)?
    (`seed` `(` $seed^ `:` type($seed) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def BlockScale_QuantizationErrorOp : BlockScale_Op<"quantization_error", [
    Pure, AttrSizedOperandSegments]> {
  let summary = "sums of squares of a tensor and of its quantization error";
  let description = [{
    `[sum (x - Q(x))^2, sum x^2]`, Q as `blockscale.fake_quantize`, in one pass
    that writes nothing else. Differences are f32, squares and sums f64 in the
    order of error_c2. The signal-to-noise ratio is 10 log10 of the second over
    the first.

    ```mlir
    func.func @error(%w: tensor<4096x4096xbf16>) -> tensor<2xf64> {
      %e = blockscale.quantization_error %w : tensor<4096x4096xbf16>
          to #blockscale.format<mxfp4> by #blockscale.scale_rule<rceil> -> tensor<2xf64>
      return %e : tensor<2xf64>
    }
    ```
  }];
  let arguments = (ins
    BlockScale_RealTensor:$source,
    Optional<BlockScale_ScalarF32>:$amax,
    Optional<BlockScale_ScalarI64>:$seed,
    BlockScale_FormatAttr:$format,
    BlockScale_ScaleRuleAttr:$rule,
    DefaultValuedAttr<BlockScale_RoundingAttr,
                      "::blockscale::Rounding::NearestEven">:$rounding);
  let results = (outs BlockScale_SumsTensor:$result);
  let assemblyFormat = [{
    $source `:` type($source) (`amax` `(` $amax^ `:` type($amax) `)`)?
    `to` qualified($format) `by` qualified($rule) (`round` `` $rounding^)?
    (`seed` `(` $seed^ `:` type($seed) `)`)? attr-dict `->` type($result)
  }];
  let hasVerifier = 1;
}

def BlockScale_MaskClippedOp : BlockScale_Op<"mask_clipped", [
    Pure, AllTypesMatch<["gradient", "result"]>]> {
  let summary = "zero the gradient of values that quantization clipped";
  let description = [{
    `gradient` where `|source / scale| < limit`, 0 elsewhere (mask_c1): the
    straight-through estimate of Quartet and QuEST. `limit` is in units of the
    element type, 6 for e2m1.

    ```mlir
    func.func @masked(%dx: tensor<?x4096xf32>, %x: tensor<?x4096xbf16>,
                      %s: tensor<?x128xf8E8M0FNU>) -> tensor<?x4096xf32> {
      %r = blockscale.mask_clipped %dx of %x : tensor<?x4096xf32>, tensor<?x4096xbf16>
          scales(%s : tensor<?x128xf8E8M0FNU>) from #blockscale.format<mxfp4> {limit = 6.0 : f32}
      return %r : tensor<?x4096xf32>
    }
    ```
  }];
  let arguments = (ins
    BlockScale_RealTensor:$gradient,
    BlockScale_RealTensor:$source,
    BlockScale_ScalesTensor:$scales,
    Optional<BlockScale_ScalarF32>:$tensor_scale,
    BlockScale_FormatAttr:$format,
    F32Attr:$limit);
  let results = (outs BlockScale_RealTensor:$result);
  let assemblyFormat = [{
    $gradient `of` $source `:` type($gradient) `,` type($source)
    `scales` `(` $scales `:` type($scales) `)`
    (`tensor` `(` $tensor_scale^ `:` type($tensor_scale) `)`)?
    `from` qualified($format) attr-dict
  }];
  let hasVerifier = 1;
}

#endif // BLOCKSCALE_SIMULATION_OPS_TD
