//===-- LowerToNVIDIA.cpp - blockscale ops to GPU kernels -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MatmulLowering.h"

#include "blockscale/Conversion/StorageTypes.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Kernels/Patterns.h"
#include "blockscale/Target/NVIDIA/GPUKernelSet.h"
#include "blockscale/Target/NVIDIA/Passes.h"

namespace blockscale::nvidia {
#define GEN_PASS_DEF_LOWERTONVIDIAPASS
#include "blockscale/Target/NVIDIA/Passes.h.inc"
} // namespace blockscale::nvidia

using namespace mlir;
using namespace blockscale;

namespace {

struct LowerToNVIDIA : nvidia::impl::LowerToNVIDIAPassBase<LowerToNVIDIA> {
  using LowerToNVIDIAPassBase::LowerToNVIDIAPassBase;

  void runOnOperation() override {
    std::string error;
    const nvidia::Chip *target = nvidia::findChip(chip, error);
    if (!target) {
      emitError(getOperation().getLoc(), error);
      return signalPassFailure();
    }
    if (failed(verifyStorageConversion(getOperation())))
      return signalPassFailure();
    MLIRContext *context = &getContext();
    StorageTypeConverter converter;
    RewritePatternSet patterns(context);
    ConversionTarget legality(*context);
    legality.addIllegalDialect<BlockScaleDialect>();
    populateStorageConversion(converter, patterns, legality);

    nvidia::GPUKernelSet kernelSet(getOperation(), *target);
    kernels::populateKernels(patterns, converter, kernelSet);
    nvidia::populateMatmulLowering(patterns, converter, kernelSet);
    if (failed(
            applyFullConversion(getOperation(), legality, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
