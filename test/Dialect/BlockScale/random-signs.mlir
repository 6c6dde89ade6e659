// RUN: blockscale-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func @signs
//  CHECK-SAME: %[[SEED:.*]]: tensor<i64>
func.func @signs(%seed: tensor<i64>) -> tensor<64xi8> {
  // CHECK: blockscale.random_signs %[[SEED]] : tensor<i64> -> tensor<64xi8>
  %s = blockscale.random_signs %seed : tensor<i64> -> tensor<64xi8>
  return %s : tensor<64xi8>
}

// -----

// Constant signs end up in the rotation.
// CHECK-LABEL: func @constant
//  CHECK-SAME: %[[X:.*]]: tensor<8x64xf32>
func.func @constant(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK-NEXT: %[[Y:.*]] = blockscale.rotate %[[X]] {size = 8, signs = array<i8: {{(-?1, ){7}-?1}}>}
  // CHECK-NEXT: return %[[Y]]
  %seed = arith.constant dense<7> : tensor<i64>
  %s = blockscale.random_signs %seed : tensor<i64> -> tensor<8xi8>
  %y = blockscale.rotate %x signs(%s : tensor<8xi8>) {size = 8} : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
