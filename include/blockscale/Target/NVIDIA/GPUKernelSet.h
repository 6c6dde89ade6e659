//===-- GPUKernelSet.h - Kernels in a gpu.module ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two kinds of kernels live in the gpu.module @blockscale_kernels: those of
// lib/Kernels, where each thread takes one work item, and those that a schedule
// writes for whole blocks of threads (createRaw).
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TARGET_NVIDIA_GPUKERNELSET_H
#define BLOCKSCALE_TARGET_NVIDIA_GPUKERNELSET_H

#include "blockscale/Kernels/KernelSet.h"
#include "blockscale/Target/NVIDIA/Chips.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace blockscale::nvidia {

/// How a block of threads starts.
struct LaunchShape {
  int32_t threads = 128;
  int32_t cluster = 1;
  /// Dynamic shared memory, in bytes.
  int32_t sharedBytes = 0;
  /// Blocks loop over the work: of the grid's x extent, which counts the work,
  /// as many start as the device runs at a time.
  bool persistent = false;
  /// Blocks may start before the kernel before it has ended, as soon as all of
  /// its blocks have let them (releaseNext) or ended; they wait for its results
  /// (awaitPrevious) before they read these or write anything.
  bool overlaps = false;
  /// Blocks that a multiprocessor is to hold at a time: ptxas gives a thread as
  /// many registers as that allows. 0: it guesses.
  int32_t resident = 0;
};

class GPUKernelSet : public kernels::KernelSet {
public:
  GPUKernelSet(mlir::ModuleOp module, const Chip &chip);
  ~GPUKernelSet() override;

  const Chip &getChip() const { return chip; }
  mlir::ModuleOp getModule() const { return module; }

  const kernels::ThreadOps &threadOps() const override;
  void launch(mlir::OpBuilder &builder, mlir::Location loc,
              mlir::func::FuncOp kernel, mlir::Value count, mlir::Value grain,
              mlir::ValueRange arguments) override;
  void fillZero(mlir::OpBuilder &builder, mlir::Location loc,
                mlir::Value buffer) override;
  void atomicUMax(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value value, mlir::Value buffer) override;

  /// A kernel of its own shape, made once for `key`. The body sees the kernel's
  /// arguments, whose types may be index, integers, floats, flat memrefs,
  /// `!llvm.ptr<1>` (global memory) and `!llvm.ptr` (a 128-byte tensor map by
  /// value).
  mlir::func::FuncOp
  getOrCreateRaw(mlir::Location loc, llvm::StringRef name, llvm::StringRef key,
                 mlir::TypeRange argumentTypes, const LaunchShape &shape,
                 llvm::function_ref<void(mlir::OpBuilder &, mlir::Location,
                                         mlir::ValueRange)>
                     body);

  /// Starts a raw kernel on a grid of blocks (index values). For an argument
  /// of type `!llvm.ptr<1>` pass a flat memref; for a tensor map the address
  /// (`!llvm.ptr`) of its 128 bytes.
  void launchRaw(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::func::FuncOp kernel, mlir::ValueRange grid,
                 mlir::ValueRange arguments);

protected:
  mlir::func::FuncOp create(mlir::Location loc, llvm::StringRef name,
                            mlir::TypeRange argumentTypes,
                            kernels::KernelBody body) override;

private:
  mlir::func::FuncOp addKernel(mlir::Location loc, llvm::StringRef name,
                               mlir::TypeRange argumentTypes,
                               const LaunchShape &shape);
  /// Calls the launcher of `kernel`, which is declared when first needed.
  void callLauncher(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::func::FuncOp kernel, mlir::ValueRange operands);

  mlir::ModuleOp module;
  const Chip &chip;
  std::unique_ptr<kernels::ThreadOps> ops;
  mlir::gpu::GPUModuleOp device;
  mlir::SymbolTable hostSymbols, deviceSymbols;
  llvm::StringMap<mlir::func::FuncOp> rawKernels, launchers;
};

} // namespace blockscale::nvidia

#endif // BLOCKSCALE_TARGET_NVIDIA_GPUKERNELSET_H
