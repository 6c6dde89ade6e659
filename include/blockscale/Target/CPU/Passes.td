//===-- Passes.td - Passes of the CPU target ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_TARGET_CPU_PASSES_TD
#define BLOCKSCALE_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def RecordEntriesPass : Pass<"blockscale-record-entries", "::mlir::ModuleOp"> {
  let summary = "write down the signatures that callers of the library see";
  let description = [{
    Puts `blockscale.entry = {inputs, results}` on every public function with a
    body: the logical types, which later passes turn into storage. It is an
    error if such a function takes or returns anything but ranked tensors of
    elements that have a place in memory (docs/Runtime.md), and if a function
    without a body is called.

    ```mlir
    func.func @f(%x: tensor<4x64xf4E2M1FN>) -> tensor<4x64xf4E2M1FN>
        attributes {blockscale.entry = {
          inputs = [tensor<4x64xf4E2M1FN>], results = [tensor<4x64xf4E2M1FN>]}} {
      return %x : tensor<4x64xf4E2M1FN>
    }
    ```
  }];
}

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

def ApproximateMathPass : Pass<"blockscale-cpu-approximate-math"> {
  let summary = "compute transcendental functions by polynomials, in vectors";
  let description = [{
    exp, tanh and erf on f32, scalar or vector, become upstream MLIR's
    polynomial approximations, good to a few units in the last place except
    where the result is subnormal: the epilogues of gelu and silu stay free of
    calls (rule matmul_c5). With `all`, so do the others, whose approximations
    are far less accurate.
  }];
  let options = [
    Option<"all", "all", "bool", /*default=*/"false",
           "Approximate every function that MLIR has a polynomial for.">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
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

def EmitEntriesPass : Pass<"blockscale-cpu-emit-entries", "::mlir::ModuleOp"> {
  let summary = "add the entry points and the manifest of a shared library";
  let description = [{
    Runs on the LLVM dialect. For each function with `blockscale.entry`, adds
    `blockscale_entry_<name>(args)`, which takes descriptors by pointer, and
    describes it in the global `blockscale_manifest` (docs/Runtime.md). Every
    other function becomes internal. Kernels in a `gpu.module` are listed with
    their threads and shared memory.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"cpu\"",
           "What the library is compiled for: cpu, or a chip.">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // BLOCKSCALE_TARGET_CPU_PASSES_TD
