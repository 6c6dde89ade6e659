//===-- Passes.td - Passes of the CPU target ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_CPU_PASSES_TD
#define BLOCKSCALE_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToCPUPass : Pass<"blockscale-lower-to-cpu", "::mlir::ModuleOp"> {
  let summary = "turn every blockscale op into launches of CPU kernels";
  let description = [{
    Before: any blockscale op over tensors. After: none; tensors have storage
    types (4-bit elements packed in bytes), each op has become allocations,
    scalar code and calls `@kernel.parallel(count, grain, ...)`, and the
    kernels are private functions over flat memrefs, in scf, memref, arith and
    vector. Kernels that would be the same are made once.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", /*default=*/"512",
           "Width of the target's vectors, 256 or 512: the register tile of "
           "matmul. Results do not depend on it.">,
    Option<"useFMA", "fma", "bool", /*default=*/"true",
           "Use fused multiply-add in matmul.">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def ExpandCopiesPass : Pass<"blockscale-cpu-expand-copies"> {
  let summary = "copy strided memory by loops";
  let description = [{
    A `memref.copy` between buffers with gaps, as slices, transpositions and
    concatenations of a user's tensors leave, becomes a `linalg.generic`; the
    conversion to LLVM would call a function that a compiled library does not
    have.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def LowerParallelCallsPass
    : Pass<"blockscale-cpu-lower-parallel-calls", "::mlir::ModuleOp"> {
  let summary = "give kernel launchers a body that calls the runtime";
  let description = [{
    Runs on the LLVM dialect. A declaration `@k.parallel` that carries
    `blockscale.parallel = @k` gets a body: the arguments are stored in a frame,
    and `blockscaleParallelFor(count, grain, trampoline, frame)` calls
    `@k(begin, end, ...)` from as many threads as it likes.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // BLOCKSCALE_TARGET_CPU_PASSES_TD
