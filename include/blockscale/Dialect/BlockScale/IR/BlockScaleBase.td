//===-- BlockScaleBase.td - Dialect and type constraints ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_BASE_TD
#define BLOCKSCALE_BASE_TD

include "mlir/IR/OpBase.td"

def BlockScale_Dialect : Dialect {
  let name = "blockscale";
  let cppNamespace = "::blockscale";
  let summary = "Tensors whose elements share a scale per block";
  let description = [{
    A block-scaled tensor is a small group of ordinary tensors: *elements*
    (narrow floats or integers), *scales* (one for each block of elements) and,
    where the format has them, a *tensor scale* and *zero points*. What the bits
    mean is said once, by the `#blockscale.format` attribute on the op:

    * `value = element * block scale * tensor scale`, or
    * `value = (code - zero point) * block scale`.

    Blocks run along the innermost dimension, which must be static. Every other
    dimension may be dynamic.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// Tensor constraints
//===----------------------------------------------------------------------===//

defvar rankedTensor = "::llvm::cast<::mlir::RankedTensorType>($_self)";
defvar noLayout = CPred<"!::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding()">;
defvar notScalar = CPred<rankedTensor # ".getRank() >= 1">;

def BlockScale_RealTensor
    : RankedTensorOf<[F32, BF16, F16], [noLayout, notScalar],
                     "tensor of f32, bf16 or f16 of rank 1 or more">;
def BlockScale_ElementsTensor
    : RankedTensorOf<[AnyFloat, AnyInteger], [noLayout, notScalar],
                     "tensor of floats or integers of rank 1 or more">;
def BlockScale_ScalesTensor
    : RankedTensorOf<[AnyFloat, AnyInteger], [notScalar],
                     "tensor of block scales of rank 1 or more">;
def BlockScale_FactorsTensor
    : RankedTensorOf<[F32], [noLayout, notScalar],
                     "tensor of f32 of rank 1 or more">;
def BlockScale_ScalarF32
    : RankedTensorOf<[F32], [noLayout, CPred<rankedTensor # ".getRank() == 0">],
                     "tensor<f32>">;
def BlockScale_ScalarI64
    : RankedTensorOf<[I64], [noLayout, CPred<rankedTensor # ".getRank() == 0">],
                     "tensor<i64>">;
def BlockScale_SumsTensor
    : RankedTensorOf<[F64], [noLayout,
        CPred<rankedTensor # ".getShape() == ::llvm::ArrayRef<int64_t>({2})">],
                     "tensor<2xf64>">;
def BlockScale_OperandTensor
    : RankedTensorOf<[AnyFloat, AnyInteger], [noLayout],
                     "tensor of floats or integers">;
def BlockScale_SignsTensor
    : RankedTensorOf<[I8], [noLayout, CPred<rankedTensor # ".getRank() == 1">],
                     "tensor<Nxi8>">;
def BlockScale_MatrixTensor
    : RankedTensorOf<[F32], [noLayout, CPred<rankedTensor # ".getRank() == 2">],
                     "tensor<NxNxf32>">;

#endif // BLOCKSCALE_BASE_TD
