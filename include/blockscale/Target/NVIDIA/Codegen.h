//===-- Codegen.h - From a gpu.module to PTX --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_NVIDIA_CODEGEN_H
#define BLOCKSCALE_TARGET_NVIDIA_CODEGEN_H

#include "blockscale/Target/NVIDIA/Chips.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/Error.h"

#include <string>

namespace blockscale::nvidia {

/// The PTX of a gpu.module in the LLVM dialect. Each kernel is preceded by its
/// launch contract, as comments.
llvm::Expected<std::string> emitPTX(mlir::gpu::GPUModuleOp module,
                                    const Chip &chip);

/// Assembles PTX with ptxas (found in PATH, CUDA_HOME/bin or CUDA_PATH/bin);
/// says clearly where there is none.
llvm::Expected<std::string> assemble(llvm::StringRef ptx, const Chip &chip);

} // namespace blockscale::nvidia

#endif // BLOCKSCALE_TARGET_NVIDIA_CODEGEN_H
