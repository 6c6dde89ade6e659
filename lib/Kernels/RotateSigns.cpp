//===-- RotateSigns.cpp - The signs of a rotation, in a kernel ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RotateSigns.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

Value Signs::lanes(IRValueBuilder &b, int64_t size) const {
  if (buffer) {
    OpBuilder &builder = b.getBuilder();
    Location loc = b.getLoc();
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value bytes = vector::LoadOp::create(
        builder, loc, VectorType::get({size}, builder.getI8Type()), buffer,
        ValueRange{zero});
    Value wide = arith::ExtSIOp::create(
        builder, loc, VectorType::get({size}, builder.getI32Type()), bytes);
    return b.band(wide, b.i32(0x80000000u));
  }
  if (llvm::all_of(constants, [](int8_t sign) { return sign > 0; }))
    return {};
  std::vector<uint32_t> bits;
  for (int8_t sign : constants)
    bits.push_back(sign < 0 ? 0x80000000u : 0);
  return b.laneConstants(bits);
}

Value kernels::flip(IRValueBuilder &b, Value x, Value signBits) {
  return signBits ? b.asFloat(b.bxor(b.asInt(x), signBits)) : x;
}
