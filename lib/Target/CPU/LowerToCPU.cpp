//===-- LowerToCPU.cpp - blockscale ops to CPU kernels --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CPUKernelSet.h"
#include "MatmulKernel.h"
#include "TargetChecks.h"

#include "blockscale/Conversion/StorageTypes.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Kernels/Patterns.h"
#include "blockscale/Target/CPU/Passes.h"

namespace blockscale::cpu {
#define GEN_PASS_DEF_LOWERTOCPUPASS
#include "blockscale/Target/CPU/Passes.h.inc"
} // namespace blockscale::cpu

using namespace mlir;
using namespace blockscale;

namespace {

struct LowerToCPU : cpu::impl::LowerToCPUPassBase<LowerToCPU> {
  using LowerToCPUPassBase::LowerToCPUPassBase;

  void runOnOperation() override {
    if (failed(verifyStorageConversion(getOperation())) ||
        failed(cpu::verifyLowerable(getOperation())))
      return signalPassFailure();
    MLIRContext *context = &getContext();
    StorageTypeConverter converter;
    RewritePatternSet patterns(context);
    ConversionTarget target(*context);
    target.addIllegalDialect<BlockScaleDialect>();
    populateStorageConversion(converter, patterns, target);

    cpu::CPUKernelSet kernelSet(getOperation());
    kernels::populateKernels(patterns, converter, kernelSet);
    cpu::populateMatmulKernel(patterns, converter, kernelSet, vectorBits,
                              useFMA);
    if (failed(
            applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
