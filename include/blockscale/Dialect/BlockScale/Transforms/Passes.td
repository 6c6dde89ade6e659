//===-- Passes.td - Target-independent blockscale passes ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TRANSFORMS_PASSES_TD
#define BLOCKSCALE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FoldRoundTripsPass : Pass<"blockscale-fold-round-trips"> {
  let summary = "replace quantize(dequantize(x)) in one format by x";
  let description = [{
    Removes the work, and the memory traffic, of a tensor that is dequantized
    only to be quantized again in the same format.

    Before: `quantize(dequantize(q, scales), scales)`, same format, same scales,
    tensor scale and zero points, through an f32 or bf16 tensor, rounded to
    nearest. After: `q`. An element between two neighbours would need an error
    of half a step to move, and the round trip makes one of at most 2^-8 of the
    element, so it comes back as itself. This is a pass of its own and not a
    canonicalization because these do not:

    * elements of blocks whose scale is 0 or NaN (they become 0, or NaN), or
      whose float zero point is above 2^20;
    * elements whose value over- or underflows the tensor in between;
    * the most negative code of a symmetric integer, and NaN codes other than
      the canonical one, none of which a quantizer emits.

    Truncation (`round toward_zero`) would move elements that a rounding error
    put below their code, and stochastic rounding is a draw that the program
    asked for: neither is folded. Nor are codebooks whose neighbours are closer
    than 2^-7, and float zero points through bf16.

    With `fresh-scales`, also quantizations of `dequantize(q, scales)` whose
    scales a `blockscale.scale` of that same tensor chooses anew: `scales` and
    `q` take the place of both. A fresh choice may differ (the largest element
    of a block need not be the format's largest), so the values change by up to
    one rounding; this way they do not change at all.
  }];
  let options = [
    Option<"freshScales", "fresh-scales", "bool", /*default=*/"false",
           "Also fold where the scales are chosen anew.">
  ];
  let dependentDialects = ["::blockscale::BlockScaleDialect"];
}

#endif // BLOCKSCALE_TRANSFORMS_PASSES_TD
