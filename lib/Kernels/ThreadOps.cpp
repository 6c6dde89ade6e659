//===-- ThreadOps.cpp - Steps that a target does in its own way -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Kernels/ThreadOps.h"
#include "blockscale/Kernels/LaneAccess.h"

#include "blockscale/Numerics/Hadamard.h"
#include "blockscale/Numerics/Philox.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::kernels;

Value ThreadOps::foldAmax(IRValueBuilder &b, Value bitsSoFar, Value x) const {
  return tensorAmaxRow(b, bitsSoFar, x);
}

Value ThreadOps::maxMagnitude(IRValueBuilder &b, Value x) const {
  return b.asFloat(b.reduceUMax(magnitudeBits(b, widenReals(b, x))));
}

Value ThreadOps::widened(IRValueBuilder &b, Value x) const {
  return widenReals(b, x);
}

Value ThreadOps::rounded(IRValueBuilder &b, Value x, Type element) const {
  return roundReals(b, x, element);
}

Value ThreadOps::packedCodes(IRValueBuilder &, const ElementType &, Value,
                             Rounding, const std::optional<Value> &) const {
  return {};
}

Value ThreadOps::randomBits(IRValueBuilder &b, Value indexLow, Value indexHigh,
                            int64_t count, Value seedLow,
                            Value seedHigh) const {
  return randomLanes(b, indexLow, indexHigh, count, seedLow, seedHigh);
}

std::vector<Candidate<Value>>
ThreadOps::scaleCandidates(IRValueBuilder &b, const Format &format,
                           const ScaleRule &rule, const Measure<Value> &measure,
                           const TensorLevel<Value> &level) const {
  return candidates(b, format, rule, measure, level);
}

Value ThreadOps::butterfliesOfLanes(IRValueBuilder &b, Value x,
                                    int64_t size) const {
  return butterflies(b, x, size);
}

Value ThreadOps::butterflyOfItems(IRValueBuilder &, Value, int64_t,
                                  Value) const {
  llvm_unreachable("items of this target do not meet");
}
