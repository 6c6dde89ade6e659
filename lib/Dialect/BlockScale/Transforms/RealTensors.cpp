//===-- RealTensors.cpp - What layers do to unquantized tensors -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RealTensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace blockscale;

Value RealTensors::emptyLike(Value x, ArrayRef<int64_t> dims) {
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim : dims)
    sizes.push_back(tensor::getMixedSize(builder, loc, x, dim));
  return tensor::EmptyOp::create(builder, loc, sizes,
                                 typeOf(x).getElementType());
}

Value RealTensors::transpose(Value x) {
  Value init = emptyLike(x, {1, 0});
  return linalg::TransposeOp::create(builder, loc, x, init,
                                     ArrayRef<int64_t>{1, 0})
      ->getResult(0);
}

Value RealTensors::flattenRows(Value x) {
  int64_t rank = typeOf(x).getRank();
  if (rank == 2)
    return x;
  SmallVector<ReassociationIndices> groups(2);
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    groups[0].push_back(dim);
  groups[1].push_back(rank - 1);
  return tensor::CollapseShapeOp::create(builder, loc, x, groups);
}

Value RealTensors::convert(Value x, Type element) {
  RankedTensorType type = typeOf(x);
  if (type.getElementType() == element)
    return x;
  auto target = RankedTensorType::get(type.getShape(), element);
  if (element.getIntOrFloatBitWidth() >
      type.getElementType().getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, target, x);
  if (type.getElementType().isF32())
    return arith::TruncFOp::create(builder, loc, target, x);
  // Between bf16 and f16.
  return convert(convert(x, builder.getF32Type()), element);
}

Value RealTensors::timesColumns(Value x, ValueRange factors) {
  if (factors.empty())
    return x;
  Type element = typeOf(x).getElementType();
  x = convert(x, builder.getF32Type());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(typeOf(x).getRank()));
  for (Value columns : factors) {
    Value init = emptyLike(x, dims);
    Value wide = convert(columns, builder.getF32Type());
    Value stretched =
        linalg::BroadcastOp::create(builder, loc, wide, init,
                                    ArrayRef<int64_t>(dims).drop_back())
            ->getResult(0);
    x = arith::MulFOp::create(builder, loc, x, stretched);
  }
  return convert(x, element);
}

Value RealTensors::times(Value x, float factor) {
  if (factor == 1.0f)
    return x;
  RankedTensorType type = typeOf(x);
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(tensor::DimOp::create(builder, loc, x, dim));
  Value constant =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(factor));
  Value factors =
      tensor::SplatOp::create(builder, loc, constant, type.getShape(), sizes);
  return arith::MulFOp::create(builder, loc, x, factors);
}
