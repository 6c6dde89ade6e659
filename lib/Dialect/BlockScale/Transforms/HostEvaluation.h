//===-- HostEvaluation.h - Ops on constants, in parallel --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_HOSTEVALUATION_H
#define BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_HOSTEVALUATION_H

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "blockscale/Numerics/Balance.h"
#include "blockscale/Numerics/Reference.h"

namespace blockscale {

/// Evaluates ops on the host, parts of a tensor at a time on the threads of
/// the context. `type` is that of the tensor that a function reads.
class HostEvaluation {
public:
  explicit HostEvaluation(mlir::MLIRContext *context) : context(context) {}

  reference::Scales scale(FormatAttr format, ScaleRuleAttr rule,
                          const std::vector<float> &x,
                          mlir::RankedTensorType type,
                          std::optional<float> amax);
  std::vector<uint8_t> quantize(FormatAttr format, Rounding rounding,
                                uint64_t seed, const reference::Scales &scales,
                                const std::vector<float> &x,
                                mlir::RankedTensorType type);
  std::vector<float> dequantize(FormatAttr format,
                                const reference::Scales &scales,
                                llvm::ArrayRef<uint8_t> codes,
                                mlir::RankedTensorType type);
  std::vector<float> fakeQuantize(FormatAttr format, ScaleRuleAttr rule,
                                  Rounding rounding, uint64_t seed,
                                  const std::vector<float> &x,
                                  mlir::RankedTensorType type,
                                  std::optional<float> amax);
  /// Runs of `size` along `axis`, in place (rotate_c*).
  void rotate(std::vector<float> &x, mlir::RankedTensorType type, int64_t axis,
              unsigned size, const std::vector<int> &signs,
              const std::vector<float> &matrix, bool inverse);
  reference::Balanced balance(const std::vector<float> &w,
                              mlir::RankedTensorType type, int64_t block,
                              int64_t steps);

private:
  mlir::MLIRContext *context;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_HOSTEVALUATION_H
