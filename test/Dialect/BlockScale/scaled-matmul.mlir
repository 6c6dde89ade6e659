// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s
// RUN: blockscale-opt %s -emit-bytecode | blockscale-opt | FileCheck %s

#nvfp4 = #blockscale.format<nvfp4>
#mxfp8 = #blockscale.format<mxfp8_e4m3>
#uint4 = #blockscale.format<uint4>

// CHECK-LABEL: @both_sides
func.func @both_sides(%aq: tensor<?x64xf4E2M1FN>, %as: tensor<?x4xf8E4M3FN>, %ag: tensor<f32>,
                      %wq: tensor<96x64xf4E2M1FN>, %ws: tensor<96x4xf8E4M3FN, #blockscale.tiled_128x4>, %wg: tensor<f32>) {
  // CHECK: blockscale.scaled_matmul
  // CHECK-SAME: lhs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>, tensor<f32> as #blockscale.format<nvfp4>)
  // CHECK-SAME: rhs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<96x64xf4E2M1FN>, tensor<96x4xf8E4M3FN, #blockscale.tiled_128x4>, tensor<f32> as #blockscale.format<nvfp4>) : tensor<?x96xf32>
  %0 = blockscale.scaled_matmul
      lhs(%aq, %as, %ag : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>, tensor<f32> as #nvfp4)
      rhs(%wq, %ws, %wg : tensor<96x64xf4E2M1FN>, tensor<96x4xf8E4M3FN, #blockscale.tiled_128x4>, tensor<f32> as #nvfp4)
      : tensor<?x96xf32>
  return
}

// Formats may differ and so may their blocks; a plain side has none.
// CHECK-LABEL: @mixed
func.func @mixed(%a: tensor<5x128xbf16>, %aq: tensor<5x128xf8E4M3FN>, %as: tensor<5x4xf8E8M0FNU>,
                 %wq: tensor<96x128xi4>, %ws: tensor<96x2xf16>, %wz: tensor<96x2xi8>) {
  // CHECK: lhs(%{{.*}}, %{{.*}} : tensor<5x128xf8E4M3FN>, tensor<5x4xf8E8M0FNU> as #blockscale.format<mxfp8_e4m3>)
  // CHECK-SAME: rhs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<96x128xi4>, tensor<96x2xf16>, tensor<96x2xi8> as #blockscale.format<uint4>) : tensor<5x96xf16>
  %0 = blockscale.scaled_matmul
      lhs(%aq, %as : tensor<5x128xf8E4M3FN>, tensor<5x4xf8E8M0FNU> as #mxfp8)
      rhs(%wq, %ws, %wz : tensor<96x128xi4>, tensor<96x2xf16>, tensor<96x2xi8> as #uint4)
      : tensor<5x96xf16>
  // CHECK: lhs(%{{.*}} : tensor<5x128xbf16>)
  // CHECK-SAME: rhs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<96x128xi4>,
  %1 = blockscale.scaled_matmul
      lhs(%a : tensor<5x128xbf16>)
      rhs(%wq, %ws, %wz : tensor<96x128xi4>, tensor<96x2xf16>, tensor<96x2xi8> as #uint4)
      : tensor<5x96xbf16>
  return
}

// CHECK-LABEL: @batch
func.func @batch(%a: tensor<?x3x?x32xf32>, %b: tensor<?x3x7x32xf16>, %w: tensor<7x32xf32>) {
  // CHECK: : tensor<?x3x?x7xf32>
  %0 = blockscale.scaled_matmul lhs(%a : tensor<?x3x?x32xf32>) rhs(%b : tensor<?x3x7x32xf16>) : tensor<?x3x?x7xf32>
  // CHECK: rhs(%{{.*}} : tensor<7x32xf32>) : tensor<?x3x?x7xf32>
  %1 = blockscale.scaled_matmul lhs(%a : tensor<?x3x?x32xf32>) rhs(%w : tensor<7x32xf32>) : tensor<?x3x?x7xf32>
  return
}

// CHECK-LABEL: @alpha_acc
func.func @alpha_acc(%a: tensor<4x32xf32>, %b: tensor<7x32xf32>, %alpha: tensor<f32>, %c: tensor<?x7xbf16>) {
  // CHECK: rhs(%{{.*}} : tensor<7x32xf32>) alpha(%{{.*}} : tensor<f32>) acc(%{{.*}} : tensor<?x7xbf16>) : tensor<4x7xf32>
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x32xf32>) rhs(%b : tensor<7x32xf32>)
      alpha(%alpha : tensor<f32>) acc(%c : tensor<?x7xbf16>) : tensor<4x7xf32>
  // CHECK: rhs(%{{.*}} : tensor<7x32xf32>) acc(%{{.*}} : tensor<?x7xbf16>) {note = "x"} : tensor<4x7xf32>
  %1 = blockscale.scaled_matmul lhs(%a : tensor<4x32xf32>) rhs(%b : tensor<7x32xf32>)
      acc(%c : tensor<?x7xbf16>) {note = "x"} : tensor<4x7xf32>
  return
}

// CHECK-LABEL: @epilogue
func.func @epilogue(%a: tensor<2x?x32xf32>, %b: tensor<7x32xf32>, %row: tensor<7xf32>, %column: tensor<?x1xbf16>,
                    %one: tensor<i32>, %full: tensor<2x?x7xf16>, %alpha: tensor<f32>) {
  // CHECK: alpha(%{{.*}} : tensor<f32>) epilogue(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<7xf32>, tensor<?x1xbf16>, tensor<i32>, tensor<2x?x7xf16>) {
  // CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32, %[[ROW:.*]]: f32, %{{.*}}: bf16, %{{.*}}: i32, %{{.*}}: f16):
  // CHECK-NEXT:   arith.addf %[[ACC]], %[[ROW]] : f32
  // CHECK:        blockscale.yield %{{.*}} : bf16
  // CHECK-NEXT: } {note = "x"} : tensor<2x?x7xbf16>
  %0 = blockscale.scaled_matmul lhs(%a : tensor<2x?x32xf32>) rhs(%b : tensor<7x32xf32>) alpha(%alpha : tensor<f32>)
      epilogue(%row, %column, %one, %full : tensor<7xf32>, tensor<?x1xbf16>, tensor<i32>, tensor<2x?x7xf16>) {
  ^bb0(%acc: f32, %r: f32, %c: bf16, %i: i32, %f: f16):
    %s = arith.addf %acc, %r : f32
    %t = arith.truncf %s : f32 to bf16
    %u = arith.mulf %t, %c : bf16
    blockscale.yield %u : bf16
  } {note = "x"} : tensor<2x?x7xbf16>
  // CHECK: rhs(%{{.*}} : tensor<7x32xf32>) epilogue {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32):
  %1 = blockscale.scaled_matmul lhs(%a : tensor<2x?x32xf32>) rhs(%b : tensor<7x32xf32>) epilogue {
  ^bb0(%acc: f32):
    %zero = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %acc, %zero : f32
    %r = scf.if %positive -> f32 {
      scf.yield %acc : f32
    } else {
      scf.yield %zero : f32
    }
    blockscale.yield %r : f32
  } : tensor<2x?x7xf32>
  return
}
