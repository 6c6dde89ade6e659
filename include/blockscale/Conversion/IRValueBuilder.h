//===-- IRValueBuilder.h - The numerics as IR -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value builder (see Numerics/ValueBuilder.h) whose values are SSA values:
// the templates of lib/Numerics, instantiated with it, write arith, math and
// vector ops. A value is a scalar or a 1-D vector ("lanes") of i32, f32 or i1;
// a binary operation broadcasts a scalar to the lanes of the other side.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_CONVERSION_IRVALUEBUILDER_H
#define BLOCKSCALE_CONVERSION_IRVALUEBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace blockscale {

class IRValueBuilder {
public:
  using Value = mlir::Value;

  IRValueBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  Value i32(uint32_t value);
  Value f32(float value);
  Value laneConstants(const std::vector<uint32_t> &values);

  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  /// Low and high word of the unsigned 64-bit product.
  std::pair<Value, Value> mulWide(Value a, Value b);
  Value band(Value a, Value b);
  Value bor(Value a, Value b);
  Value bxor(Value a, Value b);
  Value shl(Value a, Value b);
  Value lshr(Value a, Value b);
  Value ashr(Value a, Value b);
  Value umin(Value a, Value b);
  Value umax(Value a, Value b);
  Value smin(Value a, Value b);
  Value smax(Value a, Value b);

  Value eq(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::eq, a, b);
  }
  Value ne(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::ne, a, b);
  }
  Value ult(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::ult, a, b);
  }
  Value ule(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::ule, a, b);
  }
  Value ugt(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::ugt, a, b);
  }
  Value uge(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::uge, a, b);
  }
  Value slt(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::slt, a, b);
  }
  Value sle(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::sle, a, b);
  }
  Value sgt(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::sgt, a, b);
  }
  Value sge(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::sge, a, b);
  }
  Value land(Value a, Value b) { return band(a, b); }
  Value lor(Value a, Value b) { return bor(a, b); }
  Value lnot(Value a);
  Value flt(Value a, Value b) {
    return cmp(mlir::arith::CmpFPredicate::OLT, a, b);
  }
  Value fle(Value a, Value b) {
    return cmp(mlir::arith::CmpFPredicate::OLE, a, b);
  }
  Value fgt(Value a, Value b) {
    return cmp(mlir::arith::CmpFPredicate::OGT, a, b);
  }
  Value select(Value condition, Value a, Value b);

  Value fadd(Value a, Value b);
  Value fsub(Value a, Value b);
  Value fmul(Value a, Value b);
  Value fdiv(Value a, Value b);
  Value fmuladd(Value x, Value s, Value c);
  Value fsqrt(Value a);
  Value asInt(Value a);
  Value asFloat(Value a);
  /// Signed i32 to f32.
  Value toFloat(Value a);

  /// Number of lanes; 1 for a scalar.
  int64_t lanes(Value a);
  /// One vector whose lane i is lane mask[i] of `a`.
  Value shuffle(Value a, const std::vector<int> &mask);
  /// w0[0] w1[0] w2[0] w3[0] w0[1] ...
  Value interleave4(Value w0, Value w1, Value w2, Value w3);

  Value reduceUMax(Value a);
  /// Sum by halves: lane i += lane i + n/2; n padded with zeros to a power of
  /// two.
  Value reduceFAdd(Value a);

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() { return loc; }

private:
  Value cmp(mlir::arith::CmpIPredicate predicate, Value a, Value b);
  Value cmp(mlir::arith::CmpFPredicate predicate, Value a, Value b);
  /// Broadcasts the scalar one of `a` and `b` to the lanes of the other.
  void match(Value &a, Value &b);
  Value broadcast(Value scalar, int64_t lanes);
  template <typename OpTy> Value binary(Value a, Value b);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// `element` with the lanes of `like` (a scalar type if `like` is one).
mlir::Type withLanesOf(mlir::Type element, mlir::Type like);

} // namespace blockscale

#endif // BLOCKSCALE_CONVERSION_IRVALUEBUILDER_H
