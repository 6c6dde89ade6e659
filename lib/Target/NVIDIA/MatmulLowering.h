//===-- MatmulLowering.h - scaled_matmul to a schedule's kernel -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_TARGET_NVIDIA_MATMULLOWERING_H
#define BLOCKSCALE_LIB_TARGET_NVIDIA_MATMULLOWERING_H

#include "blockscale/Target/NVIDIA/GPUKernelSet.h"
#include "mlir/Transforms/DialectConversion.h"

namespace blockscale::nvidia {

/// Asks the schedules of the kernel set's chip in order, and says in a remark
/// which one took the op.
void populateMatmulLowering(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter,
                            GPUKernelSet &kernelSet);

} // namespace blockscale::nvidia

#endif // BLOCKSCALE_LIB_TARGET_NVIDIA_MATMULLOWERING_H
