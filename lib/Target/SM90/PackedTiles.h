//===-- PackedTiles.h - Which kernel for how many rows ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of products with packed weights, which tell the kernels apart: up
// to kDecodeTokens rows of A the decode kernel, where rows of B are not too
// many for it, up to 64 a tile the batch kernel, above the prefill kernel; or
// operands unpacked to bf16 or folded to E4M3 before.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_SM90_PACKEDTILES_H
#define BLOCKSCALE_LIB_TARGET_SM90_PACKEDTILES_H

#include "BatchKernel.h"
#include "DecodeKernel.h"
#include "PrefillKernel.h"
#include "UnpackedKernel.h"

#include "blockscale/Target/NVIDIA/Matmul.h"

namespace blockscale::sm90 {

/// Rows of A up to which mma.sync is fast enough.
inline constexpr int64_t kDecodeTokens = 40;

/// What the batch kernel sees,
StreamProblem streamProblem(const nvidia::MatmulProblem &problem);
/// and the decode kernel, which has room for a table.
StreamProblem decodeProblem(const nvidia::MatmulProblem &problem);
/// With a table where it fits.
PrefillProblem prefillProblem(const nvidia::MatmulProblem &problem,
                              const PrefillPlan &plan,
                              const nvidia::Chip &chip);

bool isFolded(const nvidia::MatmulTile &tile);
bool isUnpacked(const nvidia::MatmulTile &tile);
/// Whether the decode or the batch kernel has the tile,
bool isStreamed(const nvidia::MatmulTile &tile);
/// and whether the decode kernel.
bool isDecoded(const nvidia::MatmulProblem &problem, const nvidia::Chip &chip,
               const nvidia::MatmulTile &tile);
std::optional<DecodePlan> decodePlan(const nvidia::MatmulProblem &problem,
                                     const nvidia::Chip &chip, int64_t tokens);
BatchPlan batchPlanOf(const nvidia::MatmulTile &tile);
PrefillPlan prefillPlanOf(const nvidia::MatmulTile &tile);
UnpackedPlan unpackedPlanOf(const nvidia::MatmulTile &tile);
/// The plan for tiles that could not be folded.
PrefillPlan misfitsPlan(const nvidia::MatmulProblem &problem,
                        const nvidia::Chip &chip);

/// See MatmulSchedule::decide() and accepts().
llvm::SmallVector<nvidia::MatmulVariant>
packedVariants(const nvidia::MatmulProblem &problem, const nvidia::Chip &chip);
bool packedAccepts(const nvidia::MatmulProblem &problem,
                   const nvidia::Chip &chip, const nvidia::MatmulTile &tile,
                   std::string &why);

} // namespace blockscale::sm90

#endif // BLOCKSCALE_LIB_TARGET_SM90_PACKEDTILES_H
