// RUN: blockscale-opt %s --blockscale-lower-to-cpu --split-input-file --verify-diagnostics

func.func @reduces(%x: tensor<4x32xf32>, %w: tensor<4x32xf32>) -> tensor<4x4xf32> {
  %y = blockscale.scaled_matmul lhs(%x : tensor<4x32xf32>) rhs(%w : tensor<4x32xf32>) epilogue {
  ^bb0(%acc: f32):
    // expected-error @below {{expects elementwise operations in an epilogue, which the CPU target computes many elements at a time}}
    %v = vector.broadcast %acc : f32 to vector<4xf32>
    %e = vector.reduction <add>, %v : vector<4xf32> into f32
    blockscale.yield %e : f32
  } : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

func.func @narrow_operand(%x: tensor<4x32xf32>, %b: tensor<4xf8E4M3FN>) -> tensor<4x4xf32> {
  // expected-error @below {{expects epilogue operands of f64, f32, f16, bf16 or signless integers of 1, 8, 16, 32 or 64 bits, but got 'tensor<4xf8E4M3FN>'; dequantize it first}}
  %y = blockscale.scaled_matmul lhs(%x : tensor<4x32xf32>) rhs(%x : tensor<4x32xf32>)
      epilogue(%b : tensor<4xf8E4M3FN>) {
  ^bb0(%acc: f32, %e: f8E4M3FN):
    blockscale.yield %acc : f32
  } : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

func.func @untile(%s: tensor<?x8xf8E4M3FN, #blockscale.tiled_128x4>) -> tensor<?x8xf8E4M3FN> {
  // expected-error @below {{expects a static number of rows to leave a tiled layout, whose memory does not tell it, but got 'tensor<?x8xf8E4M3FN, #blockscale.tiled_128x4>'}}
  %t = blockscale.relayout %s : tensor<?x8xf8E4M3FN, #blockscale.tiled_128x4> -> tensor<?x8xf8E4M3FN>
  return %t : tensor<?x8xf8E4M3FN>
}

// -----

func.func @rotate_outer(%x: tensor<16x?x8xf32>) -> tensor<16x?x8xf32> {
  // expected-error @below {{expects static extents inside the rotated axis 0, but dimension 1 is dynamic; rotate an inner axis or give its extent}}
  %y = blockscale.rotate %x {size = 16, axis = 0} : tensor<16x?x8xf32>
  return %y : tensor<16x?x8xf32>
}
