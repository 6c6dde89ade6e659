//===-- TensorMap.cpp - Tensor maps on the host ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TensorMap.h"

#include "blockscale/Kernels/KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::sm90;
using blockscale::kernels::IndexMath;

/// docs/Runtime.md: blockscaleGpuTensorMap.
static LLVM::LLVMFuncOp declareRuntime(ModuleOp module) {
  constexpr StringLiteral name = "blockscaleGpuTensorMap";
  if (auto declared = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return declared;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  return LLVM::LLVMFuncOp::create(
      builder, module.getLoc(), name,
      LLVM::LLVMFunctionType::get(
          LLVM::LLVMVoidType::get(context),
          {pointer, i64, i32, i32, pointer, pointer, pointer, i32}));
}

/// The values in memory, one after the other.
static Value inMemory(OpBuilder &builder, Location loc, Type type,
                      ArrayRef<Value> values) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value count = arith::ConstantIntOp::create(builder, loc, values.size(), 32);
  Value memory = LLVM::AllocaOp::create(builder, loc, pointer, type, count);
  for (auto [index, value] : llvm::enumerate(values)) {
    Value place = LLVM::GEPOp::create(
        builder, loc, pointer, type, memory,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    LLVM::StoreOp::create(builder, loc, value, place);
  }
  return memory;
}

Value sm90::makeTensorMap(OpBuilder &builder, Location loc, ModuleOp module,
                          const TensorMap &map) {
  LLVM::LLVMFuncOp runtime = declareRuntime(module);
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto word = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  };
  auto wide = [&](Value index) -> Value {
    return arith::IndexCastOp::create(builder, loc, i64, index);
  };
  IndexMath math(builder, loc);
  SmallVector<Value> sizes, strides, box;
  // An empty tensor has no map; nobody reads through the one that it gets.
  Value stride = math.constant(map.element == MapElement::BF16 ? 2 : 1);
  for (auto [dim, size] : llvm::enumerate(map.sizes)) {
    Value atLeastOne = math.max(size, math.constant(1));
    sizes.push_back(wide(atLeastOne));
    stride = math.mul(stride, atLeastOne);
    if (dim + 1 < map.sizes.size())
      strides.push_back(wide(stride));
  }
  for (int64_t size : map.box)
    box.push_back(word(size));
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value memory = LLVM::AllocaOp::create(builder, loc, pointer,
                                        builder.getI8Type(), word(128),
                                        /*alignment=*/64);
  Value address = wide(
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, map.buffer));
  LLVM::CallOp::create(
      builder, loc, runtime,
      ValueRange{memory, address, word(static_cast<int>(map.element)),
                 word(map.sizes.size()), inMemory(builder, loc, i64, sizes),
                 inMemory(builder, loc, i64, strides),
                 inMemory(builder, loc, i32, box),
                 word(static_cast<int>(map.swizzle))});
  return memory;
}
