//===-- MatmulEpilogue.cpp - From f64 sums to the stored result -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MatmulKernel.h"
#include "blockscale/Kernels/LaneAccess.h"
#include "blockscale/Kernels/Patterns.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::cpu;
using namespace blockscale::kernels;

/// Columns finished at a time.
static constexpr int64_t kEpilogueLanes = 16;

std::string MatmulEpilogue::key() const {
  std::string text = kernelKey(out.getType(), c ? c.getType() : Type());
  llvm::raw_string_ostream os(text);
  for (const Operand &operand : operands)
    os << operand.buffer.getType() << operand.variesWithRow
       << operand.variesWithCol << '|';
  if (region)
    for (Operation &op : region->front())
      os << op << '|';
  return text;
}

SmallVector<Type> MatmulEpilogue::argumentTypes() const {
  Type index = IndexType::get(alpha.getContext());
  SmallVector<Type> types{alpha.getType(), out.getType(), index};
  if (c)
    types.push_back(c.getType());
  for (const Operand &operand : operands)
    types.push_back(operand.buffer.getType());
  types.append(operands.size(), index);
  return types;
}

SmallVector<Value> MatmulEpilogue::arguments(Value outBase,
                                             ValueRange operandBases) const {
  SmallVector<Value> values{alpha, out, outBase};
  if (c)
    values.push_back(c);
  for (const Operand &operand : operands)
    values.push_back(operand.buffer);
  llvm::append_range(values, operandBases);
  return values;
}

Value MatmulEpilogue::applyRegion(OpBuilder &builder, Location loc,
                                  ArrayRef<Value> blockArguments) const {
  // Every op is elementwise (the pattern checked): the same op over vectors.
  IRMapping mapping;
  auto toLanes = [&](Type type) {
    return VectorType::get({kEpilogueLanes}, type);
  };
  auto splat = [&](Value scalar) -> Value {
    return vector::BroadcastOp::create(builder, loc, toLanes(scalar.getType()),
                                       scalar);
  };
  Block &block = region->front();
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), blockArguments)) {
    // Buffers hold i1 as i8.
    mapping.map(argument,
                argument.getType().isInteger(1)
                    ? arith::TruncIOp::create(
                          builder, loc, toLanes(argument.getType()), value)
                          .getResult()
                    : value);
  }
  for (Operation &op : block.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>()) {
      Operation *constant = builder.clone(op);
      mapping.map(op.getResult(0), splat(constant->getResult(0)));
      continue;
    }
    Operation *lanes = builder.clone(op, mapping);
    for (auto [scalar, vector] :
         llvm::zip_equal(op.getResults(), lanes->getResults())) {
      vector.setType(toLanes(scalar.getType()));
      mapping.map(scalar, vector);
    }
  }
  return mapping.lookup(block.getTerminator()->getOperand(0));
}

void MatmulEpilogue::emitRow(OpBuilder &builder, Location loc, ValueRange args,
                             Value sums, Value sumsIndex, Value row, Value n0,
                             Value count, Value cols) const {
  Value alphaArg = args[0], outArg = args[1], outBase = args[2];
  args = args.drop_front(3);
  Value cArg;
  if (c) {
    cArg = args.front();
    args = args.drop_front(1);
  }
  ValueRange buffers = args.take_front(operands.size());
  ValueRange bases = args.take_back(operands.size());

  IndexMath math(builder, loc);
  auto emitLanes = [&](OpBuilder &inner, Value group) {
    IndexMath at(inner, loc);
    IRValueBuilder b(inner, loc);
    Value col = at.add(n0, group);
    Value valid = at.min(at.sub(count, group), at.constant(kEpilogueLanes));
    Value mask = vector::CreateMaskOp::create(
        inner, loc, VectorType::get({kEpilogueLanes}, inner.getI1Type()),
        ValueRange{valid});
    auto load = [&](Value buffer, Value index) -> Value {
      auto type =
          VectorType::get({kEpilogueLanes},
                          cast<MemRefType>(buffer.getType()).getElementType());
      Value zero =
          arith::ConstantOp::create(inner, loc, inner.getZeroAttr(type));
      return vector::MaskedLoadOp::create(inner, loc, type, buffer,
                                          ValueRange{index}, mask, zero);
    };
    auto wideType = VectorType::get({kEpilogueLanes}, inner.getF64Type());
    Value wide = vector::LoadOp::create(inner, loc, wideType, sums,
                                        ValueRange{at.add(sumsIndex, group)});
    Value alphas = vector::BroadcastOp::create(inner, loc, wideType, alphaArg);
    wide = arith::MulFOp::create(inner, loc, wide, alphas);
    Value outIndex = at.add(at.add(outBase, at.mul(row, cols)), col);
    if (cArg) {
      Value addend = load(cArg, outIndex);
      if (!getElementTypeOrSelf(addend.getType()).isF64())
        addend = arith::ExtFOp::create(inner, loc, wideType, addend);
      wide = arith::AddFOp::create(inner, loc, wide, addend);
    }
    Value result = arith::TruncFOp::create(
        inner, loc, withLanesOf(inner.getF32Type(), wideType), wide);
    if (region) {
      SmallVector<Value> blockArguments{result};
      for (auto [operand, buffer, base] :
           llvm::zip_equal(operands, buffers, bases)) {
        Value index = base;
        if (operand.variesWithRow)
          index =
              at.add(index, operand.variesWithCol ? at.mul(row, cols) : row);
        if (operand.variesWithCol) {
          blockArguments.push_back(load(buffer, at.add(index, col)));
          continue;
        }
        Value scalar =
            memref::LoadOp::create(inner, loc, buffer, ValueRange{index});
        blockArguments.push_back(vector::BroadcastOp::create(
            inner, loc, VectorType::get({kEpilogueLanes}, scalar.getType()),
            scalar));
      }
      result = applyRegion(inner, loc, blockArguments);
    } else {
      result = roundReals(b, result,
                          cast<MemRefType>(outArg.getType()).getElementType());
    }
    vector::MaskedStoreOp::create(inner, loc, outArg, ValueRange{outIndex},
                                  mask, result);
  };
  forRange(builder, loc, math.constant(0), count, kEpilogueLanes, emitLanes);
}
