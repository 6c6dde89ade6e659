//===-- LowerToNVIDIA.cpp - blockscale ops to GPU kernels -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MatmulLowering.h"

#include "blockscale/Conversion/StorageTypes.h"
#include "blockscale/Dialect/BlockScale/IR/Annotations.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Kernels/MatmulOperands.h"
#include "blockscale/Kernels/Patterns.h"
#include "blockscale/Target/NVIDIA/GPUKernelSet.h"
#include "blockscale/Target/NVIDIA/Passes.h"

namespace blockscale::nvidia {
#define GEN_PASS_DEF_LOWERTONVIDIAPASS
#include "blockscale/Target/NVIDIA/Passes.h.inc"
} // namespace blockscale::nvidia

using namespace mlir;
using namespace blockscale;

/// A call inside the module makes the callee's promises: it can keep one only
/// by a promise of its own caller, since what the module computes is written by
/// kernels that may still run.
static LogicalResult verifyPromises(ModuleOp module) {
  WalkResult walk = module.walk([&](func::CallOp call) {
    auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (!callee)
      return WalkResult::advance();
    for (auto [index, operand] : llvm::enumerate(call.getOperands())) {
      if (!callee.getArgAttr(index, kInvariantAttr) ||
          kernels::isInvariant(operand))
        continue;
      call.emitOpError("expects an argument with ")
          << kInvariantAttr << " as operand #" << index << ", because that of '"
          << callee.getName() << "' has it";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

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
    if (failed(verifyStorageConversion(getOperation())) ||
        failed(verifyPromises(getOperation())))
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
