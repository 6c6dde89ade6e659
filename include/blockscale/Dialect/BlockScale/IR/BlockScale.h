//===-- BlockScale.h - The dialect and its operations -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_DIALECT_BLOCKSCALE_IR_BLOCKSCALE_H
#define BLOCKSCALE_DIALECT_BLOCKSCALE_IR_BLOCKSCALE_H

#include "blockscale/Dialect/BlockScale/IR/BlockScaleAttrs.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "blockscale/Dialect/BlockScale/IR/BlockScaleDialect.h.inc"

#define GET_OP_CLASSES
#include "blockscale/Dialect/BlockScale/IR/BlockScaleOps.h.inc"

#endif // BLOCKSCALE_DIALECT_BLOCKSCALE_IR_BLOCKSCALE_H
