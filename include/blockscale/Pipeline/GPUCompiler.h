//===-- GPUCompiler.h - A module for an NVIDIA chip -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_PIPELINE_GPUCOMPILER_H
#define BLOCKSCALE_PIPELINE_GPUCOMPILER_H

#include "blockscale/Target/NVIDIA/Chips.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

namespace blockscale {

/// blockscale ops become launches of GPU kernels over storage tensors.
void addGPUKernelStage(mlir::OpPassManager &pm, llvm::StringRef chip);
/// Host code and kernels become the LLVM dialect.
void addGPULowerStage(mlir::OpPassManager &pm);
/// All stages up to the LLVM dialect, host code and kernels side by side.
void addGPUPipeline(mlir::OpPassManager &pm, llvm::StringRef chip);

/// PTX of the kernels of a module that went through addGPUPipeline().
llvm::Expected<std::string> emitKernels(mlir::ModuleOp module,
                                        const nvidia::Chip &chip);

/// Makes the module the host part of a shared library: `ptx` becomes a global,
/// the kernels go, entries and manifest are added.
mlir::LogicalResult finishHost(mlir::ModuleOp module, llvm::StringRef ptx,
                               const nvidia::Chip &chip);

} // namespace blockscale

#endif // BLOCKSCALE_PIPELINE_GPUCOMPILER_H
