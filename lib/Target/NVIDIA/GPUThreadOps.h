//===-- GPUThreadOps.h - Steps of the kernels on a GPU ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_NVIDIA_GPUTHREADOPS_H
#define BLOCKSCALE_TARGET_NVIDIA_GPUTHREADOPS_H

#include "blockscale/Kernels/ThreadOps.h"
#include "blockscale/Target/NVIDIA/Chips.h"

namespace blockscale::nvidia {

class ThreadCode;

/// PTX with the operands $0, ...; pure, unless it has to stay where it is.
mlir::Value instruction(ThreadCode &t, llvm::StringRef text,
                        llvm::StringRef constraints, mlir::Type result,
                        mlir::ValueRange operands, bool stays);

/// Results of a GPU's f32 arithmetic that are NaN have no sign, its minima and
/// maxima take magnitudes for nothing, and bytes of registers permute freely.
class GPUThreadOps : public kernels::ThreadOps {
public:
  explicit GPUThreadOps(const Chip &chip) : chip(chip) {}

  int64_t itemColumns(int64_t rotation) const override;
  Value foldAmax(IRValueBuilder &b, Value bitsSoFar, Value x) const override;
  Value maxMagnitude(IRValueBuilder &b, Value x) const override;
  Value widened(IRValueBuilder &b, Value x) const override;
  Value rounded(IRValueBuilder &b, Value x, mlir::Type element) const override;
  Value packedCodes(IRValueBuilder &b, const ElementType &type, Value y,
                    Rounding rounding,
                    const std::optional<Value> &random) const override;
  Value randomBits(IRValueBuilder &b, Value indexLow, Value indexHigh,
                   int64_t count, Value seedLow, Value seedHigh) const override;
  std::vector<Candidate<Value>>
  scaleCandidates(IRValueBuilder &b, const Format &format,
                  const ScaleRule &rule, const Measure<Value> &measure,
                  const TensorLevel<Value> &level) const override;
  Value butterfliesOfLanes(IRValueBuilder &b, Value x,
                           int64_t size) const override;
  Value butterflyOfItems(IRValueBuilder &b, Value x, int64_t mask,
                         Value sign) const override;

private:
  const Chip &chip;
};

} // namespace blockscale::nvidia

#endif // BLOCKSCALE_TARGET_NVIDIA_GPUTHREADOPS_H
