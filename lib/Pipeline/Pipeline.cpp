//===-- Pipeline.cpp - The compiler, stage by stage -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Pipeline/Pipeline.h"
#include "blockscale/Conversion/Passes.h"
#include "blockscale/Dialect/BlockScale/Transforms/Passes.h"
#include "blockscale/Target/CPU/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace blockscale;

void blockscale::addPrepareStage(OpPassManager &pm) {
  pm.addPass(createRecordEntriesPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void blockscale::addRecipeStage(OpPassManager &pm) {
  pm.addPass(createApplyRecipePass());
  pm.addPass(createCSEPass());
}

void blockscale::addRotateStage(OpPassManager &pm) {
  FuseRotationsPassOptions rotations;
  rotations.remarks = false;
  pm.addPass(createFuseRotationsPass(rotations));
  pm.addPass(createCanonicalizerPass());
}

void blockscale::addRoundStage(OpPassManager &pm) {
  pm.addPass(createChooseRoundingPass());
}

void blockscale::addFoldStage(OpPassManager &pm) {
  pm.addPass(createFoldConstantsPass());
  pm.addPass(createCSEPass());
}

void blockscale::addLayoutStage(OpPassManager &pm, StringRef scales) {
  ChooseLayoutsPassOptions layouts;
  layouts.scales = scales.str();
  pm.addPass(createChooseLayoutsPass(layouts));
  // Equal conversions are one.
  pm.addPass(createCSEPass());
}

void blockscale::addCPUKernelStage(OpPassManager &pm,
                                   const CPUPipelineOptions &options) {
  cpu::LowerToCPUPassOptions lowering;
  lowering.vectorBits = options.vectorBits;
  lowering.useFMA = options.useFMA;
  pm.addPass(cpu::createLowerToCPUPass(lowering));
  // What the user computes on tensors beside blockscale ops.
  pm.addPass(createConvertElementwiseToLinalgPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void blockscale::addBufferizeStage(OpPassManager &pm) {
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  // A loop may hand on another buffer than it got: two tensors that swap.
  options.allowReturnAllocsFromLoops = true;
  options.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  // Upstream's deallocation pipeline, on the functions of the module alone: the
  // kernels of a gpu.module allocate nothing and use operations that it
  // refuses.
  memref::ExpandReallocPassOptions realloc;
  realloc.emitDeallocs = false;
  pm.addPass(memref::createExpandReallocPass(realloc));
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(
      bufferization::createOwnershipBasedBufferDeallocationPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(bufferization::createBufferDeallocationSimplificationPass());
  pm.addPass(bufferization::createLowerDeallocationsPass());
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createConvertBufferizationToMemRefPass());
}

void blockscale::addShortFloatPasses(OpPassManager &pm, bool approximateAll) {
  // Few processors compute in bf16 and f16, and those that do differ: an
  // operation is done in f32 and rounded once.
  math::MathExtendToSupportedTypesOptions math;
  pm.addPass(math::createMathExtendToSupportedTypes(math));
  arith::ArithEmulateUnsupportedFloatsOptions arithmetic;
  arithmetic.sourceTypeStrs = {"bf16", "f16"};
  pm.addPass(arith::createArithEmulateUnsupportedFloats(arithmetic));
  if (approximateAll) {
    // What has no polynomial of its own.
    math::MathExpandOpsPassOptions expand;
    expand.opMnemonics = {"sinh",  "cosh", "tan",  "asinh", "acosh",
                          "atanh", "exp2", "powf", "fpowi"};
    pm.addPass(math::createMathExpandOpsPass(expand));
  }
  ApproximateMathPassOptions approximate;
  approximate.all = approximateAll;
  pm.addPass(createApproximateMathPass(approximate));
  // Rounding to bf16 is written in integers: the instruction of AVX512-BF16
  // flushes subnormals.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
}

void blockscale::addConvertToLLVMPasses(OpPassManager &pm) {
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.force32BitVectorIndices = false;
  pm.addPass(createConvertVectorToLLVMPass(vectors));
  pm.addPass(createConvertMathToLLVMPass());
  FinalizeMemRefToLLVMConversionPassOptions memory;
  memory.useGenericFunctions = true; // The runtime's, which report failure.
  pm.addPass(createFinalizeMemRefToLLVMConversionPass(memory));
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void blockscale::addCPULowerStage(OpPassManager &pm) {
  pm.addPass(cpu::createExpandCopiesPass());
  pm.addPass(createConvertLinalgToLoopsPass());
  addShortFloatPasses(pm, /*approximateAll=*/false);
  math::MathExpandOpsPassOptions expand;
  expand.opMnemonics = {"rsqrt"}; // No function of libm.
  pm.addPass(math::createMathExpandOpsPass(expand));
  pm.addPass(createCallMathLibraryPass());
  addConvertToLLVMPasses(pm);
  pm.addPass(cpu::createLowerParallelCallsPass());
  pm.addPass(createEmitEntriesPass());
}

void blockscale::addCommonStages(OpPassManager &pm) {
  addPrepareStage(pm);
  addRecipeStage(pm);
  addRotateStage(pm);
  addRoundStage(pm);
  addFoldStage(pm);
  // The kernels read scales of any layout.
  addLayoutStage(pm, "any");
}

void blockscale::addCPUPipeline(OpPassManager &pm,
                                const CPUPipelineOptions &options) {
  addCommonStages(pm);
  addCPUKernelStage(pm, options);
  addBufferizeStage(pm);
  addCPULowerStage(pm);
}

void blockscale::registerBlockScalePipelines() {
  PassPipelineRegistration<>("blockscale-stage-prepare",
                             "stage 1: simplify, note the entry points",
                             addPrepareStage);
  PassPipelineRegistration<>("blockscale-stage-recipe",
                             "stage 2: layers become what recipes ask for",
                             addRecipeStage);
  PassPipelineRegistration<>("blockscale-stage-rotate",
                             "stage 3: rotations cancel, merge, move and fold",
                             addRotateStage);
  PassPipelineRegistration<>("blockscale-stage-round",
                             "stage 4: roundings by the role of operands",
                             addRoundStage);
  PassPipelineRegistration<>("blockscale-stage-fold",
                             "stage 5: constants are quantized", addFoldStage);
  PassPipelineRegistration<CPUPipelineOptions>(
      "blockscale-stage-cpu-kernels",
      "stage 6: blockscale ops become launches of CPU kernels",
      addCPUKernelStage);
  PassPipelineRegistration<>("blockscale-stage-bufferize",
                             "stage 7: tensors become memrefs",
                             addBufferizeStage);
  PassPipelineRegistration<>("blockscale-stage-cpu-lower",
                             "stage 8: everything becomes the LLVM dialect",
                             addCPULowerStage);
  PassPipelineRegistration<CPUPipelineOptions>(
      "blockscale-to-cpu", "all stages for the CPU, in order", addCPUPipeline);
}
