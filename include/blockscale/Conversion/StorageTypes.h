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

/// Converts ranked tensors by getStorageType() and nothing else.
class StorageTypeConverter : public mlir::TypeConverter {
public:
  StorageTypeConverter();
};

/// Function signatures, calls, returns, scf structure, tensor.dim, tensor.cast,
/// tensor.empty and constants, over storage types. Marks them legal in `target`
/// once their types are.
void populateStorageConversion(const mlir::TypeConverter &converter,
                               mlir::RewritePatternSet &patterns,
                               mlir::ConversionTarget &target);

} // namespace blockscale

#endif // BLOCKSCALE_CONVERSION_STORAGETYPES_H
