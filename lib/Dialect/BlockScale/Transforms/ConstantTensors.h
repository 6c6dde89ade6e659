//===-- ConstantTensors.h - Constants as plain memory and back --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_CONSTANTTENSORS_H
#define BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_CONSTANTTENSORS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

#include <optional>
#include <vector>

namespace blockscale {

/// Bytes from which on constants that passes make are resources, which are
/// neither uniqued nor printed as numbers.
inline constexpr int64_t kResourceBytes = 1 << 14;

/// The elements attribute of `value` if it is a constant tensor, else null.
mlir::ElementsAttr getConstantTensor(mlir::Value value);

/// The bytes of a constant of whole-byte elements, if they lie in memory one
/// after another: all but splats, and resources that are loaded.
std::optional<llvm::ArrayRef<char>> getBytes(mlir::ElementsAttr constant);

/// f32, bf16 or f16 values as f32; nullopt for other types, or a resource
/// whose size does not fit its type.
std::optional<std::vector<float>> readFloats(mlir::ElementsAttr constant);

/// `values` rounded to nearest even to f32, bf16 or f16.
mlir::ElementsAttr makeFloats(mlir::RankedTensorType type,
                              llvm::ArrayRef<float> values);

/// A constant of `type` from the bytes of its elements, one or more whole
/// bytes each. `name` is the stem of a resource's name.
mlir::ElementsAttr makeConstant(mlir::RankedTensorType type,
                                llvm::ArrayRef<char> bytes,
                                llvm::StringRef name);

/// The same values as another type of that shape and element type; null where
/// the bytes are not at hand.
mlir::ElementsAttr withType(mlir::ElementsAttr constant,
                            mlir::RankedTensorType type);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_TRANSFORMS_CONSTANTTENSORS_H
