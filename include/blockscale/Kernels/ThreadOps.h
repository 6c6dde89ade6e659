//===-- ThreadOps.h - Steps that a target does in its own way ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of the kernels for which a target may have better instructions than
// the numerics' arithmetic. The results are those of the defaults, bit for bit.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_KERNELS_THREADOPS_H
#define BLOCKSCALE_KERNELS_THREADOPS_H

#include "blockscale/Conversion/IRValueBuilder.h"
#include "blockscale/Numerics/BlockScaling.h"

#include <optional>

namespace blockscale::kernels {

class ThreadOps {
public:
  using Value = mlir::Value;
  virtual ~ThreadOps() = default;

  /// Columns that one item takes where items are blocks and neighbouring blocks
  /// may share one, and where a rotation of `rotation` columns (1: none) comes
  /// first.
  virtual int64_t itemColumns(int64_t rotation) const { return 1; }

  /// The larger of |x| and `bitsSoFar` (f32 bits) in each lane, NaN left out.
  virtual Value foldAmax(IRValueBuilder &b, Value bitsSoFar, Value x) const;
  /// The largest |x| of lanes of f32, f16 or bf16, as f32; NaN if one of them
  /// is.
  virtual Value maxMagnitude(IRValueBuilder &b, Value x) const;
  /// Lanes of f32, f16 or bf16 as f32.
  virtual Value widened(IRValueBuilder &b, Value x) const;
  /// f32 lanes rounded to `element`, ties to even.
  virtual Value rounded(IRValueBuilder &b, Value x, mlir::Type element) const;
  /// The codes of `y`, results of f32 arithmetic, as the i32 words that lie in
  /// memory: eight of 4 bits or four of others in each. Null where
  /// encodeElement and storeCodes are as good.
  virtual Value packedCodes(IRValueBuilder &b, const ElementType &type, Value y,
                            Rounding rounding,
                            const std::optional<Value> &random) const;
  /// The 32 random bits of `count` neighbouring elements: see randomLanes.
  virtual Value randomBits(IRValueBuilder &b, Value indexLow, Value indexHigh,
                           int64_t count, Value seedLow, Value seedHigh) const;
  /// The scales a block may take: see candidates.
  virtual std::vector<Candidate<Value>>
  scaleCandidates(IRValueBuilder &b, const Format &format,
                  const ScaleRule &rule, const Measure<Value> &measure,
                  const TensorLevel<Value> &level) const;
  /// The butterflies of every `size` neighbouring lanes.
  virtual Value butterfliesOfLanes(IRValueBuilder &b, Value x,
                                   int64_t size) const;
  /// butterflyOfParts with the x of the item whose number differs in the bits
  /// of `mask`. All items of a warp get here together.
  virtual Value butterflyOfItems(IRValueBuilder &b, Value x, int64_t mask,
                                 Value sign) const;
};

} // namespace blockscale::kernels

#endif // BLOCKSCALE_KERNELS_THREADOPS_H
