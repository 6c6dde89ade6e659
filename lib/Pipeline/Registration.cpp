//===-- Registration.cpp - What the tools know ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Pipeline/Registration.h"
#include "blockscale/Conversion/Passes.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h"
#include "blockscale/Pipeline/Pipeline.h"
#include "blockscale/Target/CPU/Passes.h"
#include "blockscale/Target/NVIDIA/Passes.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

using namespace blockscale;

void blockscale::registerAllBlockScaleDialects(
    mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  registry.insert<BlockScaleDialect>();
}

void blockscale::registerAllBlockScalePasses() {
  registerBlockScalePasses();
  registerBlockScaleConversionPasses();
  cpu::registerBlockScaleCPUPasses();
  nvidia::registerBlockScaleNVIDIAPasses();
  registerBlockScalePipelines();
}

void blockscale::registerUpstreamPasses() { mlir::registerAllPasses(); }
