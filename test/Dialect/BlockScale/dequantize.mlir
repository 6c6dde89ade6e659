// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s

// CHECK-LABEL: @dequantize
func.func @dequantize(%q: tensor<?x4096xf4E2M1FN>, %s: tensor<?x256xf8E4M3FN>, %g: tensor<f32>,
                      %u: tensor<8x128xi4>, %us: tensor<8x2xf16>, %z: tensor<8x2xi8>,
                      %b: tensor<2x20x32xf4E2M1FN>, %bs: tensor<2x2x2xf8E4M3FN, #blockscale.tiled_128x4>) {
  // CHECK: blockscale.dequantize %{{.*}} : tensor<?x4096xf4E2M1FN> scales(%{{.*}} : tensor<?x256xf8E4M3FN>) tensor(%{{.*}} : tensor<f32>) from #blockscale.format<nvfp4> -> tensor<?x4096xbf16>
  %0 = blockscale.dequantize %q : tensor<?x4096xf4E2M1FN> scales(%s : tensor<?x256xf8E4M3FN>)
      tensor(%g : tensor<f32>) from #blockscale.format<nvfp4> -> tensor<?x4096xbf16>
  // CHECK: scales(%{{.*}} : tensor<8x2xf16>) zeros(%{{.*}} : tensor<8x2xi8>) from #blockscale.format<uint4> -> tensor<8x128xf16>
  %1 = blockscale.dequantize %u : tensor<8x128xi4> scales(%us : tensor<8x2xf16>)
      zeros(%z : tensor<8x2xi8>) from #blockscale.format<uint4> -> tensor<8x128xf16>
  // CHECK: scales(%{{.*}} : tensor<2x2x2xf8E4M3FN, #blockscale.tiled_128x4>)
  // CHECK-SAME: -> tensor<2x20x32xf32>
  %2 = blockscale.dequantize %b : tensor<2x20x32xf4E2M1FN>
      scales(%bs : tensor<2x2x2xf8E4M3FN, #blockscale.tiled_128x4>)
      tensor(%g : tensor<f32>) from #blockscale.format<nvfp4, block = 16x16> -> tensor<2x20x32xf32>
  return
}
