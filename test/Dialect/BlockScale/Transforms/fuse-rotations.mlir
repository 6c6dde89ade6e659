// RUN: blockscale-opt %s --split-input-file --blockscale-fuse-rotations --canonicalize | FileCheck %s
// RUN: blockscale-opt %s --split-input-file --blockscale-fuse-rotations="introduce=16 introduce-seed=5" | FileCheck %s --check-prefix=PAIR

// D1 H H D2 is a diagonal; before D3 H it is one rotation by the product of the
// signs.
// CHECK-LABEL: func @three
//  CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<8x64xf32>)
//       CHECK: %[[Y:.*]] = blockscale.rotate %[[X]] {size = 4, signs = array<i8: -1, -1, -1, 1>}
//  CHECK-NEXT: return %[[Y]]
func.func @three(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %a = blockscale.rotate %x {size = 4, signs = array<i8: 1, -1, 1, 1>} : tensor<8x64xf32>
  %b = blockscale.rotate %a {size = 4, signs = array<i8: 1, 1, -1, 1>, inverse} : tensor<8x64xf32>
  %c = blockscale.rotate %b {size = 4, signs = array<i8: -1, 1, 1, 1>} : tensor<8x64xf32>
  return %c : tensor<8x64xf32>
}

// -----

// (H D) (D' H H D'') = H (D D' D''), an inverse.
// CHECK-LABEL: func @three_to_inverse
//  CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<8x64xf32>)
//       CHECK: %[[Y:.*]] = blockscale.rotate %[[X]] {size = 2, signs = array<i8: -1, 1>, inverse}
//  CHECK-NEXT: return %[[Y]]
func.func @three_to_inverse(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %a = blockscale.rotate %x {size = 2, signs = array<i8: 1, -1>, inverse} : tensor<8x64xf32>
  %b = blockscale.rotate %a {size = 2, signs = array<i8: 1, -1>} : tensor<8x64xf32>
  %c = blockscale.rotate %b {size = 2, signs = array<i8: -1, 1>, inverse} : tensor<8x64xf32>
  return %c : tensor<8x64xf32>
}

// -----

// H_4 along one part of a dimension and H_8 along the other are H_32 along it.
// CHECK-LABEL: func @kronecker
//  CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<8x96xf32>)
//       CHECK: %[[Y:.*]] = blockscale.rotate %[[X]] {size = 32, axis = 1, signs = array<i8: 1, 1, 1, 1, 1, 1, 1, 1, -1,
//  CHECK-NEXT: return %[[Y]]
func.func @kronecker(%x: tensor<8x96xf32>) -> tensor<8x96xf32> {
  %e = tensor.expand_shape %x [[0], [1, 2, 3]] output_shape [8, 3, 4, 8] : tensor<8x96xf32> into tensor<8x3x4x8xf32>
  %a = blockscale.rotate %e {size = 4, axis = 2, signs = array<i8: 1, -1, -1, 1>} : tensor<8x3x4x8xf32>
  %b = blockscale.rotate %a {size = 8} : tensor<8x3x4x8xf32>
  %c = tensor.collapse_shape %b [[0], [1, 2, 3]] : tensor<8x3x4x8xf32> into tensor<8x96xf32>
  return %c : tensor<8x96xf32>
}

// -----

// Known results: H_4 / 2 of 1, 2, 3, 4 is 5, -1, -2, 0.
// CHECK-LABEL: func @constant
//       CHECK: %[[C:.*]] = arith.constant dense<{{\[\[}}5.000000e+00, -1.000000e+00, -2.000000e+00, 0.000000e+00]]> : tensor<1x4xbf16>
//  CHECK-NEXT: return %[[C]]
func.func @constant() -> tensor<1x4xbf16> {
  %c = arith.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xbf16>
  %r = blockscale.rotate %c {size = 4} : tensor<1x4xbf16>
  return %r : tensor<1x4xbf16>
}

// -----

// Along another axis than the last, with signs, backwards.
// CHECK-LABEL: func @constant_inverse
//       CHECK: dense<{{\[\[}}5.000000e+00], [1.000000e+00], [-2.000000e+00], [0.000000e+00]]> : tensor<4x1xf32>
func.func @constant_inverse() -> tensor<4x1xf32> {
  %c = arith.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %r = blockscale.rotate %c {size = 4, axis = 0, signs = array<i8: 1, -1, 1, 1>, inverse} : tensor<4x1xf32>
  return %r : tensor<4x1xf32>
}

// -----

// A rotation by 90 degrees, as a matrix.
// CHECK-LABEL: func @constant_by_matrix
//   CHECK-DAG: dense<{{\[\[}}2.000000e+00, -1.000000e+00, 4.000000e+00, -3.000000e+00]]> : tensor<1x4xf32>
//   CHECK-DAG: dense<{{\[\[}}-2.000000e+00, 1.000000e+00, -4.000000e+00, 3.000000e+00]]> : tensor<1x4xf32>
func.func @constant_by_matrix() -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %m = arith.constant dense<[[0.0, -1.0], [1.0, 0.0]]> : tensor<2x2xf32>
  %c = arith.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %r = blockscale.rotate %c matrix(%m : tensor<2x2xf32>) {size = 2} : tensor<1x4xf32>
  %i = blockscale.rotate %c matrix(%m : tensor<2x2xf32>) {size = 2, inverse} : tensor<1x4xf32>
  return %r, %i : tensor<1x4xf32>, tensor<1x4xf32>
}

// -----

// A matrix cancels with its inverse only.
// CHECK-LABEL: func @matrix_cancels
//  CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<8x24xf32>
//       CHECK: %[[A:.*]] = blockscale.rotate %[[X]] matrix
//       CHECK: %[[B:.*]] = blockscale.rotate %[[A]] matrix
//       CHECK: return %[[X]], %[[B]]
func.func @matrix_cancels(%x: tensor<8x24xf32>, %m: tensor<12x12xf32>) -> (tensor<8x24xf32>, tensor<8x24xf32>) {
  %a = blockscale.rotate %x matrix(%m : tensor<12x12xf32>) {size = 12} : tensor<8x24xf32>
  %b = blockscale.rotate %a matrix(%m : tensor<12x12xf32>) {size = 12, inverse} : tensor<8x24xf32>
  %c = blockscale.rotate %a matrix(%m : tensor<12x12xf32>) {size = 12} : tensor<8x24xf32>
  return %b, %c : tensor<8x24xf32>, tensor<8x24xf32>
}

// -----

// Through a transpose, a reshape of leading dimensions and a sum, the rotation
// meets its inverse.
// CHECK-LABEL: func @moves
//   CHECK-NOT: blockscale.rotate
//       CHECK: return
func.func @moves(%x: tensor<2x4x64xf32>, %y: tensor<2x4x64xf32>, %init: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %a = blockscale.rotate %x {size = 16} : tensor<2x4x64xf32>
  %b = blockscale.rotate %y {size = 16} : tensor<2x4x64xf32>
  %s = arith.addf %a, %b : tensor<2x4x64xf32>
  %n = arith.negf %s : tensor<2x4x64xf32>
  %f = tensor.collapse_shape %n [[0, 1], [2]] : tensor<2x4x64xf32> into tensor<8x64xf32>
  %t = linalg.transpose ins(%f : tensor<8x64xf32>) outs(%init : tensor<64x8xf32>) permutation = [1, 0]
  %r = blockscale.rotate %t {size = 16, axis = 0} : tensor<64x8xf32>
  return %r : tensor<64x8xf32>
}

// -----

// Factors per row commute with a rotation of columns.
// CHECK-LABEL: func @row_factors
//  CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<8x64xf32>
//       CHECK: %[[F:[a-z0-9]+]] = linalg.broadcast
//       CHECK: %[[M:.*]] = arith.mulf %[[X]], %[[F]]
//       CHECK: %[[R:.*]] = blockscale.rotate %[[M]] {size = 8, axis = 1}
//       CHECK: return %[[R]]
func.func @row_factors(%x: tensor<8x64xf32>, %f: tensor<8xf32>, %init: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %a = blockscale.rotate %x {size = 8} : tensor<8x64xf32>
  %b = linalg.broadcast ins(%f : tensor<8xf32>) outs(%init : tensor<8x64xf32>) dimensions = [1]
  %m = arith.mulf %a, %b : tensor<8x64xf32>
  return %m : tensor<8x64xf32>
}

// -----

// Rotated alike along K, the product of plain tensors is that of the originals.
// CHECK-LABEL: func @plain_pair
//  CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<8x64xf32>, %[[W:[a-z0-9]+]]: tensor<16x64xf32>
//  CHECK-NEXT: %[[Y:.*]] = blockscale.scaled_matmul lhs(%[[X]] : tensor<8x64xf32>) rhs(%[[W]] : tensor<16x64xf32>)
//  CHECK-NEXT: return %[[Y]]
func.func @plain_pair(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>, %s: tensor<32xi8>) -> tensor<8x16xf32> {
  %a = blockscale.rotate %x signs(%s : tensor<32xi8>) {size = 32} : tensor<8x64xf32>
  %b = blockscale.rotate %w signs(%s : tensor<32xi8>) {size = 32} : tensor<16x64xf32>
  %y = blockscale.scaled_matmul lhs(%a : tensor<8x64xf32>) rhs(%b : tensor<16x64xf32>) : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// PAIR-LABEL: func @introduce
//  PAIR-SAME: (%[[X:[a-z0-9]+]]: tensor<8x64xf32>, %[[W:[a-z0-9]+]]: tensor<16x64xf32>
//       PAIR: %[[XR:.*]] = blockscale.rotate %[[X]] {size = 16, signs = array<i8:
//       PAIR: blockscale.scale %[[XR]]
//       PAIR: blockscale.quantize %[[XR]]
//       PAIR: %[[WR:.*]] = blockscale.rotate %[[W]] {size = 16, signs = array<i8:
//       PAIR: blockscale.scale %[[WR]]
//       PAIR: blockscale.quantize %[[WR]]
// CHECK-LABEL: func @introduce
//   CHECK-NOT: blockscale.rotate
#mxfp4 = #blockscale.format<mxfp4>
#floor = #blockscale.scale_rule<floor>
func.func @introduce(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>) -> tensor<8x16xf32> {
  %xs = blockscale.scale %x : tensor<8x64xf32> to #mxfp4 by #floor -> tensor<8x2xf8E8M0FNU>
  %xq = blockscale.quantize %x : tensor<8x64xf32> scales(%xs : tensor<8x2xf8E8M0FNU>) to #mxfp4 -> tensor<8x64xf4E2M1FN>
  %ws = blockscale.scale %w : tensor<16x64xf32> to #mxfp4 by #floor -> tensor<16x2xf8E8M0FNU>
  %wq = blockscale.quantize %w : tensor<16x64xf32> scales(%ws : tensor<16x2xf8E8M0FNU>) to #mxfp4 -> tensor<16x64xf4E2M1FN>
  %y = blockscale.scaled_matmul lhs(%xq, %xs : tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU> as #mxfp4)
      rhs(%wq, %ws : tensor<16x64xf4E2M1FN>, tensor<16x2xf8E8M0FNU> as #mxfp4) : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// A matrix that is not loaded cannot be multiplied by.
// CHECK-LABEL: func @absent_matrix
//       CHECK: blockscale.rotate
func.func @absent_matrix() -> tensor<4x24xf32> {
  %x = arith.constant dense<1.0> : tensor<4x24xf32>
  %m = arith.constant dense_resource<absent> : tensor<12x12xf32>
  %y = blockscale.rotate %x matrix(%m : tensor<12x12xf32>) {size = 12} : tensor<4x24xf32>
  return %y : tensor<4x24xf32>
}
