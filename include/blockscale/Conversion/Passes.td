//===-- Passes.td - Passes that every target needs ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_CONVERSION_PASSES_TD
#define BLOCKSCALE_CONVERSION_PASSES_TD

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

def ApproximateMathPass : Pass<"blockscale-approximate-math"> {
  let summary = "compute transcendental functions by polynomials, in vectors";
  let description = [{
    exp, tanh and erf on f32, scalar or vector, become upstream MLIR's
    polynomial approximations, good to a few units in the last place except
    where the result is subnormal: the epilogues of gelu and silu stay free of
    calls (rule matmul_c5). With `all`, so do the others, whose approximations
    are far less accurate. isnan, isinf, isfinite and isnormal become
    comparisons, clampf a maximum and a minimum, sincos sin and cos.
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

def CallMathLibraryPass : Pass<"blockscale-call-math-library", "::mlir::ModuleOp"> {
  let summary = "call libm for the functions that it has";
  let description = [{
    Before: math operations on scalars and vectors of f32 and f64. After: calls
    of libm, an element at a time, and those operations that are instructions:
    absf, absi, copysign, ctlz, cttz, ctpop, fma, sqrt. fpowi is pow in f64.
    Anything else is an error at its line.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"
  ];
}

def EmitEntriesPass : Pass<"blockscale-emit-entries", "::mlir::ModuleOp"> {
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

#endif // BLOCKSCALE_CONVERSION_PASSES_TD
