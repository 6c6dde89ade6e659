//===-- Schedules.h - Matmuls by bf16 mma.sync ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_SM80_SCHEDULES_H
#define BLOCKSCALE_TARGET_SM80_SCHEDULES_H

#include "blockscale/Target/NVIDIA/Matmul.h"

namespace blockscale::sm80 {

/// Dequantizes both sides to bf16 on their way to shared memory and multiplies
/// with mma.m16n8k16. Supports every format and every chip from sm_80.
std::unique_ptr<nvidia::MatmulSchedule> createDequantizingMatmul();

} // namespace blockscale::sm80

#endif // BLOCKSCALE_TARGET_SM80_SCHEDULES_H
