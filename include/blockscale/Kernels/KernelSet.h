//===-- KernelSet.h - Where kernels go and how they start -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of lib/Kernels are written once, as functions
//   @kernel(begin: index, end: index, buffers...)
// that do the work items [begin, end) on buffers seen as flat arrays
// (memref<?xT>). A target says what a work item is, where the function goes
// and how a range of items is spread over its threads.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_KERNELS_KERNELSET_H
#define BLOCKSCALE_KERNELS_KERNELSET_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringMap.h"

namespace blockscale::kernels {

class ThreadOps;

using KernelBody = llvm::function_ref<void(mlir::OpBuilder &, mlir::Location,
                                           mlir::Value begin, mlir::Value end,
                                           mlir::ValueRange arguments)>;

/// How finely a kernel's work is divided.
enum class ItemSize {
  Row,   ///< An item is a row of blocks: few threads, each with much work.
  Block, ///< An item is a block: many threads, each with little.
};

/// The kernels of one module, each made once.
class KernelSet {
public:
  virtual ~KernelSet() = default;

  ItemSize itemSize() const { return items; }
  virtual const ThreadOps &threadOps() const;
  /// Bytes to which every buffer is aligned, beyond its element type.
  int64_t bufferAlignment() const { return alignment; }

  /// The kernel made for `key` (which says all that its body depends on), or a
  /// new one named after `name`.
  mlir::func::FuncOp getOrCreate(mlir::Location loc, llvm::StringRef name,
                                 llvm::StringRef key,
                                 mlir::TypeRange argumentTypes,
                                 KernelBody body);

  /// Runs `kernel` on `count` items. At most `grain` items run without asking
  /// other threads for help: some 10 us of work.
  virtual void launch(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::func::FuncOp kernel, mlir::Value count,
                      mlir::Value grain, mlir::ValueRange arguments) = 0;

  /// Sets every byte of a flat buffer to zero, before later launches.
  virtual void fillZero(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value buffer) = 0;

  /// In a kernel, outside loops over items: buffer[0] = max(buffer[0], value)
  /// for an i32 of every thread that runs it.
  virtual void atomicUMax(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, mlir::Value buffer) = 0;

protected:
  KernelSet(ItemSize items, int64_t alignment)
      : items(items), alignment(alignment) {}
  /// Makes the function for a body.
  virtual mlir::func::FuncOp create(mlir::Location loc, llvm::StringRef name,
                                    mlir::TypeRange argumentTypes,
                                    KernelBody body) = 0;

private:
  ItemSize items;
  int64_t alignment;
  llvm::StringMap<mlir::func::FuncOp> made;
};

} // namespace blockscale::kernels

#endif // BLOCKSCALE_KERNELS_KERNELSET_H
