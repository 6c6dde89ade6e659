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

def FuseRotationsPass : Pass<"blockscale-fuse-rotations"> {
  let summary = "rotations cancel, merge, move and fold into constants";
  let description = [{
    Leaves as few rotations as the program allows, as near to the quantizers as
    they can get. With R a rotation, of any size, signs or matrix:

    | before | after | |
    |---|---|---|
    | `rotate` and its inverse | nothing | |
    | three of a size and axis, two of which are a diagonal of signs | one | |
    | by m and n along both parts of a split dimension | by m n | H_m (x) H_n = H_mn |
    | `rotate` of a constant | a constant | same bits |
    | `transpose(x R)`, reshapes that keep the axis, `tensor.cast` | `transpose(x) R` | same bits |
    | `-(x R)` | `(-x) R` | same bits, but for the signs of zeros |
    | `x R + y R`, `x R - y R` | `(x + y) R` | |
    | `(x R) * f`, `(x R) / f`, f equal along the axis | `(x * f) R` | same bits where f is a power of two, in range |
    | `scaled_matmul` of x R and w R, both plain | of x and w | unless `remove-pairs=false` |

    Products may be written by arith, by linalg.mul and linalg.div, or as the
    body of a linalg.generic. Where nothing is said, both are equal in real
    arithmetic, and differ by the roundings of the rotations that went. A remark
    says why a rotation stays: something that is not linear, another user, an
    axis that is reshaped. None moves into a loop.

    Operands that are quantized stay rotated, since that changes their
    quantization error; a remark says if the rotations cancel in the exact
    product. `introduce=n` adds such a pair to every product of two tensors
    that are quantized for it alone, by scales without a held amax, with signs
    by `introduce-seed`.
  }];
  let options = [
    Option<"removePairs", "remove-pairs", "bool", /*default=*/"true",
           "Remove equal rotations of both plain sides of a product.">,
    Option<"introduceSize", "introduce", "int64_t", /*default=*/"0",
           "Rotate both sides of quantized products by this size.">,
    Option<"remarks", "remarks", "bool", /*default=*/"true",
           "Say why rotations stay.">,
    Option<"introduceSeed", "introduce-seed", "uint64_t", /*default=*/"0",
           "Seed of the signs of introduced rotations (random_c5); 0: none.">
  ];
  let dependentDialects = [
    "::blockscale::BlockScaleDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

def ChooseRoundingPass
    : Pass<"blockscale-choose-rounding", "::mlir::ModuleOp"> {
  let summary = "choose a rounding by the role of each quantized operand";
  let description = [{
    A `quantize` without `round` that has a `blockscale.role` gets one:
    `stochastic` if its role is listed, else `nearest_even`. One with `round`
    is never changed, and one without a role rounds to `nearest_even` as ever.

    Before: `quantize %dy ... to #fmt {blockscale.role = #blockscale.role<wgrad_dy>}`.
    After: `quantize %dy ... to #fmt round stochastic seed(%s)`, with
    `%s = derive_seed %base {site = n}`, another n for each. The base is the
    seed that already stands on the quantize, then used as it is; else the
    argument of the function with the attribute `blockscale.seed`; else the
    option `seed`; else an error. A seed that several operations draw by is a
    base, too. Sites are from 32768 on, and none is used twice in the module.
    In a loop that does not change the seed, `derive_seed` gets the number of
    the iteration; calls that share a seed get one each (random_c6).

    Operations that were written to draw by the same seed, or in every iteration
    of a loop by one, are remarked upon.
  }];
  let options = [
    ListOption<"stochastic", "stochastic", "std::string",
               "Roles that round stochastically (default: dgrad_dy, wgrad_dy); "
               "`none` for none.">,
    Option<"baseSeed", "seed", "int64_t", /*default=*/"-1",
           "Base seed of functions without a seed argument; -1: none.">
  ];
  let dependentDialects = ["::blockscale::BlockScaleDialect",
                           "::mlir::arith::ArithDialect"];
}

def ApplyRecipePass : Pass<"blockscale-apply-recipe", "::mlir::ModuleOp"> {
  let summary = "expand linear layers into what their recipes ask for";
  let description = [{
    Before: `blockscale.linear`. After: none; for each product, rotations along
    the contraction, `scale`, `quantize` with a role and the recipe's rounding,
    `scaled_matmul` with alpha and epilogue. `docs/Recipes.md` shows each
    recipe's expansion.

    Random signs and stochastic rounding draw by seeds derived from the layer's
    `seed`: site 16 * layer + number, the number being 0, 1 or 2 for the signs
    of the three products, 3 to 8 for the roundings of the six operands
    (recipe_c6). Two products of one role that share seed and layer are an
    error. In loops and by calls no two draws share a seed (random_c6).

    The extent of a contraction must be static, and a multiple of the rotation
    and of the block: a weight gradient needs a static number of rows.
  }];
  let dependentDialects = [
    "::blockscale::BlockScaleDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FoldConstantsPass : Pass<"blockscale-fold-constants"> {
  let summary = "quantize constants at compile time";
  let description = [{
    `amax`, `scale`, `quantize`, `dequantize`, `fake_quantize`, `balance`,
    `relayout` and `linalg.transpose` of constants become constants, by the host
    evaluation of the same numerics that kernels are made of: the same bits. A
    quantize that draws is folded if its seed is constant.

    Before: a constant weight, its `scale` and `quantize`. After: constant
    elements and scales; the weight is gone unless something else uses it.
    Results of 16 KiB or more are resources (`dense_resource`), and large
    constants are expected as such: they are neither uniqued nor printed as
    numbers. A resource that is not loaded, or of another size than its type, is
    left alone.
  }];
  let dependentDialects = ["::blockscale::BlockScaleDialect",
                           "::mlir::arith::ArithDialect"];
}

def ChooseLayoutsPass : Pass<"blockscale-choose-layouts"> {
  let summary = "make scales in the layout that products read";
  let description = [{
    With `scales=tiled_128x4` or `scales=linear`, the scales of every
    `scaled_matmul` get this layout where they are made: by the `scale` op, whose
    result has it from then on, or in a constant. Scales that come from
    elsewhere are converted by one `relayout`, which all products share. With
    `scales=any` products read whatever layout there is.

    Before: `scale -> relayout -> scaled_matmul`, or any chain of conversions.
    After: `scale -> scaled_matmul`. What needs the scales in the layout they
    had (a `return`, say) gets them by one `relayout`; quantize and dequantize
    read every layout. Other chains of conversions become one, or none, and equal
    ones are done once, right after the scales are made. Scales
    that are not a byte wide, or have rank 1, have no tiled layout and stay
    linear. With a dynamic number of rows, which tiles do not tell, tiled scales
    from elsewhere stay tiled, and a `scale` whose linear result something else
    needs keeps it: the products get a `relayout`.
  }];
  let options = [
    Option<"scales", "scales", "std::string", /*default=*/"\"any\"",
           "The layout of scales: any, linear or tiled_128x4.">
  ];
  let dependentDialects = ["::blockscale::BlockScaleDialect",
                           "::mlir::arith::ArithDialect"];
}

def PrintRecipePass : Pass<"blockscale-print-recipe"> {
  let summary = "print the recipes of linear layers as tables and as a graph";
  let description = [{
    For every recipe in the module, or the one named by `preset`, prints to
    standard error a table with a line per quantize site: format, scale rule,
    rounding, rotation. `dot` names a file for a Graphviz drawing of the three
    products. The module does not change.
  }];
  let options = [
    Option<"preset", "preset", "std::string", /*default=*/"",
           "Print this preset, whatever the module holds; `all` for each.">,
    Option<"dotPath", "dot", "std::string", /*default=*/"",
           "Also write a Graphviz file here.">
  ];
  let dependentDialects = ["::blockscale::BlockScaleDialect"];
}

#endif // BLOCKSCALE_TRANSFORMS_PASSES_TD
