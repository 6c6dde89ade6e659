//===-- AssemblyFormat.cpp - Custom directives of the assembly formats
//-----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AssemblyFormat.h"

using namespace mlir;
using namespace blockscale;

using Operand = OpAsmParser::UnresolvedOperand;

/// Which of the four results a type belongs to follows from format and rule.
ParseResult blockscale::parseScaleResults(OpAsmParser &parser,
                                          FormatAttr format, ScaleRuleAttr rule,
                                          Type &scales, Type &tensorScale,
                                          Type &zeros, Type &encode) {
  SMLoc location = parser.getCurrentLocation();
  SmallVector<Type, 4> types;
  if (parser.parseTypeList(types))
    return failure();
  SmallVector<Type *, 4> slots = {&scales};
  if (format.hasTensorScale())
    slots.push_back(&tensorScale);
  if (format.hasZeroPoints())
    slots.push_back(&zeros);
  if (rule.getValue().hasEncodeFactor())
    slots.push_back(&encode);
  if (types.size() != slots.size())
    return parser.emitError(location, "expects ")
           << slots.size() << " result types from " << format << " by " << rule
           << " (scales" << (format.hasTensorScale() ? ", tensor scale" : "")
           << (format.hasZeroPoints() ? ", zero points" : "")
           << (rule.getValue().hasEncodeFactor() ? ", encode factors" : "")
           << "), but got " << types.size();
  for (auto [slot, type] : llvm::zip(slots, types))
    *slot = type;
  return success();
}

void blockscale::printScaleResults(OpAsmPrinter &printer, Operation *,
                                   FormatAttr, ScaleRuleAttr, Type scales,
                                   Type tensorScale, Type zeros, Type encode) {
  printer << scales;
  for (Type type : {tensorScale, zeros, encode})
    if (type)
      printer << ", " << type;
}

/// operand-list `:` type-list (`as` format)?
ParseResult blockscale::parseMatmulSide(
    OpAsmParser &parser, Operand &values, Type &valuesType,
    std::optional<Operand> &scales, Type &scalesType,
    std::optional<Operand> &tensorScale, Type &tensorScaleType,
    std::optional<Operand> &zeros, Type &zerosType, FormatAttr &format) {
  SmallVector<Operand, 4> operands;
  SmallVector<Type, 4> types;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseOperandList(operands) || parser.parseColonTypeList(types))
    return failure();
  if (operands.empty() || operands.size() != types.size())
    return parser.emitError(location, "expects as many types as operands, but "
                                      "got ")
           << operands.size() << " operands and " << types.size() << " types";
  if (succeeded(parser.parseOptionalKeyword("as")) &&
      parser.parseAttribute(format))
    return failure();

  // Which companions the elements have follows from the format.
  size_t count = 1;
  if (format)
    count += 1 + format.hasTensorScale() + format.hasZeroPoints();
  if (operands.size() != count) {
    InFlightDiagnostic error = parser.emitError(location, "expects ");
    if (format)
      error << count << " operands of " << format << " (elements, scales"
            << (format.hasTensorScale() ? ", tensor scale" : "")
            << (format.hasZeroPoints() ? ", zero points" : "") << ")";
    else
      error << "1 operand of a plain side";
    error << ", but got " << operands.size();
    if (!format)
      error << "; add `as` and the format of the elements";
    return error;
  }

  values = operands[0];
  valuesType = types[0];
  size_t next = 1;
  auto take = [&](std::optional<Operand> &operand, Type &type) {
    operand = operands[next];
    type = types[next++];
  };
  if (!format)
    return success();
  take(scales, scalesType);
  if (format.hasTensorScale())
    take(tensorScale, tensorScaleType);
  if (format.hasZeroPoints())
    take(zeros, zerosType);
  return success();
}

void blockscale::printMatmulSide(OpAsmPrinter &printer, Operation *,
                                 Value values, Type, Value scales, Type,
                                 Value tensorScale, Type, Value zeros, Type,
                                 FormatAttr format) {
  SmallVector<Value, 4> operands = {values};
  for (Value companion : {scales, tensorScale, zeros})
    if (companion)
      operands.push_back(companion);
  printer << operands << " : ";
  llvm::interleaveComma(ValueRange(operands).getTypes(), printer);
  if (format)
    printer << " as " << format;
}

/// (`epilogue` (`(` operand-list `:` type-list `)`)? region)?
ParseResult blockscale::parseEpilogue(OpAsmParser &parser,
                                      SmallVectorImpl<Operand> &operands,
                                      SmallVectorImpl<Type> &types,
                                      Region &region) {
  if (failed(parser.parseOptionalKeyword("epilogue")))
    return success();
  SMLoc location = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalLParen()) &&
      (parser.parseOperandList(operands) || parser.parseColonTypeList(types) ||
       parser.parseRParen()))
    return failure();
  if (operands.size() != types.size())
    return parser.emitError(location, "expects as many types as operands, but "
                                      "got ")
           << operands.size() << " operands and " << types.size() << " types";
  location = parser.getCurrentLocation();
  if (parser.parseRegion(region))
    return failure();
  if (region.empty())
    return parser.emitError(location, "expects an epilogue that yields a "
                                      "value, but got an empty one");
  return success();
}

void blockscale::printEpilogue(OpAsmPrinter &printer, Operation *,
                               OperandRange operands, TypeRange types,
                               Region &region) {
  if (region.empty())
    return;
  printer << " epilogue";
  if (!operands.empty())
    printer << '(' << operands << " : " << types << ')';
  printer << ' ';
  printer.printRegion(region);
}
