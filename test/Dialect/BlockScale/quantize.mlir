// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s

#nvfp4 = #blockscale.format<nvfp4>

// CHECK-LABEL: @encode
func.func @encode(%x: tensor<?x4096xbf16>, %e: tensor<?x256xf32>, %seed: tensor<i64>) {
  // Without `round` a pass may choose; what is written stays.
  // CHECK: blockscale.quantize %{{.*}} : tensor<?x4096xbf16> encode(%{{.*}} : tensor<?x256xf32>) to #blockscale.format<nvfp4> seed(%{{.*}} : tensor<i64>) -> tensor<?x4096xf4E2M1FN>
  %2 = blockscale.quantize %x : tensor<?x4096xbf16> encode(%e : tensor<?x256xf32>)
      to #nvfp4 seed(%seed : tensor<i64>) -> tensor<?x4096xf4E2M1FN>
  // CHECK: blockscale.quantize %{{.*}} : tensor<?x4096xbf16> encode(%{{.*}} : tensor<?x256xf32>) to #blockscale.format<nvfp4> round nearest_even -> tensor<?x4096xf4E2M1FN>
  %0 = blockscale.quantize %x : tensor<?x4096xbf16> encode(%e : tensor<?x256xf32>)
      to #nvfp4 round nearest_even -> tensor<?x4096xf4E2M1FN>
  // CHECK: to #blockscale.format<nvfp4> round stochastic seed(%{{.*}} : tensor<i64>) -> tensor<?x4096xf4E2M1FN>
  %1 = blockscale.quantize %x : tensor<?x4096xbf16> encode(%e : tensor<?x256xf32>)
      to #nvfp4 round stochastic seed(%seed : tensor<i64>) -> tensor<?x4096xf4E2M1FN>
  return
}

// CHECK-LABEL: @scales
func.func @scales(%x: tensor<?x64xf32>, %s: tensor<?x4xf8E4M3FN>, %g: tensor<f32>,
                  %t: tensor<?x4xf8E4M3FN, #blockscale.tiled_128x4>, %u: tensor<?x2xf8E8M0FNU>) {
  // CHECK: blockscale.quantize %{{.*}} : tensor<?x64xf32> scales(%{{.*}} : tensor<?x4xf8E4M3FN>) tensor(%{{.*}} : tensor<f32>) to #blockscale.format<nvfp4> round toward_zero -> tensor<?x64xf4E2M1FN>
  %0 = blockscale.quantize %x : tensor<?x64xf32> scales(%s : tensor<?x4xf8E4M3FN>) tensor(%g : tensor<f32>)
      to #nvfp4 round toward_zero -> tensor<?x64xf4E2M1FN>
  // CHECK: scales(%{{.*}} : tensor<?x4xf8E4M3FN, #blockscale.tiled_128x4>)
  %1 = blockscale.quantize %x : tensor<?x64xf32> scales(%t : tensor<?x4xf8E4M3FN, #blockscale.tiled_128x4>)
      tensor(%g : tensor<f32>) to #nvfp4 round nearest_away -> tensor<?x64xf4E2M1FN>
  // CHECK: scales(%{{.*}} : tensor<?x2xf8E8M0FNU>) to #blockscale.format<mxint8> round nearest_zero -> tensor<?x64xi8>
  %2 = blockscale.quantize %x : tensor<?x64xf32> scales(%u : tensor<?x2xf8E8M0FNU>)
      to #blockscale.format<mxint8> round nearest_zero -> tensor<?x64xi8>
  return
}

// CHECK-LABEL: @zero_points
func.func @zero_points(%x: tensor<8x128xf16>, %s: tensor<8x2xf16>, %z: tensor<8x2xi8>) {
  // CHECK: scales(%{{.*}} : tensor<8x2xf16>) zeros(%{{.*}} : tensor<8x2xi8>) to #blockscale.format<uint4> -> tensor<8x128xi4>
  %0 = blockscale.quantize %x : tensor<8x128xf16> scales(%s : tensor<8x2xf16>) zeros(%z : tensor<8x2xi8>)
      to #blockscale.format<uint4> -> tensor<8x128xi4>
  return
}

// CHECK-LABEL: @padded
func.func @padded(%x: tensor<3x100xf32>, %s: tensor<3x4xf8E8M0FNU>) {
  // CHECK: to #blockscale.format<mxfp6_e2m3> {pad} -> tensor<3x128xf6E2M3FN>
  %0 = blockscale.quantize %x : tensor<3x100xf32> scales(%s : tensor<3x4xf8E8M0FNU>)
      to #blockscale.format<mxfp6_e2m3> {pad} -> tensor<3x128xf6E2M3FN>
  return
}

// Operands may know more or less about leading extents.
// CHECK-LABEL: @dynamic
func.func @dynamic(%x: tensor<2x?x32xf32>, %s: tensor<?x5x1xf8E8M0FNU>) {
  // CHECK: -> tensor<2x?x32xf8E5M2>
  %0 = blockscale.quantize %x : tensor<2x?x32xf32> scales(%s : tensor<?x5x1xf8E8M0FNU>)
      to #blockscale.format<mxfp8_e5m2> -> tensor<2x?x32xf8E5M2>
  return
}
