//===-- Annotations.cpp - Discardable attributes are checked ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Dialect/BlockScale/IR/Annotations.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace blockscale;

static InFlightDiagnostic unknown(Operation *op, NamedAttribute attribute,
                                  StringRef place, ArrayRef<StringRef> known) {
  return op->emitOpError("expects ")
         << llvm::join(known, " or ") << " " << place << ", but got "
         << attribute.getName();
}

LogicalResult
BlockScaleDialect::verifyOperationAttribute(Operation *op,
                                            NamedAttribute attribute) {
  StringRef name = attribute.getName();
  // Their readers check these; they are not for people to write.
  if (llvm::is_contained({kRoleAttr, kEntryAttr, kParallelAttr, kLaunchAttr},
                         name))
    return success();
  if (name != kTileAttr && name != kOperandsAttr)
    return unknown(op, attribute, "on an op", {kTileAttr, kOperandsAttr});
  if (!isa<ScaledMatmulOp>(op))
    return op->emitOpError("expects ")
           << name << " on " << ScaledMatmulOp::getOperationName()
           << ", whose kernel it chooses";
  if (name == kTileAttr) {
    auto sizes = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
    if (!sizes || sizes.size() != 4)
      return op->emitOpError("expects ")
             << kTileAttr << " = array<i64: m, n, k, stages>, but got "
             << attribute.getValue();
    // So that no product of them overflows.
    constexpr int64_t most = 1 << 16;
    if (llvm::any_of(sizes.asArrayRef(),
                     [](int64_t size) { return size < 1 || size > most; }))
      return op->emitOpError("expects ")
             << kTileAttr << " of sizes from 1 to " << most << ", but got "
             << attribute.getValue();
    return success();
  }
  if (!isa<StringAttr>(attribute.getValue()))
    return op->emitOpError("expects ")
           << kOperandsAttr << " = a string such as \"e4m3\", but got "
           << attribute.getValue();
  if (!op->hasAttr(kTileAttr))
    return op->emitOpError("expects ")
           << kTileAttr << " beside " << kOperandsAttr << ", whose tile it is";
  return success();
}

LogicalResult
BlockScaleDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                            NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kInvariantAttr && !isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError("expects ")
           << name << " without a value, but got " << attribute.getValue();
  if (llvm::is_contained({kSeedAttr, kInvariantAttr, kByValueAttr}, name))
    return success();
  return unknown(op, attribute, "on an argument", {kSeedAttr, kInvariantAttr});
}

LogicalResult BlockScaleDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  return op->emitOpError("expects no attribute blockscale.* on a result, but "
                         "got ")
         << attribute.getName();
}
