// RUN: blockscale-opt %s --blockscale-record-entries --split-input-file --verify-diagnostics

// expected-error @below {{expects ranked tensors as arguments and results of a public function, but argument 1 is 'f32'; make the function private or pass a tensor}}
func.func @scalar(%x: tensor<4xf32>, %y: f32) {
  return
}

// -----

// expected-error @below {{but result 0 is 'memref<4xf32>'}}
func.func @memref(%x: tensor<4xf32>) -> memref<4xf32> {
  %m = memref.alloc() : memref<4xf32>
  return %m : memref<4xf32>
}

// -----

// expected-error @below {{but argument 0 is 'tensor<*xf32>'}}
func.func @unranked(%x: tensor<*xf32>) {
  return
}

// -----

// expected-error @below {{expects floats of at most 64 bits, or integers of 1 to 8, 16, 32 or 64 bits, in tensors that callers pass, but argument 0 is 'tensor<4xindex>'}}
func.func @index(%x: tensor<4xindex>) {
  return
}

// -----

// expected-error @below {{but result 0 is 'tensor<2xcomplex<f32>>'}}
func.func @complex(%x: tensor<4xf32>) -> tensor<2xcomplex<f32>> {
  %c = arith.constant dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>
  return %c : tensor<2xcomplex<f32>>
}

// -----

// expected-error @below {{but argument 0 is 'tensor<4xi128>'}}
func.func @wide(%x: tensor<4xi128>) {
  return
}

// -----

// expected-error @below {{expects a body, because a compiled library calls no functions outside of it}}
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
