//===-- Passes.td - Passes of the NVIDIA targets -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_NVIDIA_PASSES_TD
#define BLOCKSCALE_TARGET_NVIDIA_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToNVIDIAPass : Pass<"blockscale-lower-to-nvidia", "::mlir::ModuleOp"> {
  let summary = "turn every blockscale op into launches of GPU kernels";
  let description = [{
    Before: any blockscale op over tensors. After: none; tensors have storage
    types, each op has become allocations and calls `@kernel.launch(...)`, and
    the kernels are functions in the `gpu.module @blockscale_kernels`. A call
    names its kernel, threads and shared memory in `blockscale.launch`.
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_90a\"",
           "The chip to generate code for, as ptxas spells it.">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def LowerLaunchCallsPass
    : Pass<"blockscale-nvidia-lower-launches", "::mlir::ModuleOp"> {
  let summary = "give kernel launchers a body that calls the runtime";
  let description = [{
    Runs on the LLVM dialect of the host. A declaration with
    `blockscale.launch = {kernel, block, cluster, shared}` whose arguments are
    the grid's extents and the kernel's parameters gets a body that calls
    `blockscaleGpuLaunch` (docs/Runtime.md). With `persistent` beside these,
    as many blocks start as the device runs at a time; with `overlaps`, they may
    start before the kernel before has ended. An argument with
    `blockscale.by_value` is the address of a value passed by copy: a tensor map.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def CheckHostPass
    : Pass<"blockscale-nvidia-check-host", "::mlir::func::FuncOp"> {
  let summary = "refuse host code that reads or writes tensors";
  let description = [{
    After bufferization, on the functions beside the `gpu.module`. Their buffers
    are device memory, of which the host only knows where it is: an operation
    that would read or write one, as a copy, a constant or a `linalg` op does,
    is an error. Tensor code beside blockscale ops is compiled for CPUs only.
  }];
}

def ResultMemoryPass
    : Pass<"blockscale-nvidia-result-memory", "::mlir::ModuleOp"> {
  let summary = "let callers give the memory of results";
  let description = [{
    After bufferization, on entries that no function of the module calls. Where
    the memory of result `i`, and of no other, comes from a `memref.alloc` of the
    function's block, this becomes a call of `blockscaleGpuResult(i, bytes)`
    (docs/Runtime.md), right after its sizes are known. Results that come from
    elsewhere, as from a loop or a function, stay as they are: the runtime copies
    them where the caller wants them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def MarkKernelsPass
    : Pass<"blockscale-nvidia-mark-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "give kernels the attributes that NVVM knows";
  let description = [{
    Runs on the LLVM dialect inside a `gpu.module`: functions with
    `blockscale.launch` become kernels with their number of threads and, where
    it has `resident`, of blocks that a multiprocessor holds at least, and
    arguments with `blockscale.by_value` grid constants.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

#endif // BLOCKSCALE_TARGET_NVIDIA_PASSES_TD
