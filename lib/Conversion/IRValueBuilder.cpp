//===-- IRValueBuilder.cpp - The numerics as IR
//-----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Conversion/IRValueBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;

Type blockscale::withLanesOf(Type element, Type like) {
  if (auto vector = dyn_cast<VectorType>(like))
    return VectorType::get(vector.getShape(), element);
  return element;
}

Value IRValueBuilder::i32(uint32_t value) {
  return arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value IRValueBuilder::f32(float value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF32FloatAttr(value));
}

Value IRValueBuilder::laneConstants(const std::vector<uint32_t> &values) {
  auto type = VectorType::get({static_cast<int64_t>(values.size())},
                              builder.getI32Type());
  return arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<uint32_t>(values)));
}

int64_t IRValueBuilder::lanes(Value a) {
  auto type = dyn_cast<VectorType>(a.getType());
  return type ? type.getDimSize(0) : 1;
}

Value IRValueBuilder::broadcast(Value scalar, int64_t lanes) {
  auto type = VectorType::get({lanes}, scalar.getType());
  return vector::BroadcastOp::create(builder, loc, type, scalar);
}

void IRValueBuilder::match(Value &a, Value &b) {
  bool aIsVector = isa<VectorType>(a.getType());
  bool bIsVector = isa<VectorType>(b.getType());
  if (aIsVector && !bIsVector)
    b = broadcast(b, lanes(a));
  else if (bIsVector && !aIsVector)
    a = broadcast(a, lanes(b));
}

template <typename OpTy> Value IRValueBuilder::binary(Value a, Value b) {
  match(a, b);
  return OpTy::create(builder, loc, a, b);
}

Value IRValueBuilder::add(Value a, Value b) {
  return binary<arith::AddIOp>(a, b);
}
Value IRValueBuilder::sub(Value a, Value b) {
  return binary<arith::SubIOp>(a, b);
}
Value IRValueBuilder::mul(Value a, Value b) {
  return binary<arith::MulIOp>(a, b);
}
Value IRValueBuilder::band(Value a, Value b) {
  return binary<arith::AndIOp>(a, b);
}
Value IRValueBuilder::bor(Value a, Value b) {
  return binary<arith::OrIOp>(a, b);
}
Value IRValueBuilder::bxor(Value a, Value b) {
  return binary<arith::XOrIOp>(a, b);
}
Value IRValueBuilder::shl(Value a, Value b) {
  return binary<arith::ShLIOp>(a, b);
}
Value IRValueBuilder::lshr(Value a, Value b) {
  return binary<arith::ShRUIOp>(a, b);
}
Value IRValueBuilder::ashr(Value a, Value b) {
  return binary<arith::ShRSIOp>(a, b);
}
Value IRValueBuilder::umin(Value a, Value b) {
  return binary<arith::MinUIOp>(a, b);
}
Value IRValueBuilder::umax(Value a, Value b) {
  return binary<arith::MaxUIOp>(a, b);
}
Value IRValueBuilder::smin(Value a, Value b) {
  return binary<arith::MinSIOp>(a, b);
}
Value IRValueBuilder::smax(Value a, Value b) {
  return binary<arith::MaxSIOp>(a, b);
}
Value IRValueBuilder::fadd(Value a, Value b) {
  return binary<arith::AddFOp>(a, b);
}
Value IRValueBuilder::fsub(Value a, Value b) {
  return binary<arith::SubFOp>(a, b);
}
Value IRValueBuilder::fmul(Value a, Value b) {
  return binary<arith::MulFOp>(a, b);
}
Value IRValueBuilder::fdiv(Value a, Value b) {
  return binary<arith::DivFOp>(a, b);
}

std::pair<Value, Value> IRValueBuilder::mulWide(Value a, Value b) {
  match(a, b);
  auto product = arith::MulUIExtendedOp::create(builder, loc, a, b);
  return {product.getLow(), product.getHigh()};
}

Value IRValueBuilder::cmp(arith::CmpIPredicate predicate, Value a, Value b) {
  match(a, b);
  return arith::CmpIOp::create(builder, loc, predicate, a, b);
}

Value IRValueBuilder::cmp(arith::CmpFPredicate predicate, Value a, Value b) {
  match(a, b);
  return arith::CmpFOp::create(builder, loc, predicate, a, b);
}

Value IRValueBuilder::lnot(Value a) {
  Value one =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  return bxor(a, one);
}

Value IRValueBuilder::select(Value condition, Value a, Value b) {
  match(a, b);
  if (isa<VectorType>(condition.getType()) && !isa<VectorType>(a.getType())) {
    a = broadcast(a, lanes(condition));
    b = broadcast(b, lanes(condition));
  }
  // A scalar condition selects whole vectors.
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value IRValueBuilder::fmuladd(Value x, Value s, Value c) {
  match(x, s);
  match(x, c);
  return LLVM::FMulAddOp::create(builder, loc, x, s, c);
}

Value IRValueBuilder::fsqrt(Value a) {
  return math::SqrtOp::create(builder, loc, a);
}

Value IRValueBuilder::asInt(Value a) {
  return arith::BitcastOp::create(
      builder, loc, withLanesOf(builder.getI32Type(), a.getType()), a);
}

Value IRValueBuilder::asFloat(Value a) {
  return arith::BitcastOp::create(
      builder, loc, withLanesOf(builder.getF32Type(), a.getType()), a);
}

Value IRValueBuilder::toFloat(Value a) {
  return arith::SIToFPOp::create(
      builder, loc, withLanesOf(builder.getF32Type(), a.getType()), a);
}

Value IRValueBuilder::shuffle(Value a, const std::vector<int> &mask) {
  SmallVector<int64_t> wide(mask.begin(), mask.end());
  return vector::ShuffleOp::create(builder, loc, a, a, wide);
}

Value IRValueBuilder::interleave4(Value w0, Value w1, Value w2, Value w3) {
  auto pair = [&](Value a, Value b) -> Value {
    return vector::InterleaveOp::create(builder, loc, a, b);
  };
  return pair(pair(w0, w2), pair(w1, w3));
}

Value IRValueBuilder::reduceUMax(Value a) {
  if (!isa<VectorType>(a.getType()))
    return a;
  return vector::ReductionOp::create(builder, loc, vector::CombiningKind::MAXUI,
                                     a);
}

Value IRValueBuilder::reduceFAdd(Value a) {
  if (!isa<VectorType>(a.getType()))
    return a;
  int64_t n = lanes(a);
  if (int64_t padded = llvm::PowerOf2Ceil(n); padded != n) {
    a = vector::InsertStridedSliceOp::create(
        builder, loc, a, broadcast(f32(0.0f), padded), ArrayRef<int64_t>{0},
        ArrayRef<int64_t>{1});
    n = padded;
  }
  for (; n > 1; n /= 2) {
    auto half = [&](int64_t offset) -> Value {
      return vector::ExtractStridedSliceOp::create(
          builder, loc, a, ArrayRef<int64_t>{offset}, ArrayRef<int64_t>{n / 2},
          ArrayRef<int64_t>{1});
    };
    a = fadd(half(0), half(n / 2));
  }
  return vector::ExtractOp::create(builder, loc, a, ArrayRef<int64_t>{0});
}
