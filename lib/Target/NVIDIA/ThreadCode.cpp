//===-- ThreadCode.cpp - What one thread of a block computes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/NVIDIA/ThreadCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace blockscale::nvidia;

Type ThreadCode::globalPointer(MLIRContext *context) {
  return LLVM::LLVMPointerType::get(context, 1);
}

Value ThreadCode::constant(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}
Value ThreadCode::constant64(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 64);
}
Value ThreadCode::zero(Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

/// The constant `value` of the type of `like`.
static Value sameType(ThreadCode &t, Value like, int64_t value) {
  return arith::ConstantIntOp::create(t.builder, t.loc, value,
                                      like.getType().getIntOrFloatBitWidth());
}

Value ThreadCode::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}
Value ThreadCode::add(Value a, int64_t b) {
  return b ? add(a, sameType(*this, a, b)) : a;
}
Value ThreadCode::sub(Value a, Value b) {
  return builder.createOrFold<arith::SubIOp>(loc, a, b);
}
Value ThreadCode::mul(Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b);
}
Value ThreadCode::mul(Value a, int64_t b) {
  return b == 1 ? a : mul(a, sameType(*this, a, b));
}
Value ThreadCode::div(Value a, int64_t b) {
  return b == 1 ? a : div(a, sameType(*this, a, b));
}
Value ThreadCode::div(Value a, Value b) {
  return builder.createOrFold<arith::DivUIOp>(loc, a, b);
}
Value ThreadCode::rem(Value a, int64_t b) {
  return rem(a, sameType(*this, a, b));
}
Value ThreadCode::rem(Value a, Value b) {
  return builder.createOrFold<arith::RemUIOp>(loc, a, b);
}
Value ThreadCode::band(Value a, int64_t b) {
  return band(a, sameType(*this, a, b));
}
Value ThreadCode::band(Value a, Value b) {
  return builder.createOrFold<arith::AndIOp>(loc, a, b);
}
Value ThreadCode::bor(Value a, Value b) {
  return builder.createOrFold<arith::OrIOp>(loc, a, b);
}
Value ThreadCode::bxor(Value a, Value b) {
  return builder.createOrFold<arith::XOrIOp>(loc, a, b);
}
Value ThreadCode::shl(Value a, int64_t b) {
  return b ? builder.createOrFold<arith::ShLIOp>(loc, a, sameType(*this, a, b))
           : a;
}
Value ThreadCode::shr(Value a, int64_t b) {
  return b ? builder.createOrFold<arith::ShRUIOp>(loc, a, sameType(*this, a, b))
           : a;
}
Value ThreadCode::min(Value a, Value b) {
  return builder.createOrFold<arith::MinUIOp>(loc, a, b);
}
Value ThreadCode::lt(Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, a,
                                             b);
}
Value ThreadCode::eq(Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, a,
                                             b);
}
Value ThreadCode::select(Value condition, Value a, Value b) {
  return builder.createOrFold<arith::SelectOp>(loc, condition, a, b);
}
Value ThreadCode::wide(Value a) {
  if (a.getType().isInteger(64))
    return a;
  return builder.createOrFold<arith::ExtUIOp>(loc, i64(), a);
}
Value ThreadCode::toIndex(Value a) {
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), a);
}

Value ThreadCode::wideIndex(Value a) {
  return builder.createOrFold<arith::IndexCastOp>(loc, i64(), a);
}
Value ThreadCode::narrow(Value a) {
  if (a.getType().isInteger(32))
    return a;
  if (a.getType().isIndex())
    a = wideIndex(a);
  return builder.createOrFold<arith::TruncIOp>(loc, i32(), a);
}

Value ThreadCode::at(Value pointer, Value bytes) {
  return element(pointer, builder.getI8Type(), bytes);
}
Value ThreadCode::at(Value pointer, int64_t bytes) {
  if (!bytes)
    return pointer;
  return LLVM::GEPOp::create(
      builder, loc, pointer.getType(), builder.getI8Type(), pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}
Value ThreadCode::element(Value pointer, Type type, Value index) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), type, pointer,
                             ArrayRef<LLVM::GEPArg>{index});
}
Value ThreadCode::load(Type type, Value pointer, unsigned alignment) {
  return LLVM::LoadOp::create(builder, loc, type, pointer, alignment);
}
void ThreadCode::store(Value value, Value pointer, unsigned alignment) {
  LLVM::StoreOp::create(builder, loc, value, pointer, alignment);
}

Value ThreadCode::pack(ArrayRef<Value> values) {
  if (values.size() == 1)
    return values[0];
  auto type = VectorType::get({static_cast<int64_t>(values.size())},
                              values[0].getType());
  Value vector = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [index, value] : llvm::enumerate(values))
    vector = LLVM::InsertElementOp::create(builder, loc, vector, value,
                                           constant(index));
  return vector;
}
SmallVector<Value> ThreadCode::unpack(Value vector) {
  auto type = dyn_cast<VectorType>(vector.getType());
  if (!type)
    return {vector};
  SmallVector<Value> values;
  for (int64_t index = 0; index < type.getNumElements(); ++index)
    values.push_back(
        LLVM::ExtractElementOp::create(builder, loc, vector, constant(index)));
  return values;
}
Value ThreadCode::bitcast(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return LLVM::BitcastOp::create(builder, loc, type, value);
}
Value ThreadCode::roundTo(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return LLVM::FPTruncOp::create(builder, loc, type, value);
}
Value ThreadCode::toF32(Value value) {
  if (value.getType().isF32())
    return value;
  return LLVM::FPExtOp::create(builder, loc, f32(), value);
}

Value ThreadCode::threadId() {
  return NVVM::ThreadIdXOp::create(builder, loc, i32());
}
Value ThreadCode::blockId() {
  return NVVM::BlockIdXOp::create(builder, loc, i32());
}
Value ThreadCode::blockIdZ() {
  return NVVM::BlockIdZOp::create(builder, loc, i32());
}
Value ThreadCode::gridSize() {
  return NVVM::GridDimXOp::create(builder, loc, i32());
}
void ThreadCode::barrier() { NVVM::Barrier0Op::create(builder, loc); }

void ThreadCode::branch(Value condition,
                        llvm::function_ref<void(ThreadCode &)> body) {
  scf::IfOp::create(builder, loc, condition, [&](OpBuilder &inner, Location) {
    ThreadCode code(inner, loc);
    body(code);
    scf::YieldOp::create(inner, loc);
  });
}

SmallVector<Value>
ThreadCode::choose(Value condition, ValueRange otherwise,
                   llvm::function_ref<SmallVector<Value>(ThreadCode &)> body) {
  auto branch = scf::IfOp::create(
      builder, loc, condition,
      [&](OpBuilder &inner, Location loc) {
        ThreadCode code(inner, loc);
        scf::YieldOp::create(inner, loc, body(code));
      },
      [&](OpBuilder &inner, Location loc) {
        scf::YieldOp::create(inner, loc, otherwise);
      });
  return SmallVector<Value>(branch.getResults());
}

SmallVector<Value> ThreadCode::loop(
    Value lower, Value upper, Value step, ValueRange initial,
    llvm::function_ref<SmallVector<Value>(ThreadCode &, Value, ValueRange)>
        body) {
  auto loop = scf::ForOp::create(
      builder, loc, lower, upper, step, initial,
      [&](OpBuilder &inner, Location, Value i, ValueRange carried) {
        ThreadCode code(inner, loc);
        scf::YieldOp::create(inner, loc, body(code, i, carried));
      });
  return SmallVector<Value>(loop.getResults());
}

void ThreadCode::copyAsync(Value shared, Value global, int64_t bytes,
                           Value present, Value read) {
  Value count = select(present, read ? read : constant(bytes), constant(0));
  // .cg (past L1) exists for 16 bytes only.
  NVVM::CpAsyncOp::create(builder, loc, shared, global, bytes,
                          bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                      : NVVM::LoadCacheModifierKind::CA,
                          count);
}
void ThreadCode::commitCopies() {
  NVVM::CpAsyncCommitGroupOp::create(builder, loc);
}
void ThreadCode::waitForCopies(int64_t pending) {
  NVVM::CpAsyncWaitGroupOp::create(builder, loc, pending);
}

SmallVector<Value> ThreadCode::loadMatrices(Value shared, int64_t count,
                                            unsigned packedBits) {
  MLIRContext *context = builder.getContext();
  SmallVector<Type> types(count, i32());
  Type result = types[0];
  if (count > 1)
    result = LLVM::LLVMStructType::getLiteral(context, types);
  auto shape = NVVM::LdStMatrixShapeAttr::get(context, 8, packedBits ? 16 : 8);
  Value loaded = NVVM::LdMatrixOp::create(
      builder, loc, result, shared, count, NVVM::MMALayout::row, shape,
      packedBits ? NVVM::LdStMatrixEltType::B8X16_B4X16_P64
                 : NVVM::LdStMatrixEltType::B16);
  if (count == 1)
    return {loaded};
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(LLVM::ExtractValueOp::create(builder, loc, loaded, i));
  return values;
}

Value ThreadCode::permuteBytes(Value low, Value high, Value selector) {
  return NVVM::PermuteOp::create(builder, loc, i32(), low, high, selector,
                                 NVVM::PermuteMode::DEFAULT);
}

Value ThreadCode::fromLaneOfHalf(Value value, Value index) {
  // Bits of a lane's number that stay, and the last lane.
  constexpr int64_t halves = 0x10 << 8 | 0x1f;
  return NVVM::ShflOp::create(builder, loc, value.getType(), constant(-1),
                              value, index, constant(halves),
                              NVVM::ShflKind::idx, UnitAttr());
}
