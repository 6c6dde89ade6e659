// RUN: blockscale-opt %s -split-input-file -canonicalize | FileCheck %s

// CHECK-LABEL: @rotate_and_back
// CHECK-SAME:  (%[[X:.*]]: tensor<?x64xf32>)
// CHECK-NEXT:  return %[[X]] : tensor<?x64xf32>
func.func @rotate_and_back(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = blockscale.rotate %x {size = 4, signs = array<i8: 1, -1, -1, 1>} : tensor<?x64xf32>
  // The last axis, named and not.
  %1 = blockscale.rotate %0 {size = 4, axis = 1, signs = array<i8: 1, -1, -1, 1>, inverse} : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: @inverse_first
// CHECK-SAME:  (%[[X:.*]]: tensor<?x64xf32>, %{{.*}}: tensor<16xi8>)
// CHECK-NEXT:  return %[[X]] : tensor<?x64xf32>
func.func @inverse_first(%x: tensor<?x64xf32>, %s: tensor<16xi8>) -> tensor<?x64xf32> {
  %0 = blockscale.rotate %x signs(%s : tensor<16xi8>) {size = 16, inverse} : tensor<?x64xf32>
  %1 = blockscale.rotate %0 signs(%s : tensor<16xi8>) {size = 16} : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// H is symmetric: without signs a rotation is its own inverse.
// CHECK-LABEL: @twice
// CHECK-SAME:  (%[[X:.*]]: tensor<64x8xbf16>)
// CHECK-NEXT:  return %[[X]] : tensor<64x8xbf16>
func.func @twice(%x: tensor<64x8xbf16>) -> tensor<64x8xbf16> {
  %0 = blockscale.rotate %x {size = 16, axis = 0} : tensor<64x8xbf16>
  %1 = blockscale.rotate %0 {size = 16, axis = 0} : tensor<64x8xbf16>
  return %1 : tensor<64x8xbf16>
}

// -----

// CHECK-LABEL: @twice_with_signs
// CHECK-COUNT-2: blockscale.rotate
func.func @twice_with_signs(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = blockscale.rotate %x {size = 2, signs = array<i8: 1, -1>} : tensor<?x64xf32>
  %1 = blockscale.rotate %0 {size = 2, signs = array<i8: 1, -1>} : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: @other_signs
// CHECK-COUNT-2: blockscale.rotate
func.func @other_signs(%x: tensor<?x64xf32>, %s: tensor<2xi8>, %t: tensor<2xi8>) -> tensor<?x64xf32> {
  %0 = blockscale.rotate %x signs(%s : tensor<2xi8>) {size = 2} : tensor<?x64xf32>
  %1 = blockscale.rotate %0 signs(%t : tensor<2xi8>) {size = 2, inverse} : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: @other_axis
// CHECK-COUNT-2: blockscale.rotate
func.func @other_axis(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = blockscale.rotate %x {size = 16, axis = 0} : tensor<64x64xf32>
  %1 = blockscale.rotate %0 {size = 16} : tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// CHECK-LABEL: @other_size
// CHECK-COUNT-2: blockscale.rotate
func.func @other_size(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = blockscale.rotate %x {size = 16} : tensor<64x64xf32>
  %1 = blockscale.rotate %0 {size = 32} : tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// CHECK-LABEL: @idle_options
func.func @idle_options(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
  // CHECK: blockscale.rotate %{{.*}} {size = 2} : tensor<8x64xf32>
  %0 = blockscale.rotate %x {size = 2, signs = array<i8: 1, 1>} : tensor<8x64xf32>
  // CHECK: blockscale.rotate %{{.*}} {size = 4} : tensor<8x64xf32>
  %1 = blockscale.rotate %x {size = 4, inverse} : tensor<8x64xf32>
  // CHECK: blockscale.rotate %{{.*}} {size = 2, signs = array<i8: -1, -1>, inverse} : tensor<8x64xf32>
  %2 = blockscale.rotate %x {size = 2, signs = array<i8: -1, -1>, inverse} : tensor<8x64xf32>
  return %0, %1, %2 : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

#tiled = #blockscale.tiled_128x4
// CHECK-LABEL: @relayout_and_back
// CHECK-SAME:  (%[[S:.*]]: tensor<200x10xf8E4M3FN>)
// CHECK-NEXT:  return %[[S]] : tensor<200x10xf8E4M3FN>
func.func @relayout_and_back(%s: tensor<200x10xf8E4M3FN>) -> tensor<200x10xf8E4M3FN> {
  %0 = blockscale.relayout %s : tensor<200x10xf8E4M3FN> -> tensor<200x10xf8E4M3FN, #tiled>
  %1 = blockscale.relayout %0 : tensor<200x10xf8E4M3FN, #tiled> -> tensor<200x10xf8E4M3FN>
  return %1 : tensor<200x10xf8E4M3FN>
}

// -----

#tiled = #blockscale.tiled_128x4
// CHECK-LABEL: @idle_relayouts
// CHECK-SAME:  (%[[S:.*]]: tensor<200x10xf8E4M3FN>)
// CHECK-NEXT:  %[[T:.*]] = blockscale.relayout %[[S]]
// CHECK-NEXT:  return %[[T]]
func.func @idle_relayouts(%s: tensor<200x10xf8E4M3FN>) -> tensor<200x10xf8E4M3FN, #tiled> {
  %0 = blockscale.relayout %s : tensor<200x10xf8E4M3FN> -> tensor<200x10xf8E4M3FN>
  %1 = blockscale.relayout %0 : tensor<200x10xf8E4M3FN> -> tensor<200x10xf8E4M3FN, #tiled>
  %2 = blockscale.relayout %1 : tensor<200x10xf8E4M3FN, #tiled> -> tensor<200x10xf8E4M3FN, #tiled>
  return %2 : tensor<200x10xf8E4M3FN, #tiled>
}

// -----

// Ops without effects go away with their last use; a seed is no effect.
// CHECK-LABEL: @unused
// CHECK-NEXT:  return
func.func @unused(%x: tensor<8x64xf32>, %w: tensor<8x64xf32>, %seed: tensor<i64>) {
  %s, %g, %e = blockscale.scale %x : tensor<8x64xf32> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level> -> tensor<8x4xf8E4M3FN>, tensor<f32>, tensor<8x4xf32>
  %q = blockscale.quantize %x : tensor<8x64xf32> encode(%e : tensor<8x4xf32>)
      to #blockscale.format<nvfp4> round stochastic seed(%seed : tensor<i64>) -> tensor<8x64xf4E2M1FN>
  %y = blockscale.scaled_matmul
      lhs(%q, %s, %g : tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<f32> as #blockscale.format<nvfp4>)
      rhs(%w : tensor<8x64xf32>) epilogue {
  ^bb0(%acc: f32):
    blockscale.yield %acc : f32
  } : tensor<8x8xf32>
  return
}

// -----

// Constants stay inside an epilogue.
// CHECK-LABEL: @constants
// CHECK-NEXT:  blockscale.scaled_matmul
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    arith.constant 3.000000e+00 : f32
func.func @constants(%x: tensor<8x64xf32>, %w: tensor<8x64xf32>) -> tensor<8x8xf32> {
  %y = blockscale.scaled_matmul lhs(%x : tensor<8x64xf32>) rhs(%w : tensor<8x64xf32>) epilogue {
  ^bb0(%acc: f32):
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %three = arith.addf %one, %two : f32
    %r = arith.mulf %acc, %three : f32
    blockscale.yield %r : f32
  } : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
