//===-- AssemblyFormat.h - Custom directives of the formats -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions behind `custom<...>` in the ops' assembly formats.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_IR_ASSEMBLYFORMAT_H
#define BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_IR_ASSEMBLYFORMAT_H

#include "blockscale/Dialect/BlockScale/IR/BlockScale.h"

namespace blockscale {

mlir::ParseResult parseScaleResults(mlir::OpAsmParser &parser,
                                    FormatAttr format, ScaleRuleAttr rule,
                                    mlir::Type &scales, mlir::Type &tensorScale,
                                    mlir::Type &zeros, mlir::Type &encode);

void printScaleResults(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                       FormatAttr format, ScaleRuleAttr rule, mlir::Type scales,
                       mlir::Type tensorScale, mlir::Type zeros,
                       mlir::Type encode);

mlir::ParseResult parseMatmulSide(
    mlir::OpAsmParser &parser, mlir::OpAsmParser::UnresolvedOperand &values,
    mlir::Type &valuesType,
    std::optional<mlir::OpAsmParser::UnresolvedOperand> &scales,
    mlir::Type &scalesType,
    std::optional<mlir::OpAsmParser::UnresolvedOperand> &tensorScale,
    mlir::Type &tensorScaleType,
    std::optional<mlir::OpAsmParser::UnresolvedOperand> &zeros,
    mlir::Type &zerosType, FormatAttr &format);

void printMatmulSide(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                     mlir::Value values, mlir::Type valuesType,
                     mlir::Value scales, mlir::Type scalesType,
                     mlir::Value tensorScale, mlir::Type tensorScaleType,
                     mlir::Value zeros, mlir::Type zerosType,
                     FormatAttr format);

mlir::ParseResult parseEpilogue(
    mlir::OpAsmParser &parser,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &operands,
    llvm::SmallVectorImpl<mlir::Type> &types, mlir::Region &region);

void printEpilogue(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                   mlir::OperandRange operands, mlir::TypeRange types,
                   mlir::Region &region);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DIALECT_BLOCKSCALE_IR_ASSEMBLYFORMAT_H
