// RUN: blockscale-opt %s --blockscale-emit-entries --split-input-file --verify-diagnostics

// A vector is passed as five words.
// expected-error @below {{expects 5 arguments, as its blockscale.entry says, but has 1}}
llvm.func @short(%x: !llvm.ptr)
    attributes {blockscale.entry = {inputs = [tensor<4xf32>], results = []}} {
  llvm.return
}

// -----

// expected-error @below {{expects inputs and results in blockscale.entry}}
llvm.func @incomplete() attributes {blockscale.entry = {inputs = []}} {
  llvm.return
}
