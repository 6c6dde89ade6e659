//===-- StorageTypes.h - How block-scaled tensors lie in memory -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one type conversion from what the numbers are (tensor<4x64xf4E2M1FN>)
// to what memory holds (tensor<4x32xi8>). Rules layout_* in docs/Spec.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_CONVERSION_STORAGETYPES_H
#define BLOCKSCALE_CONVERSION_STORAGETYPES_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Transforms/DialectConversion.h"

namespace blockscale {

/// The tensor that holds `type` in memory: 4-bit elements two per byte with
/// the even index in the low nibble, other elements below 8 bits and every
/// 8-bit float as i8, tiled scales as [batch..., bytes] of i8. Types that
/// memory holds as they are come back unchanged.
mlir::RankedTensorType getStorageType(mlir::RankedTensorType type);

/// Bits of an element of `type` in memory: 4, 8, 16, 32 or 64.
unsigned getStorageWidth(mlir::Type elementType);

/// How memory differs from the tensor type.
enum class Storage {
  Same,   ///< Not at all.
  Bytes,  ///< A byte per element, the same shape.
  Packed, ///< Two elements per byte: the innermost extent is halved.
  Tiled,  ///< Tiles of scales: another shape.
};
Storage getStorage(mlir::Type type);

/// Converts ranked tensors by getStorageType() and nothing else.
class StorageTypeConverter : public mlir::TypeConverter {
public:
  StorageTypeConverter();
};

/// Function signatures, calls, returns, branches, scf structure, constants and
/// what moves elements without looking at them (slices along whole bytes,
/// reshapes, tensor.concat, select, ...), over storage types. Marks operations
/// legal in `target` once their types are.
void populateStorageConversion(const mlir::TypeConverter &converter,
                               mlir::RewritePatternSet &patterns,
                               mlir::ConversionTarget &target);

/// Emits one error on the first operation below `root`, blockscale's own aside,
/// that works on tensors in storage and that the conversion does not know.
mlir::LogicalResult verifyStorageConversion(mlir::Operation *root);

} // namespace blockscale

#endif // BLOCKSCALE_CONVERSION_STORAGETYPES_H
