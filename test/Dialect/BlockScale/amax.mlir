// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s

// CHECK-LABEL: @amax
func.func @amax(%a: tensor<?x64xbf16>, %b: tensor<?x?x?xf32>, %c: tensor<7xf16>) {
  // CHECK: blockscale.amax %{{.*}} : tensor<?x64xbf16> -> tensor<f32>
  %0 = blockscale.amax %a : tensor<?x64xbf16> -> tensor<f32>
  // CHECK: blockscale.amax %{{.*}} : tensor<?x?x?xf32> -> tensor<f32>
  %1 = blockscale.amax %b : tensor<?x?x?xf32> -> tensor<f32>
  // CHECK: blockscale.amax %{{.*}} {note = "x"} : tensor<7xf16> -> tensor<f32>
  %2 = blockscale.amax %c {note = "x"} : tensor<7xf16> -> tensor<f32>
  return
}
