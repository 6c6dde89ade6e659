//===-- MatmulOps.td - scaled_matmul and its epilogue ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_MATMUL_OPS_TD
#define BLOCKSCALE_MATMUL_OPS_TD

include "blockscale/Dialect/BlockScale/IR/QuantizationOps.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def BlockScale_ScaledMatmulOp : BlockScale_Op<"scaled_matmul", [
    Pure, AttrSizedOperandSegments, IsolatedFromAbove,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>]> {
  let summary = "matrix product of block-scaled tensors, with an epilogue";
  let description = [{
    `D[m, n] = epilogue(alpha * sum over k of A[m, k] * B[n, k] + C[m, n])`,
    by the rules matmul_* of `docs/Spec.md`.

    | operand | shape | |
    |---|---|---|
    | lhs | `[batch..., M, K]` | elements, scales[, tensor scale][, zero points] `as` a format, or plain bf16, f16 or f32 |
    | rhs | `[batch..., N, K]`, or `[N, K]` shared by the batch | same |
    | alpha | `tensor<f32>` | optional factor |
    | acc | `[batch..., M, N]` | optional C, of f32, bf16 or f16 |
    | result | `[batch..., M, N]` | f32, bf16 or f16 |

    The sides may have different formats and blocks; K must agree. Padded
    elements count: K is the extent of the element tensors.

    The epilogue maps the f32 accumulator to the result, one element at a time.
    Its operands broadcast to the result as NumPy does, from the right:
    `tensor<N>` is a row, `tensor<Mx1>` a column, `tensor<f32>` one value. It
    sees their elements after the accumulator, is free of side effects and uses
    no value from outside. Without one, the accumulator is rounded to the type
    of the result.

    ```mlir
    #fmt = #blockscale.format<nvfp4>
    func.func @linear(%aq: tensor<?x4096xf4E2M1FN>, %as: tensor<?x256xf8E4M3FN>,
                      %ag: tensor<f32>, %w: tensor<1024x4096xf4E2M1FN>,
                      %ws: tensor<1024x256xf8E4M3FN>, %wg: tensor<f32>,
                      %bias: tensor<1024xf32>) -> tensor<?x1024xbf16> {
      %y = blockscale.scaled_matmul
          lhs(%aq, %as, %ag : tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN>, tensor<f32> as #fmt)
          rhs(%w, %ws, %wg : tensor<1024x4096xf4E2M1FN>, tensor<1024x256xf8E4M3FN>, tensor<f32> as #fmt)
          epilogue(%bias : tensor<1024xf32>) {
      ^bb0(%acc: f32, %b: f32):
        %s = arith.addf %acc, %b : f32
        %t = arith.truncf %s : f32 to bf16
        blockscale.yield %t : bf16
      } : tensor<?x1024xbf16>
      return %y : tensor<?x1024xbf16>
    }
    ```
  }];
  let arguments = (ins
    BlockScale_ElementsTensor:$lhs,
    Optional<BlockScale_ScalesTensor>:$lhs_scales,
    Optional<BlockScale_ScalarF32>:$lhs_tensor_scale,
    Optional<BlockScale_ScalesTensor>:$lhs_zeros,
    BlockScale_ElementsTensor:$rhs,
    Optional<BlockScale_ScalesTensor>:$rhs_scales,
    Optional<BlockScale_ScalarF32>:$rhs_tensor_scale,
    Optional<BlockScale_ScalesTensor>:$rhs_zeros,
    Optional<BlockScale_ScalarF32>:$alpha,
    Optional<BlockScale_RealTensor>:$acc,
    Variadic<BlockScale_OperandTensor>:$epilogue_operands,
    OptionalAttr<BlockScale_FormatAttr>:$lhs_format,
    OptionalAttr<BlockScale_FormatAttr>:$rhs_format);
  let results = (outs BlockScale_RealTensor:$result);
  let regions = (region MaxSizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    `lhs` `(` custom<MatmulSide>($lhs, type($lhs), $lhs_scales,
        type($lhs_scales), $lhs_tensor_scale, type($lhs_tensor_scale),
        $lhs_zeros, type($lhs_zeros), $lhs_format) `)`
    `rhs` `(` custom<MatmulSide>($rhs, type($rhs), $rhs_scales,
        type($rhs_scales), $rhs_tensor_scale, type($rhs_tensor_scale),
        $rhs_zeros, type($rhs_zeros), $rhs_format) `)`
    (`alpha` `(` $alpha^ `:` type($alpha) `)`)?
    (`acc` `(` $acc^ `:` type($acc) `)`)?
    `` custom<Epilogue>($epilogue_operands, type($epilogue_operands), $epilogue)
    attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    bool hasEpilogue() { return !getEpilogue().empty(); }
    /// The contraction extent K, padding included.
    int64_t getContraction() {
      return getLhs().getType().getShape().back();
    }
    /// Whether every batch of the lhs meets the same rhs.
    bool isRhsShared() {
      return getRhs().getType().getRank() < getLhs().getType().getRank();
    }
  }];
}

def BlockScale_YieldOp : BlockScale_Op<"yield", [
    Pure, ReturnLike, Terminator, HasParent<"ScaledMatmulOp">]> {
  let summary = "the element of the result that an epilogue computed";
  let description = [{
    Ends the epilogue of a `blockscale.scaled_matmul`.

    ```mlir
    func.func @relu(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>) -> tensor<8x16xf32> {
      %y = blockscale.scaled_matmul lhs(%x : tensor<8x64xf32>) rhs(%w : tensor<16x64xf32>) epilogue {
      ^bb0(%acc: f32):
        %zero = arith.constant 0.0 : f32
        %r = arith.maximumf %acc, %zero : f32
        blockscale.yield %r : f32
      } : tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }
    ```
  }];
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // BLOCKSCALE_MATMUL_OPS_TD
