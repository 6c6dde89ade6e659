// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s

// CHECK-LABEL: func @masked
func.func @masked(%dx: tensor<?x4096xf32>, %x: tensor<?x4096xbf16>, %s: tensor<?x256xf8E4M3FN>, %g: tensor<f32>) -> tensor<?x4096xf32> {
  // CHECK: blockscale.mask_clipped %{{.*}} of %{{.*}} : tensor<?x4096xf32>, tensor<?x4096xbf16> scales(%{{.*}} : tensor<?x256xf8E4M3FN>) tensor(%{{.*}} : tensor<f32>) from #blockscale.format<nvfp4> {limit = 6.000000e+00 : f32}
  %r = blockscale.mask_clipped %dx of %x : tensor<?x4096xf32>, tensor<?x4096xbf16>
      scales(%s : tensor<?x256xf8E4M3FN>) tensor(%g : tensor<f32>) from #blockscale.format<nvfp4> {limit = 6.0 : f32}
  return %r : tensor<?x4096xf32>
}
