//===-- LowerLaunchCalls.cpp - Kernel launchers call the runtime ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/Annotations.h"
#include "blockscale/Target/NVIDIA/Passes.h"

namespace blockscale::nvidia {
#define GEN_PASS_DEF_LOWERLAUNCHCALLSPASS
#define GEN_PASS_DEF_MARKKERNELSPASS
#include "blockscale/Target/NVIDIA/Passes.h.inc"
} // namespace blockscale::nvidia

using namespace mlir;
using namespace blockscale;

namespace {

struct LowerLaunchCalls
    : nvidia::impl::LowerLaunchCallsPassBase<LowerLaunchCalls> {
  void runOnOperation() override;

private:
  void lower(LLVM::LLVMFuncOp launcher, DictionaryAttr shape);
};

struct MarkKernels : nvidia::impl::MarkKernelsPassBase<MarkKernels> {
  void runOnOperation() override;
};

} // namespace

static LLVM::LLVMFuncOp declare(ModuleOp module, StringRef name, Type result,
                                ArrayRef<Type> arguments) {
  if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return existing;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  return LLVM::LLVMFuncOp::create(
      builder, module.getLoc(), name,
      LLVM::LLVMFunctionType::get(result, arguments));
}

/// blockscaleGpuLaunch(kernel, x, y, z, block, cluster, shared, overlaps,
/// params, count)
static LLVM::LLVMFuncOp declareLaunch(ModuleOp module) {
  Builder builder(module.getContext());
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  return declare(module, "blockscaleGpuLaunch",
                 LLVM::LLVMVoidType::get(module.getContext()),
                 {pointer, i64, i64, i64, i32, i32, i32, i32, pointer, i64});
}

/// blockscaleGpuResidentBlocks(kernel, block, shared)
static LLVM::LLVMFuncOp declareResidentBlocks(ModuleOp module) {
  Builder builder(module.getContext());
  Type i32 = builder.getI32Type();
  return declare(module, "blockscaleGpuResidentBlocks", builder.getI64Type(),
                 {LLVM::LLVMPointerType::get(module.getContext()), i32, i32});
}

void LowerLaunchCalls::lower(LLVM::LLVMFuncOp launcher, DictionaryAttr shape) {
  ModuleOp module = getOperation();
  Location loc = launcher.getLoc();
  OpBuilder builder(&getContext());
  Type pointer = LLVM::LLVMPointerType::get(&getContext());

  std::string text = shape.getAs<StringAttr>("kernel").str();
  text.push_back('\0');
  builder.setInsertionPoint(launcher);
  auto name = LLVM::GlobalOp::create(
      builder, loc, LLVM::LLVMArrayType::get(builder.getI8Type(), text.size()),
      /*isConstant=*/true, LLVM::Linkage::Internal,
      (launcher.getSymName() + ".name").str(), builder.getStringAttr(text));

  launcher.setLinkage(LLVM::Linkage::Internal);
  Block *entry = launcher.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  auto integer = [&](int64_t value, unsigned bits) -> Value {
    return LLVM::ConstantOp::create(builder, loc, builder.getIntegerType(bits),
                                    value);
  };
  ArrayRef<BlockArgument> params =
      ArrayRef<BlockArgument>(entry->getArguments()).drop_front(3);
  Value one = integer(1, 64);
  Value addresses =
      LLVM::AllocaOp::create(builder, loc, pointer, pointer,
                             integer(std::max<int64_t>(params.size(), 1), 64));
  for (auto [index, param] : llvm::enumerate(params)) {
    Value address = param;
    if (!isa<LLVM::LLVMPointerType>(param.getType()) ||
        !launcher.getArgAttr(index + 3, kByValueAttr)) {
      address =
          LLVM::AllocaOp::create(builder, loc, pointer, param.getType(), one);
      LLVM::StoreOp::create(builder, loc, param, address);
    }
    Value slot = LLVM::GEPOp::create(
        builder, loc, pointer, pointer, addresses,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    LLVM::StoreOp::create(builder, loc, address, slot);
  }
  auto shapeValue = [&](StringRef key) {
    return integer(shape.getAs<IntegerAttr>(key).getInt(), 32);
  };
  Value kernel = LLVM::AddressOfOp::create(builder, loc, name);
  Value gridX = entry->getArgument(0);
  if (shape.contains("persistent")) {
    Value resident =
        LLVM::CallOp::create(
            builder, loc, declareResidentBlocks(module),
            ValueRange{kernel, shapeValue("block"), shapeValue("shared")})
            .getResult();
    gridX = LLVM::UMinOp::create(builder, loc, gridX, resident);
  }
  LLVM::CallOp::create(builder, loc, declareLaunch(module),
                       ValueRange{kernel, gridX, entry->getArgument(1),
                                  entry->getArgument(2), shapeValue("block"),
                                  shapeValue("cluster"), shapeValue("shared"),
                                  integer(shape.contains("overlaps"), 32),
                                  addresses, integer(params.size(), 64)});
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

void LowerLaunchCalls::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<LLVM::LLVMFuncOp> launchers;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (function->hasAttr(kLaunchAttr))
      launchers.push_back(function);
  for (LLVM::LLVMFuncOp launcher : launchers) {
    auto shape = launcher->getAttrOfType<DictionaryAttr>(kLaunchAttr);
    bool complete = shape && shape.getAs<StringAttr>("kernel") &&
                    shape.getAs<IntegerAttr>("block") &&
                    shape.getAs<IntegerAttr>("cluster") &&
                    shape.getAs<IntegerAttr>("shared");
    if (!complete || !launcher.isExternal() || launcher.getNumArguments() < 3) {
      launcher.emitOpError(
          "expects a declaration with the grid's three extents "
          "as first arguments and kernel, block, cluster and "
          "shared in ")
          << kLaunchAttr;
      return signalPassFailure();
    }
    lower(launcher, shape);
    launcher->removeAttr(kLaunchAttr);
    for (unsigned i = 0; i < launcher.getNumArguments(); ++i)
      launcher.removeArgAttr(i, kByValueAttr);
  }
}

void MarkKernels::runOnOperation() {
  Builder builder(&getContext());
  for (auto kernel : getOperation().getOps<LLVM::LLVMFuncOp>()) {
    auto shape = kernel->getAttrOfType<DictionaryAttr>(kLaunchAttr);
    if (!shape)
      continue;
    auto threads = shape.getAs<IntegerAttr>("block");
    kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
    kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    builder.getDenseI32ArrayAttr(
                        {static_cast<int32_t>(threads.getInt()), 1, 1}));
    if (auto resident = shape.getAs<IntegerAttr>("resident"))
      kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), resident);
    auto cluster = shape.getAs<IntegerAttr>("cluster");
    if (cluster.getInt() > 1)
      kernel->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                      builder.getDenseI32ArrayAttr(
                          {static_cast<int32_t>(cluster.getInt()), 1, 1}));
    // Tensor maps are parameters by value.
    auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 128);
    for (auto [index, type] :
         llvm::enumerate(kernel.getFunctionType().getParams())) {
      auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
      if (!pointer || !kernel.getArgAttr(index, kByValueAttr))
        continue;
      kernel.removeArgAttr(index, builder.getStringAttr(kByValueAttr));
      kernel.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(bytes));
      kernel.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(64));
      kernel.setArgAttr(index, NVVM::NVVMDialect::getGridConstantAttrName(),
                        builder.getUnitAttr());
    }
  }
}
