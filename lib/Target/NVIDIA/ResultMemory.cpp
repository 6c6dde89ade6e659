//===-- ResultMemory.cpp - Where the results of entries lie ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/Annotations.h"
#include "blockscale/Target/NVIDIA/Passes.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"

namespace blockscale::nvidia {
#define GEN_PASS_DEF_RESULTMEMORYPASS
#include "blockscale/Target/NVIDIA/Passes.h.inc"
} // namespace blockscale::nvidia

using namespace mlir;
using namespace blockscale;

namespace {

struct ResultMemory : nvidia::impl::ResultMemoryPassBase<ResultMemory> {
  void runOnOperation() override;

private:
  LogicalResult placeResults(func::FuncOp function);
  LogicalResult place(memref::AllocOp alloc, int32_t result);
};

} // namespace

/// The allocation of which `value` is all of the memory, or null.
static memref::AllocOp allocationOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      return alloc;
    if (!isa<memref::CastOp, memref::ExpandShapeOp, memref::CollapseShapeOp>(
            op))
      return nullptr;
    value = op->getOperand(0);
  }
  return nullptr;
}

/// As soon as the sizes are known: if the caller's memory has another size, the
/// call ends before it has launched anything.
static void setInsertionPointEarly(OpBuilder &builder, memref::AllocOp alloc) {
  builder.setInsertionPointToStart(alloc->getBlock());
  Operation *last = nullptr;
  for (Value size : alloc.getDynamicSizes()) {
    Operation *op = size.getDefiningOp();
    if (op && (!last || last->isBeforeInBlock(op)))
      last = op;
  }
  if (last)
    builder.setInsertionPointAfter(last);
}

LogicalResult ResultMemory::place(memref::AllocOp alloc, int32_t result) {
  Location loc = alloc.getLoc();
  MemRefType type = alloc.getType();
  OpBuilder builder(alloc);
  setInsertionPointEarly(builder, alloc);
  Type i64 = builder.getI64Type();
  auto integer = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, value, 64);
  };

  SmallVector<Value> sizes;
  auto dynamic = alloc.getDynamicSizes().begin();
  for (int64_t size : type.getShape())
    sizes.push_back(
        ShapedType::isDynamic(size)
            ? arith::IndexCastOp::create(builder, loc, i64, *dynamic++)
            : integer(size));
  SmallVector<Value> strides(sizes.size());
  Value elements = integer(1);
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = elements;
    elements = arith::MulIOp::create(builder, loc, elements, sizes[i]);
  }
  int64_t width = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  Value bytes = arith::MulIOp::create(builder, loc, elements, integer(width));

  FailureOr<LLVM::LLVMFuncOp> function = LLVM::lookupOrCreateFn(
      builder, getOperation(), "blockscaleGpuResult",
      {builder.getI32Type(), i64}, LLVM::LLVMPointerType::get(&getContext()));
  if (failed(function))
    return failure();
  Value index = arith::ConstantIntOp::create(builder, loc, result, 32);
  Value memory =
      LLVM::CallOp::create(builder, loc, *function, ValueRange{index, bytes})
          .getResult();

  SmallVector<Value> fields = {memory, memory, integer(0)};
  llvm::append_range(fields, sizes);
  llvm::append_range(fields, strides);
  Value descriptor = MemRefDescriptor::pack(
      builder, loc, LLVMTypeConverter(&getContext()), type, fields);
  Value buffer =
      UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
          .getResult(0);
  alloc.replaceAllUsesWith(buffer);
  alloc.erase();
  return success();
}

LogicalResult ResultMemory::placeResults(func::FuncOp function) {
  auto end = cast<func::ReturnOp>(function.front().getTerminator());
  SmallVector<memref::AllocOp> allocations;
  for (Value result : end.getOperands())
    allocations.push_back(allocationOf(result));
  for (auto [index, alloc] : llvm::enumerate(allocations))
    if (alloc && llvm::count(allocations, alloc) == 1 &&
        failed(place(alloc, static_cast<int32_t>(index))))
      return failure();
  return success();
}

void ResultMemory::runOnOperation() {
  ModuleOp module = getOperation();
  for (auto function : module.getOps<func::FuncOp>()) {
    // What another entry calls would ask for that entry's results.
    if (!function->hasAttr(kEntryAttr) || !function.getBody().hasOneBlock() ||
        !function.symbolKnownUseEmpty(module))
      continue;
    if (failed(placeResults(function)))
      return signalPassFailure();
  }
}
