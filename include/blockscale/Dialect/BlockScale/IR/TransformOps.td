//===-- TransformOps.td - rotate, relayout, balance --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TRANSFORM_OPS_TD
#define BLOCKSCALE_TRANSFORM_OPS_TD

include "blockscale/Dialect/BlockScale/IR/QuantizationOps.td"

def BlockScale_RotateOp : BlockScale_Op<"rotate", [
    Pure, AttrSizedOperandSegments, InferTypeOpAdaptorWithIsCompatible,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>]> {
  let summary = "orthonormal rotation of blocks";
  let description = [{
    Each run of `size` values along `axis` (the last one if not given) becomes
    `(x * signs) H / sqrt(size)`, H being Sylvester's Hadamard matrix; with
    `inverse`, `signs * (x H / sqrt(size))`. Computed in f32 and rounded once to
    the type of the source. `size` is a power of two from 2 to 256 and divides
    the extent of the axis. The order of operations is rotate_c3 of
    `docs/Spec.md`.

    The `size` signs, each 1 or -1, are an attribute or, if they change from
    call to call, an operand. A rotation and its inverse cancel.

    A `matrix` takes the place of H / sqrt(size); the size is then any number
    from 2 to 256. The matrix is orthogonal: that is the program's promise. The
    inverse multiplies by its transpose.

    ```mlir
    func.func @rotated(%x: tensor<?x4096xbf16>, %s: tensor<16xi8>)
        -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
      %a = blockscale.rotate %x {size = 4, axis = 1, signs = array<i8: 1, -1, 1, 1>} : tensor<?x4096xbf16>
      %b = blockscale.rotate %a signs(%s : tensor<16xi8>) {size = 16, inverse} : tensor<?x4096xbf16>
      return %a, %b : tensor<?x4096xbf16>, tensor<?x4096xbf16>
    }
    ```
  }];
  let arguments = (ins
    BlockScale_RealTensor:$source,
    Optional<BlockScale_SignsTensor>:$sign_values,
    Optional<BlockScale_MatrixTensor>:$matrix,
    I64Attr:$size,
    OptionalAttr<I64Attr>:$axis,
    OptionalAttr<DenseI8ArrayAttr>:$signs,
    UnitAttr:$inverse);
  let results = (outs BlockScale_RealTensor:$result);
  let hasCustomAssemblyFormat = 1;
  let builders = [
    /// By Hadamard's matrix.
    OpBuilder<(ins "::mlir::Value":$source, "::mlir::Value":$sign_values,
                   "int64_t":$size, "::mlir::IntegerAttr":$axis,
                   "::mlir::DenseI8ArrayAttr":$signs, "bool":$inverse)>];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Whether any sign may be -1.
    bool hasSigns() { return getSignValues() || getSigns(); }
    /// Whether `other` multiplies by the same signs and matrix; axes and
    /// directions may differ.
    bool hasSameFactors(RotateOp other);
    /// The axis, the last one if the attribute is absent.
    int64_t getRotationAxis();
  }];
}

def BlockScale_RelayoutOp : BlockScale_Op<"relayout", [
    Pure, DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                                    ["reifyResultShapes"]>]> {
  let summary = "the same scales in another layout";
  let description = [{
    The layout is the encoding of the tensor's type: none (row major) or
    `#blockscale.tiled_128x4`. Values, shape and element type do not change.

    ```mlir
    func.func @tile(%s: tensor<200x10xf8E4M3FN>)
        -> tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4> {
      %t = blockscale.relayout %s : tensor<200x10xf8E4M3FN>
          -> tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4>
      return %t : tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4>
    }
    ```
  }];
  let arguments = (ins BlockScale_ScalesTensor:$source);
  let results = (outs BlockScale_ScalesTensor:$result);
  let assemblyFormat = [{
    $source attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def BlockScale_BalanceOp : BlockScale_Op<"balance", [
    Pure, DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                                    ["reifyResultShapes"]>]> {
  let summary = "a weight with columns of even spread, and their factors";
  let description = [{
    SINQ's normalisation: in tiles of all rows and `block` columns, rows and
    columns are divided by factors, in turn, until their standard deviations are
    about equal; at most `steps` times (balance_c1 to balance_c5 in
    `docs/Spec.md`). The results are the weight divided by the factors of its
    columns, and these factors. What they take from a weight, `columns` of
    `blockscale.linear` gives to x. The factors of rows need not be known: the
    scales of blocks along a row absorb them.

    A tile with a NaN or an infinity is left as it is.

    ```mlir
    func.func @balanced(%w: tensor<1024x4096xbf16>) -> (tensor<1024x4096xf32>, tensor<4096xf32>) {
      %b, %c = blockscale.balance %w {block = 64, steps = 16} : tensor<1024x4096xbf16>
          -> tensor<1024x4096xf32>, tensor<4096xf32>
      return %b, %c : tensor<1024x4096xf32>, tensor<4096xf32>
    }
    ```
  }];
  let arguments = (ins
    BlockScale_RealTensor:$source, I64Attr:$block, I64Attr:$steps);
  let results = (outs
    BlockScale_RealTensor:$balanced, BlockScale_FactorsTensor:$columns);
  let assemblyFormat = [{
    $source attr-dict `:` type($source) `->` type($balanced) `,` type($columns)
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "int64_t":$block,
                                 "int64_t":$steps)>];
}

#endif // BLOCKSCALE_TRANSFORM_OPS_TD
