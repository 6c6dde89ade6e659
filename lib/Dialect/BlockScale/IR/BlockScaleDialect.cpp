//===-- BlockScaleDialect.cpp - Dialect registration ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

#include "AssemblyFormat.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace blockscale;

#include "blockscale/Dialect/BlockScale/IR/BlockScaleDialect.cpp.inc"
#include "blockscale/Dialect/BlockScale/IR/BlockScaleEnums.cpp.inc"

namespace {
/// Every op may move into another function, epilogues included.
struct BlockScaleInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void BlockScaleDialect::initialize() {
  registerAttributes();
  addInterfaces<BlockScaleInliner>();
  addOperations<
#define GET_OP_LIST
#include "blockscale/Dialect/BlockScale/IR/BlockScaleOps.cpp.inc"
      >();
}

Operation *BlockScaleDialect::materializeConstant(OpBuilder &builder,
                                                  Attribute value, Type type,
                                                  Location location) {
  return arith::ConstantOp::materialize(builder, value, type, location);
}

#define GET_OP_CLASSES
#include "blockscale/Dialect/BlockScale/IR/BlockScaleOps.cpp.inc"
