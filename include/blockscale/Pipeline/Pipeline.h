//===-- Pipeline.h - The compiler, stage by stage ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each stage is a function that adds passes; the compiler is their sequence,
// and blockscale-opt can run any of them by its registered name.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_PIPELINE_PIPELINE_H
#define BLOCKSCALE_PIPELINE_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace blockscale {

struct CPUPipelineOptions : mlir::PassPipelineOptions<CPUPipelineOptions> {
  Option<unsigned> vectorBits{
      *this, "vector-bits",
      llvm::cl::desc("Width of the target's vectors: 256 or 512"),
      llvm::cl::init(512)};
  Option<bool> useFMA{*this, "fma",
                      llvm::cl::desc("Use fused multiply-add in matmul"),
                      llvm::cl::init(true)};
};

/// Simplifies blockscale ops and notes the signatures that callers see.
void addPrepareStage(mlir::OpPassManager &pm);
/// Linear layers become the rotations, quantizations and products of their
/// recipes.
void addRecipeStage(mlir::OpPassManager &pm);
/// Rotations cancel, merge, move and fold into constants.
void addRotateStage(mlir::OpPassManager &pm);
/// Quantizations without a rounding get one by the role of their operand.
void addRoundStage(mlir::OpPassManager &pm);
/// Constants are quantized.
void addFoldStage(mlir::OpPassManager &pm);
/// Scales are made in the layout that products read: any, linear or
/// tiled_128x4.
void addLayoutStage(mlir::OpPassManager &pm, llvm::StringRef scales);
/// Stages 1 to 6, which every target shares; its kernels read scales of any
/// layout.
void addCommonStages(mlir::OpPassManager &pm);
/// blockscale ops become launches of CPU kernels over storage tensors.
void addCPUKernelStage(mlir::OpPassManager &pm,
                       const CPUPipelineOptions &options);
/// Tensors become memrefs; results are allocated by the callee.
void addBufferizeStage(mlir::OpPassManager &pm);
/// Arithmetic on bf16 and f16, and transcendental functions, become f32 and
/// integer arithmetic: exp, tanh and erf, or all functions where there is no
/// libm to call.
void addShortFloatPasses(mlir::OpPassManager &pm, bool approximateAll);
/// Loops, vectors, memory and functions, of host and kernels, become the LLVM
/// dialect.
void addConvertToLLVMPasses(mlir::OpPassManager &pm);
/// Everything becomes the LLVM dialect, with the entry points of a library.
void addCPULowerStage(mlir::OpPassManager &pm);

/// The whole straight path to the LLVM dialect for the CPU.
void addCPUPipeline(mlir::OpPassManager &pm, const CPUPipelineOptions &options);

/// Registers `blockscale-stage-...` for each stage and `blockscale-to-cpu`.
void registerBlockScalePipelines();

} // namespace blockscale

#endif // BLOCKSCALE_PIPELINE_PIPELINE_H
