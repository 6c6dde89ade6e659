//===-- KernelBuilder.h - Kernels as functions over flat buffers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On the CPU a kernel is a private function
//   @kernel(begin: index, end: index, arguments...)
// that does the work items [begin, end) on buffers seen as flat arrays
// (memref<?xT>). It is launched by a call to @kernel.parallel(count, grain,
// arguments...), a declaration that blockscale-cpu-lower-parallel-calls turns
// into one parallel-for of the runtime.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TARGET_CPU_KERNELBUILDER_H
#define BLOCKSCALE_TARGET_CPU_KERNELBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringMap.h"

namespace blockscale::cpu {

/// On the declaration that launches a kernel: the kernel's symbol.
inline constexpr llvm::StringLiteral kParallelAttr = "blockscale.parallel";

using KernelBody = llvm::function_ref<void(mlir::OpBuilder &, mlir::Location,
                                           mlir::Value begin, mlir::Value end,
                                           mlir::ValueRange arguments)>;

/// Creates the kernels of one module, each once.
class KernelSet {
public:
  explicit KernelSet(mlir::ModuleOp module);

  /// The kernel made for `key` (which must say all that its body depends on),
  /// or a new one named after `name`.
  mlir::func::FuncOp getOrCreate(mlir::Location loc, llvm::StringRef name,
                                 llvm::StringRef key,
                                 mlir::TypeRange argumentTypes,
                                 KernelBody body);

  /// Calls `kernel` on `count` items. At most `grain` items run without asking
  /// other threads for help: make it some 10 us of work.
  void launch(mlir::OpBuilder &builder, mlir::Location loc,
              mlir::func::FuncOp kernel, mlir::Value count, mlir::Value grain,
              mlir::ValueRange arguments);

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::func::FuncOp> kernels;
  llvm::StringMap<mlir::func::FuncOp> launchers;
};

/// Index arithmetic that reads like arithmetic.
class IndexMath {
public:
  IndexMath(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, constant(b)); }
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b) { return mul(a, constant(b)); }
  mlir::Value div(mlir::Value a, int64_t b) { return div(a, constant(b)); }
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, int64_t b) { return rem(a, constant(b)); }
  mlir::Value rem(mlir::Value a, mlir::Value b);
  mlir::Value ceilDiv(mlir::Value a, int64_t b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// scf.for over [lower, upper) by `step`; `body` gets the induction variable.
void forRange(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lower,
              mlir::Value upper, int64_t step,
              llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

/// `buffer` as memref<?xT>.
mlir::Value flatten(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value buffer);
/// memref<?x`element`>.
mlir::MemRefType flatType(mlir::Type element);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_TARGET_CPU_KERNELBUILDER_H
