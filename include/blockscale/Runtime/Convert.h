//===-- Convert.h - Float arrays from one width to another ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only between f16, bf16, f32 and f64, the types of files and of what goes in
// and out of a compiled function. Quantized numbers are made by compiled code.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_RUNTIME_CONVERT_H
#define BLOCKSCALE_RUNTIME_CONVERT_H

#include "blockscale/Runtime/Tensor.h"

namespace blockscale::runtime {

/// Rounds once, to nearest even, as IEEE does: beyond the largest number lies
/// infinity, and NaN stays NaN.
uint16_t toBF16(double value);
uint16_t toF16(double value);
float fromBF16(uint16_t bits);
float fromF16(uint16_t bits);

/// `tensor` as `type`, both floats. Nullopt if memory does not suffice.
std::optional<Tensor> convertFloats(const Tensor &tensor, DataType type,
                                    std::string &error);

/// Element `index` of `tensor`, in storage order, as a number.
double valueAt(const Tensor &tensor, int64_t index);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_CONVERT_H
