//===-- Schedules.cpp - The matmul schedules of each chip -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Target/SM120/Schedules.h"
#include "blockscale/Target/NVIDIA/Matmul.h"
#include "blockscale/Target/SM80/Schedules.h"
#include "blockscale/Target/SM90/Schedules.h"

using namespace blockscale;
using namespace blockscale::nvidia;

std::vector<std::unique_ptr<MatmulSchedule>>
nvidia::matmulSchedules(const Chip &chip) {
  std::vector<std::unique_ptr<MatmulSchedule>> schedules;
  if (chip.mmaBlockScale)
    schedules.push_back(sm120::createBlockScaledMatmul());
  if (chip.wgmma)
    schedules.push_back(sm90::createPackedMatmul());
  schedules.push_back(sm80::createDequantizingMatmul());
  return schedules;
}
