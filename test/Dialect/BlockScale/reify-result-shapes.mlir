// RUN: blockscale-opt %s -split-input-file -resolve-ranked-shaped-type-result-dims -canonicalize -cse | FileCheck %s

// Extents of every result follow from the operands, before anything is computed.

// CHECK-LABEL: @scale_quantize
// CHECK-SAME:  (%[[X:.*]]: tensor<?x?x64xf32>)
// CHECK-DAG:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:   %[[BATCH:.*]] = tensor.dim %[[X]], %[[C0]]
// CHECK-DAG:   %[[ROWS:.*]] = tensor.dim %[[X]], %[[C1]]
// CHECK:       return %[[BATCH]], %[[ROWS]], %[[ROWS]] : index, index, index
func.func @scale_quantize(%x: tensor<?x?x64xf32>) -> (index, index, index) {
  %s, %g, %e = blockscale.scale %x : tensor<?x?x64xf32> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level> -> tensor<?x?x4xf8E4M3FN>, tensor<f32>, tensor<?x?x4xf32>
  %q = blockscale.quantize %x : tensor<?x?x64xf32> encode(%e : tensor<?x?x4xf32>)
      to #blockscale.format<nvfp4> -> tensor<?x?x64xf4E2M1FN>
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %d0 = tensor.dim %s, %0 : tensor<?x?x4xf8E4M3FN>
  %d1 = tensor.dim %e, %1 : tensor<?x?x4xf32>
  %d2 = tensor.dim %q, %1 : tensor<?x?x64xf4E2M1FN>
  return %d0, %d1, %d2 : index, index, index
}

// -----

// CHECK:       #[[CEIL:.*]] = affine_map<()[s0] -> (s0 ceildiv 16)>
// CHECK-LABEL: @square_blocks
// CHECK:       %[[ROWS:.*]] = tensor.dim
// CHECK:       %[[BLOCKS:.*]] = affine.apply #[[CEIL]]()[%[[ROWS]]]
// CHECK:       return %[[BLOCKS]] : index
func.func @square_blocks(%x: tensor<?x64xf32>) -> index {
  %s, %g, %e = blockscale.scale %x : tensor<?x64xf32> to #blockscale.format<nvfp4, block = 16x16>
      by #blockscale.scale_rule<two_level> -> tensor<?x4xf8E4M3FN>, tensor<f32>, tensor<?x4xf32>
  %0 = arith.constant 0 : index
  %d = tensor.dim %s, %0 : tensor<?x4xf8E4M3FN>
  return %d : index
}

// -----

// CHECK-LABEL: @same_shape
// CHECK-SAME:  (%[[Q:.*]]: tensor<?x64xf4E2M1FN>, %[[S:.*]]: tensor<?x2xf8E8M0FNU>)
// CHECK-DAG:   %[[M:.*]] = tensor.dim %[[Q]]
// CHECK-DAG:   %[[N:.*]] = tensor.dim %[[S]]
// CHECK:       return %[[M]], %[[M]], %[[N]] : index, index, index
func.func @same_shape(%q: tensor<?x64xf4E2M1FN>, %s: tensor<?x2xf8E8M0FNU>) -> (index, index, index) {
  %x = blockscale.dequantize %q : tensor<?x64xf4E2M1FN> scales(%s : tensor<?x2xf8E8M0FNU>)
      from #blockscale.format<mxfp4> -> tensor<?x64xf32>
  %y = blockscale.rotate %x {size = 16} : tensor<?x64xf32>
  %t = blockscale.relayout %s : tensor<?x2xf8E8M0FNU> -> tensor<?x2xf8E8M0FNU, #blockscale.tiled_128x4>
  %0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %0 : tensor<?x64xf32>
  %d1 = tensor.dim %y, %0 : tensor<?x64xf32>
  %d2 = tensor.dim %t, %0 : tensor<?x2xf8E8M0FNU, #blockscale.tiled_128x4>
  return %d0, %d1, %d2 : index, index, index
}

// -----

// CHECK-LABEL: @matmul
// CHECK-SAME:  (%[[A:.*]]: tensor<?x?x64xf32>, %[[B:.*]]: tensor<?x64xf32>)
// CHECK-DAG:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:   %[[BATCH:.*]] = tensor.dim %[[A]], %[[C0]]
// CHECK-DAG:   %[[M:.*]] = tensor.dim %[[A]], %[[C1]]
// CHECK-DAG:   %[[N:.*]] = tensor.dim %[[B]], %[[C0]]
// CHECK:       return %[[BATCH]], %[[M]], %[[N]] : index, index, index
func.func @matmul(%a: tensor<?x?x64xf32>, %b: tensor<?x64xf32>) -> (index, index, index) {
  %y = blockscale.scaled_matmul lhs(%a : tensor<?x?x64xf32>) rhs(%b : tensor<?x64xf32>) : tensor<?x?x?xf32>
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %d0 = tensor.dim %y, %0 : tensor<?x?x?xf32>
  %d1 = tensor.dim %y, %1 : tensor<?x?x?xf32>
  %d2 = tensor.dim %y, %2 : tensor<?x?x?xf32>
  return %d0, %d1, %d2 : index, index, index
}
