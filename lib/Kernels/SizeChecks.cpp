//===-- SizeChecks.cpp - Dynamic sizes that must agree --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Kernels/SizeChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace blockscale;

/// The runtime's blockscaleFailSize(what, expected, actual).
static constexpr llvm::StringLiteral kFailure = "blockscaleFailSize";

static LLVM::LLVMFuncOp declareFailure(ModuleOp module) {
  if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(kFailure))
    return existing;
  MLIRContext *context = module.getContext();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type i64 = builder.getI64Type();
  return LLVM::LLVMFuncOp::create(
      builder, module.getLoc(), kFailure,
      LLVM::LLVMFunctionType::get(
          LLVM::LLVMVoidType::get(context),
          {LLVM::LLVMPointerType::get(context), i64, i64}));
}

/// The address of a constant string, one global per text.
static Value addressOfText(OpBuilder &builder, Location loc, ModuleOp module,
                           StringRef text) {
  std::string name = ("blockscale.what." + Twine(llvm::hash_value(text))).str();
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder moduleBuilder = OpBuilder::atBlockEnd(module.getBody());
    std::string terminated = text.str();
    terminated.push_back('\0');
    auto type =
        LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size());
    global =
        LLVM::GlobalOp::create(moduleBuilder, module.getLoc(), type,
                               /*isConstant=*/true, LLVM::Linkage::Internal,
                               name, builder.getStringAttr(terminated));
  }
  return LLVM::AddressOfOp::create(builder, loc, global);
}

void kernels::requireSize(OpBuilder &builder, Location loc, const Twine &what,
                          Value actual, Value expected) {
  if (actual == expected || (matchPattern(actual, m_Constant()) &&
                             matchPattern(expected, m_Constant())))
    return;
  auto module = builder.getBlock()->getParentOp()->getParentOfType<ModuleOp>();
  LLVM::LLVMFuncOp failure = declareFailure(module);
  Value differs = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                        actual, expected);
  scf::IfOp::create(builder, loc, differs, [&](OpBuilder &inner, Location) {
    auto wide = [&](Value size) -> Value {
      return arith::IndexCastOp::create(inner, loc, inner.getI64Type(), size);
    };
    Value text = addressOfText(inner, loc, module, what.str());
    LLVM::CallOp::create(inner, loc, failure,
                         ValueRange{text, wide(expected), wide(actual)});
    scf::YieldOp::create(inner, loc);
  });
}

void kernels::requireSizes(OpBuilder &builder, Location loc, const Twine &what,
                           ArrayRef<Value> actual, ArrayRef<Value> expected) {
  assert(actual.size() == expected.size() && "verifiers compare the ranks");
  for (size_t dim = 0; dim < actual.size(); ++dim)
    requireSize(builder, loc, what + ", dimension " + Twine(dim), actual[dim],
                expected[dim]);
}
