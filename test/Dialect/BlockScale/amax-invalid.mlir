// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @f64(%x: tensor<8xf64>) {
  // expected-error@+1 {{operand #0 must be tensor of f32, bf16 or f16 of rank 1 or more}}
  %0 = blockscale.amax %x : tensor<8xf64> -> tensor<f32>
  return
}

// -----

func.func @scalar(%x: tensor<f32>) {
  // expected-error@+1 {{operand #0 must be tensor of f32, bf16 or f16 of rank 1 or more}}
  %0 = blockscale.amax %x : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @result(%x: tensor<8xf32>) {
  // expected-error@+1 {{result #0 must be tensor<f32>}}
  %0 = blockscale.amax %x : tensor<8xf32> -> tensor<1xf32>
  return
}
