//===-- KernelBuilder.cpp - Index arithmetic, loops, flat buffers ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Kernels/KernelBuilder.h"
#include "blockscale/Kernels/KernelSet.h"
#include "blockscale/Kernels/ThreadOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace blockscale::kernels;

func::FuncOp KernelSet::getOrCreate(Location loc, StringRef name, StringRef key,
                                    TypeRange argumentTypes, KernelBody body) {
  func::FuncOp &kernel = made[key];
  if (!kernel)
    kernel = create(loc, name, argumentTypes, body);
  return kernel;
}

const ThreadOps &KernelSet::threadOps() const {
  static const ThreadOps defaults;
  return defaults;
}

Value IndexMath::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
Value IndexMath::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}
Value IndexMath::sub(Value a, Value b) {
  return builder.createOrFold<arith::SubIOp>(loc, a, b);
}
Value IndexMath::mul(Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b);
}
Value IndexMath::div(Value a, Value b) {
  return builder.createOrFold<arith::DivUIOp>(loc, a, b);
}
Value IndexMath::rem(Value a, Value b) {
  return builder.createOrFold<arith::RemUIOp>(loc, a, b);
}
Value IndexMath::ceilDiv(Value a, int64_t b) { return div(add(a, b - 1), b); }
Value IndexMath::min(Value a, Value b) {
  return builder.createOrFold<arith::MinUIOp>(loc, a, b);
}
Value IndexMath::max(Value a, Value b) {
  return builder.createOrFold<arith::MaxUIOp>(loc, a, b);
}

void blockscale::kernels::forRange(
    OpBuilder &builder, Location loc, Value lower, Value upper, int64_t step,
    llvm::function_ref<void(OpBuilder &, Value)> body) {
  Value stepValue = arith::ConstantIndexOp::create(builder, loc, step);
  scf::ForOp::create(builder, loc, lower, upper, stepValue, ValueRange(),
                     [&](OpBuilder &inner, Location, Value iv, ValueRange) {
                       body(inner, iv);
                       scf::YieldOp::create(inner, loc);
                     });
}

MemRefType blockscale::kernels::flatType(Type element) {
  return MemRefType::get({ShapedType::kDynamic}, element);
}

Value blockscale::kernels::flatten(OpBuilder &builder, Location loc,
                                   Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  IndexMath math(builder, loc);
  Value size = math.constant(1);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    size = math.mul(
        size, type.isDynamicDim(dim)
                  ? memref::DimOp::create(builder, loc, buffer, dim).getResult()
                  : math.constant(type.getDimSize(dim)));
  return memref::ReinterpretCastOp::create(
      builder, loc, flatType(type.getElementType()), buffer,
      builder.getIndexAttr(0), ArrayRef<OpFoldResult>{size},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
}
