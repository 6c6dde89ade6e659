// RUN: blockscale-opt %s -inline | FileCheck %s

// A layer written as a function of its own, with an epilogue, moves into its
// callers.

func.func private @layer(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  %r = blockscale.rotate %x {size = 16} : tensor<?x64xf32>
  %y = blockscale.scaled_matmul lhs(%r : tensor<?x64xf32>) rhs(%w : tensor<32x64xf32>) epilogue {
  ^bb0(%acc: f32):
    %s = arith.addf %acc, %acc : f32
    blockscale.yield %s : f32
  } : tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// CHECK-LABEL: @model
// CHECK-NOT:     call
// CHECK:         blockscale.rotate
// CHECK:         blockscale.scaled_matmul
// CHECK:           blockscale.yield
// CHECK:         return
func.func @model(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  %y = func.call @layer(%x, %w) : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
