// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s

#tiled = #blockscale.tiled_128x4

// CHECK-LABEL: @relayout
func.func @relayout(%s: tensor<200x10xf8E4M3FN>, %t: tensor<2x?x8xf8E8M0FNU>) {
  // CHECK: blockscale.relayout %{{.*}} : tensor<200x10xf8E4M3FN> -> tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4>
  %0 = blockscale.relayout %s : tensor<200x10xf8E4M3FN> -> tensor<200x10xf8E4M3FN, #tiled>
  // CHECK: blockscale.relayout %{{.*}} : tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4> -> tensor<200x10xf8E4M3FN>
  %1 = blockscale.relayout %0 : tensor<200x10xf8E4M3FN, #tiled> -> tensor<200x10xf8E4M3FN>
  // CHECK: blockscale.relayout %{{.*}} : tensor<2x?x8xf8E8M0FNU> -> tensor<2x?x8xf8E8M0FNU, #blockscale.tiled_128x4>
  %2 = blockscale.relayout %t : tensor<2x?x8xf8E8M0FNU> -> tensor<2x?x8xf8E8M0FNU, #tiled>
  return
}
