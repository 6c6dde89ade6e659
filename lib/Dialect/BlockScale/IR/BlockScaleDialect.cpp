//===-- BlockScaleDialect.cpp - Dialect registration ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

#include "AssemblyFormat.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace blockscale;

#include "blockscale/Dialect/BlockScale/IR/BlockScaleDialect.cpp.inc"

void BlockScaleDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "blockscale/Dialect/BlockScale/IR/BlockScaleOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "blockscale/Dialect/BlockScale/IR/BlockScaleOps.cpp.inc"
