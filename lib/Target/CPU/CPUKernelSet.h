//===-- CPUKernelSet.h - Kernels as functions, run in parallel --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On the CPU a kernel is a private function, launched by a call to
// @kernel.parallel(count, grain, arguments...): a declaration that
// blockscale-cpu-lower-parallel-calls turns into one parallel-for of the
// runtime.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_TARGET_CPU_CPUKERNELSET_H
#define BLOCKSCALE_LIB_TARGET_CPU_CPUKERNELSET_H

#include "blockscale/Kernels/KernelSet.h"

namespace blockscale::cpu {

class CPUKernelSet : public kernels::KernelSet {
public:
  explicit CPUKernelSet(mlir::ModuleOp module);

  void launch(mlir::OpBuilder &builder, mlir::Location loc,
              mlir::func::FuncOp kernel, mlir::Value count, mlir::Value grain,
              mlir::ValueRange arguments) override;
  void fillZero(mlir::OpBuilder &builder, mlir::Location loc,
                mlir::Value buffer) override;
  void atomicUMax(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value value, mlir::Value buffer) override;

protected:
  mlir::func::FuncOp create(mlir::Location loc, llvm::StringRef name,
                            mlir::TypeRange argumentTypes,
                            kernels::KernelBody body) override;

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::func::FuncOp> launchers;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_TARGET_CPU_CPUKERNELSET_H
