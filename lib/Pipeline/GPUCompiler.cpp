//===-- GPUCompiler.cpp - A module for an NVIDIA chip ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Pipeline/GPUCompiler.h"
#include "blockscale/Conversion/Passes.h"
#include "blockscale/Pipeline/Pipeline.h"
#include "blockscale/Target/NVIDIA/Codegen.h"
#include "blockscale/Target/NVIDIA/Passes.h"

#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace blockscale;

void blockscale::addGPUKernelStage(OpPassManager &pm, StringRef chip) {
  nvidia::LowerToNVIDIAPassOptions options;
  options.chip = chip.str();
  pm.addPass(nvidia::createLowerToNVIDIAPass(options));
  // So that tensor arithmetic reaches the check of the host's code.
  pm.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void blockscale::addGPULowerStage(OpPassManager &pm) {
  addShortFloatPasses(pm, /*approximateAll=*/true);
  addConvertToLLVMPasses(pm);
  pm.addNestedPass<gpu::GPUModuleOp>(nvidia::createMarkKernelsPass());
  pm.addPass(nvidia::createLowerLaunchCallsPass());
}

void blockscale::addGPUPipeline(OpPassManager &pm, StringRef chip) {
  addCommonStages(pm);
  addGPUKernelStage(pm, chip);
  addBufferizeStage(pm);
  pm.addNestedPass<func::FuncOp>(nvidia::createCheckHostPass());
  pm.addPass(nvidia::createResultMemoryPass());
  addGPULowerStage(pm);
}

static gpu::GPUModuleOp kernelsOf(ModuleOp module) {
  return module.lookupSymbol<gpu::GPUModuleOp>(nvidia::kKernelModule);
}

llvm::Expected<std::string> blockscale::emitKernels(ModuleOp module,
                                                    const nvidia::Chip &chip) {
  return nvidia::emitPTX(kernelsOf(module), chip);
}

LogicalResult blockscale::finishHost(ModuleOp module, StringRef ptx,
                                     const nvidia::Chip &chip) {
  PassManager passes(module.getContext());
  EmitEntriesPassOptions entries;
  entries.target = chip.name.str();
  passes.addPass(createEmitEntriesPass(entries));
  if (failed(passes.run(module)))
    return failure();
  kernelsOf(module).erase();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  std::string text = ptx.str();
  text.push_back('\0');
  LLVM::GlobalOp::create(
      builder, module.getLoc(),
      LLVM::LLVMArrayType::get(builder.getI8Type(), text.size()),
      /*isConstant=*/true, LLVM::Linkage::External, "blockscale_ptx",
      builder.getStringAttr(text));
  return success();
}
