//===-- Schedules.h - Matmuls by block-scaled mma.sync ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_SM120_SCHEDULES_H
#define BLOCKSCALE_TARGET_SM120_SCHEDULES_H

#include "blockscale/Target/NVIDIA/Matmul.h"

namespace blockscale::sm120 {

/// nvfp4, mxfp4 and every pair of mxfp8, mxfp6 and mxfp4 by
/// mma.sync.block_scale, which reads codes and scales as they are.
std::unique_ptr<nvidia::MatmulSchedule> createBlockScaledMatmul();

} // namespace blockscale::sm120

#endif // BLOCKSCALE_TARGET_SM120_SCHEDULES_H
