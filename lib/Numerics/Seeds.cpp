//===-- Seeds.cpp - Signs of rotations on the host ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/Seeds.h"
#include "blockscale/Numerics/HostBuilder.h"

using namespace blockscale;

std::vector<int8_t> blockscale::randomSigns(uint64_t seed, unsigned count) {
  HostBuilder b;
  unsigned padded = (count + 3) / 4 * 4;
  HostValue lanes =
      signLanes(b, padded, b.i32(uint32_t(seed)), b.i32(uint32_t(seed >> 32)));
  std::vector<int8_t> signs(count);
  for (unsigned i = 0; i < count; ++i)
    signs[i] = int8_t(lanes[i]);
  return signs;
}
