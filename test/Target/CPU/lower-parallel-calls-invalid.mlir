// RUN: blockscale-opt %s --blockscale-cpu-lower-parallel-calls --split-input-file --verify-diagnostics

// expected-error @below {{expects a declaration whose blockscale.parallel names a function of the same type in the LLVM dialect}}
llvm.func @missing.parallel(i64, i64) attributes {blockscale.parallel = @missing}

// -----

llvm.func @kernel(%begin: i64, %end: i64, %n: i64) {
  llvm.return
}
// expected-error @below {{names a function of the same type}}
llvm.func @kernel.parallel(i64, i64) attributes {blockscale.parallel = @kernel}

// -----

llvm.func @kernel(%begin: i64, %end: i64) {
  llvm.return
}
// expected-error @below {{expects a declaration}}
llvm.func @kernel.parallel(%count: i64, %grain: i64) attributes {blockscale.parallel = @kernel} {
  llvm.return
}

// -----

// expected-error @below {{blockscale.parallel names a function}}
llvm.func @text.parallel(i64, i64) attributes {blockscale.parallel = "kernel"}
