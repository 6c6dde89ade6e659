//===-- StorageChecks.cpp - What the conversion to storage can't do -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looked for before anything is converted, so that one error says what to do.
//
//===----------------------------------------------------------------------===//
#include "StorageConversion.h"

#include "blockscale/Conversion/StorageTypes.h"
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace blockscale;

/// Operations that pass tensors on, whatever they hold.
static bool isTransparent(Operation *op) {
  return isa<BranchOpInterface, func::FuncOp, func::CallOp, func::ReturnOp,
             scf::ForOp, scf::IfOp, scf::WhileOp, scf::ConditionOp,
             scf::YieldOp>(op);
}

static Type firstStored(Operation *op) {
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (getStorage(type) != Storage::Same)
        return type;
  return {};
}

static LogicalResult verify(Operation *op) {
  Type stored = firstStored(op);
  if (!stored || isTransparent(op))
    return success();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (isa<DenseElementsAttr, DenseResourceElementsAttr>(constant.getValue()))
      return success();
    return op->emitOpError("expects a dense constant, but got ")
           << constant.getValue();
  }
  std::optional<std::string> why = whyShapeIsNotConverted(op);
  if (!why)
    return op->emitOpError("computes on ")
           << stored
           << ", whose elements are codes in bytes here: expects "
              "blockscale.dequantize before it and blockscale.quantize after";
  if (!why->empty())
    return op->emitOpError(*why);
  return success();
}

LogicalResult blockscale::verifyStorageConversion(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
    if (isa_and_present<BlockScaleDialect>(op->getDialect()))
      return WalkResult::skip();
    return failed(verify(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
