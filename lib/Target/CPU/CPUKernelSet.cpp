//===-- CPUKernelSet.cpp - Kernels as functions, launched in parallel -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CPUKernelSet.h"
#include "blockscale/Dialect/BlockScale/IR/Annotations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::cpu;

CPUKernelSet::CPUKernelSet(ModuleOp module)
    : KernelSet(kernels::ItemSize::Row, /*alignment=*/1), module(module),
      symbols(module) {}

func::FuncOp CPUKernelSet::create(Location loc, StringRef name,
                                  TypeRange argumentTypes,
                                  kernels::KernelBody body) {
  OpBuilder builder(module.getContext());
  SmallVector<Type> inputs(2, builder.getIndexType());
  llvm::append_range(inputs, argumentTypes);
  auto kernel = func::FuncOp::create(builder, loc, name,
                                     builder.getFunctionType(inputs, {}));
  kernel.setPrivate();
  symbols.insert(kernel); // Renames on collision.
  Block *entry = kernel.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  body(builder, loc, entry->getArgument(0), entry->getArgument(1),
       entry->getArguments().drop_front(2));
  func::ReturnOp::create(builder, loc);
  return kernel;
}

void CPUKernelSet::launch(OpBuilder &builder, Location loc, func::FuncOp kernel,
                          Value count, Value grain, ValueRange arguments) {
  func::FuncOp &launcher = launchers[kernel.getSymName()];
  if (!launcher) {
    OpBuilder moduleBuilder(module.getContext());
    launcher = func::FuncOp::create(moduleBuilder, loc,
                                    (kernel.getSymName() + ".parallel").str(),
                                    kernel.getFunctionType());
    launcher.setPrivate();
    launcher->setAttr(kParallelAttr,
                      FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
    symbols.insert(launcher);
  }
  SmallVector<Value> operands{count, grain};
  llvm::append_range(operands, arguments);
  func::CallOp::create(builder, loc, launcher, operands);
}

void CPUKernelSet::fillZero(OpBuilder &builder, Location loc, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  linalg::FillOp::create(builder, loc, zero, buffer);
}

void CPUKernelSet::atomicUMax(OpBuilder &builder, Location loc, Value value,
                              Value buffer) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  memref::AtomicRMWOp::create(builder, loc, arith::AtomicRMWKind::maxu, value,
                              buffer, ValueRange{zero});
}
