//===-- StorageConversion.h - The parts of the conversion -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_LIB_CONVERSION_STORAGECONVERSION_H
#define BLOCKSCALE_LIB_CONVERSION_STORAGECONVERSION_H

#include "mlir/Transforms/DialectConversion.h"

#include <string>

namespace blockscale {

/// arith.constant.
void populateStorageConstantConversion(const mlir::TypeConverter &converter,
                                       mlir::RewritePatternSet &patterns);

/// What moves elements and does not look at them: tensor.dim, casts, slices,
/// reshapes, concat, select, transpose.
void populateStorageShapeConversion(const mlir::TypeConverter &converter,
                                    mlir::RewritePatternSet &patterns);

/// Why populateStorageShapeConversion() can't convert `op`, empty if it can;
/// nothing if `op` is none of its operations.
std::optional<std::string> whyShapeIsNotConverted(mlir::Operation *op);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_STORAGECONVERSION_H
