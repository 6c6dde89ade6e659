//===-- LinearOps.td - A linear layer and its recipe -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LINEAR_OPS_TD
#define BLOCKSCALE_LINEAR_OPS_TD

include "blockscale/Dialect/BlockScale/IR/QuantizationOps.td"
include "blockscale/Dialect/BlockScale/IR/RecipeAttrs.td"

def BlockScale_LinearOp : BlockScale_Op<"linear", [
    Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "one product of a linear layer, quantized by a recipe";
  let description = [{
    | role | operands | result | `with` |
    |---|---|---|---|
    | `forward` | x `[batch..., M, K]`, w `[N, K]` | y = x w^T `[batch..., M, N]` | |
    | `dgrad` | dy `[batch..., M, N]`, w `[N, K]` | dx = dy w `[batch..., M, K]` | x |
    | `wgrad` | dy `[batch..., M, N]`, x `[batch..., M, K]` | dw = dy^T x `[N, K]` | w |

    `-blockscale-apply-recipe` expands it into the rotations, scales,
    quantizations and the scaled_matmul that the recipe asks for. All of them
    are functions of the operands: what a gradient needs of the forward product
    is computed again, and shared where both are in one function.

    | operand | of | |
    |---|---|---|
    | `with` | dgrad, wgrad | the other forward operand, for a recipe with masks |
    | `bias` | forward | `[N]`, added to y |
    | `columns` | all | `[K]`, multiplies the columns of x: smoothing, noise, the second scale of a weight |
    | `low_rank` | forward, dgrad | `[R, K]` and `[N, R]`: y += (x down^T) up^T, dx += (dy up) down |
    | `held` | all | amax of both operands from an earlier step, and the step's number; the results after the first are the amax to hold |
    | `seed` | all | base of random signs and of stochastic rounding |

    The products of a layer and step share a `seed` and a `layer`, an attribute
    from 0 (if absent) to 2047. Others differ in one of them.

    ```mlir
    #te = #blockscale.recipe<te_nvfp4>
    func.func @layer(%x: tensor<256x512xbf16>, %w: tensor<128x512xbf16>, %b: tensor<128xf32>,
                     %dy: tensor<256x128xbf16>, %seed: tensor<i64>)
        -> (tensor<256x128xbf16>, tensor<256x512xbf16>, tensor<128x512xf32>) {
      %y = blockscale.linear forward(%x, %w : tensor<256x512xbf16>, tensor<128x512xbf16>)
          bias(%b : tensor<128xf32>) recipe #te -> tensor<256x128xbf16>
      %dx = blockscale.linear dgrad(%dy, %w : tensor<256x128xbf16>, tensor<128x512xbf16>)
          seed(%seed : tensor<i64>) recipe #te -> tensor<256x512xbf16>
      %dw = blockscale.linear wgrad(%dy, %x : tensor<256x128xbf16>, tensor<256x512xbf16>)
          seed(%seed : tensor<i64>) recipe #te -> tensor<128x512xf32>
      return %y, %dx, %dw : tensor<256x128xbf16>, tensor<256x512xbf16>, tensor<128x512xf32>
    }
    ```
  }];
  let arguments = (ins
    BlockScale_LinearRoleAttr:$role,
    BlockScale_RealTensor:$lhs,
    BlockScale_RealTensor:$rhs,
    Optional<BlockScale_RealTensor>:$other,
    Optional<BlockScale_RealTensor>:$bias,
    Optional<BlockScale_RealTensor>:$columns,
    Optional<BlockScale_RealTensor>:$down,
    Optional<BlockScale_RealTensor>:$up,
    Optional<BlockScale_ScalarF32>:$lhs_amax,
    Optional<BlockScale_ScalarF32>:$rhs_amax,
    Optional<BlockScale_ScalarI64>:$step,
    Optional<BlockScale_ScalarI64>:$seed,
    BlockScale_RecipeAttr:$recipe,
    OptionalAttr<I64Attr>:$layer);
  let results = (outs
    BlockScale_RealTensor:$result,
    Optional<BlockScale_ScalarF32>:$lhs_held,
    Optional<BlockScale_ScalarF32>:$rhs_held);
  let assemblyFormat = [{
    `` $role `` `(` $lhs `,` $rhs `:` type($lhs) `,` type($rhs) `)`
    (`with` `(` $other^ `:` type($other) `)`)?
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`columns` `(` $columns^ `:` type($columns) `)`)?
    (`low_rank` `(` $down^ `,` $up `:` type($down) `,` type($up) `)`)?
    (`held` `(` $lhs_amax^ `,` $rhs_amax `,` $step `:` type($lhs_amax) `,`
        type($rhs_amax) `,` type($step) `)`)?
    (`seed` `(` $seed^ `:` type($seed) `)`)?
    `recipe` qualified($recipe) attr-dict `->` type($result)
    (`,` type($lhs_held)^ `,` type($rhs_held))?
  }];
  let hasVerifier = 1;
}

#endif // BLOCKSCALE_LINEAR_OPS_TD
