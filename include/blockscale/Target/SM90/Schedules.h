//===-- Schedules.h - Matmuls of Hopper -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_SM90_SCHEDULES_H
#define BLOCKSCALE_TARGET_SM90_SCHEDULES_H

#include "blockscale/Target/NVIDIA/Matmul.h"

namespace blockscale::sm90 {

/// Packed weights as rhs, dequantized exactly to bf16 in registers, times bf16
/// activations, or quantized ones that a first kernel turns into bf16: mma.sync
/// for few rows, wgmma for many.
std::unique_ptr<nvidia::MatmulSchedule> createPackedMatmul();

} // namespace blockscale::sm90

#endif // BLOCKSCALE_TARGET_SM90_SCHEDULES_H
