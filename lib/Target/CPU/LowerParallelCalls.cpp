//===-- LowerParallelCalls.cpp - Kernel launchers call the runtime --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CPUKernelSet.h"
#include "blockscale/Dialect/BlockScale/IR/Annotations.h"
#include "blockscale/Target/CPU/Passes.h"

namespace blockscale::cpu {
#define GEN_PASS_DEF_LOWERPARALLELCALLSPASS
#include "blockscale/Target/CPU/Passes.h.inc"
} // namespace blockscale::cpu

using namespace mlir;
using namespace blockscale;

namespace {

struct LowerParallelCalls
    : cpu::impl::LowerParallelCallsPassBase<LowerParallelCalls> {
  void runOnOperation() override;

private:
  void lower(LLVM::LLVMFuncOp launcher, LLVM::LLVMFuncOp kernel,
             LLVM::LLVMFuncOp runtime);
};

} // namespace

/// declare blockscaleParallelFor(count, grain, body, context)
static LLVM::LLVMFuncOp declareRuntime(ModuleOp module) {
  constexpr StringLiteral name = "blockscaleParallelFor";
  if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return existing;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type i64 = builder.getI64Type();
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()),
                                  {i64, i64, pointer, pointer});
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
}

void LowerParallelCalls::lower(LLVM::LLVMFuncOp launcher,
                               LLVM::LLVMFuncOp kernel,
                               LLVM::LLVMFuncOp runtime) {
  Location loc = launcher.getLoc();
  MLIRContext *context = &getContext();
  OpBuilder builder(context);
  Type i64 = builder.getI64Type();
  Type pointer = LLVM::LLVMPointerType::get(context);
  // The frame holds all arguments after count and grain.
  ArrayRef<Type> argTypes =
      launcher.getFunctionType().getParams().drop_front(2);
  auto frameType = LLVM::LLVMStructType::getLiteral(context, argTypes);
  auto field = [&](Value frame, int32_t index) -> Value {
    return LLVM::GEPOp::create(builder, loc, pointer, frameType, frame,
                               ArrayRef<LLVM::GEPArg>{0, index});
  };

  builder.setInsertionPointAfter(launcher);
  auto trampoline = LLVM::LLVMFuncOp::create(
      builder, loc, (kernel.getSymName() + ".trampoline").str(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                  {pointer, i64, i64}),
      LLVM::Linkage::Internal);
  Block *entry = trampoline.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  SmallVector<Value> operands{entry->getArgument(1), entry->getArgument(2)};
  for (auto [index, type] : llvm::enumerate(argTypes))
    operands.push_back(LLVM::LoadOp::create(
        builder, loc, type, field(entry->getArgument(0), index)));
  LLVM::CallOp::create(builder, loc, kernel, operands);
  LLVM::ReturnOp::create(builder, loc, ValueRange());

  launcher.setLinkage(LLVM::Linkage::Internal);
  entry = launcher.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  Value one = LLVM::ConstantOp::create(builder, loc, i64, 1);
  Value frame = LLVM::AllocaOp::create(builder, loc, pointer, frameType, one);
  for (auto [index, argument] :
       llvm::enumerate(entry->getArguments().drop_front(2)))
    LLVM::StoreOp::create(builder, loc, argument, field(frame, index));
  Value body = LLVM::AddressOfOp::create(builder, loc, trampoline);
  LLVM::CallOp::create(
      builder, loc, runtime,
      ValueRange{entry->getArgument(0), entry->getArgument(1), body, frame});
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

void LowerParallelCalls::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<LLVM::LLVMFuncOp> launchers;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (function->hasAttr(kParallelAttr))
      launchers.push_back(function);
  for (LLVM::LLVMFuncOp launcher : launchers) {
    auto symbol = launcher->getAttrOfType<FlatSymbolRefAttr>(kParallelAttr);
    auto kernel =
        symbol ? module.lookupSymbol<LLVM::LLVMFuncOp>(symbol) : nullptr;
    if (!kernel || !launcher.isExternal() ||
        kernel.getFunctionType() != launcher.getFunctionType()) {
      launcher.emitOpError("expects a declaration whose ")
          << kParallelAttr
          << " names a function of the same type in the LLVM dialect";
      return signalPassFailure();
    }
    lower(launcher, kernel, declareRuntime(module));
    launcher->removeAttr(kParallelAttr);
  }
}
