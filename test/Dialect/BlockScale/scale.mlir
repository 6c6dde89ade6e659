// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s

#nvfp4 = #blockscale.format<nvfp4>
#two_level = #blockscale.scale_rule<two_level>

// CHECK-LABEL: @two_level
func.func @two_level(%x: tensor<?x4096xbf16>, %a: tensor<f32>) {
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = blockscale.scale %{{.*}} : tensor<?x4096xbf16> to #blockscale.format<nvfp4> by #blockscale.scale_rule<two_level> -> tensor<?x256xf8E4M3FN>, tensor<f32>, tensor<?x256xf32>
  %s, %g, %e = blockscale.scale %x : tensor<?x4096xbf16> to #nvfp4 by #two_level
      -> tensor<?x256xf8E4M3FN>, tensor<f32>, tensor<?x256xf32>
  // CHECK: blockscale.scale %{{.*}} : tensor<?x4096xbf16> amax(%{{.*}} : tensor<f32>) to
  %t:3 = blockscale.scale %x : tensor<?x4096xbf16> amax(%a : tensor<f32>) to #nvfp4 by #two_level
      -> tensor<?x256xf8E4M3FN>, tensor<f32>, tensor<?x256xf32>
  // Scales in the layout that somebody wants to read.
  // CHECK: -> tensor<?x256xf8E4M3FN, #blockscale.tiled_128x4>, tensor<f32>, tensor<?x256xf32>
  %u:3 = blockscale.scale %x : tensor<?x4096xbf16> to #nvfp4 by #two_level
      -> tensor<?x256xf8E4M3FN, #blockscale.tiled_128x4>, tensor<f32>, tensor<?x256xf32>
  return
}

// Without a tensor level, and encoded by division: only scales.
// CHECK-LABEL: @one_result
func.func @one_result(%x: tensor<2x?x64xf32>) {
  // CHECK: = blockscale.scale %{{.*}} : tensor<2x?x64xf32> to #blockscale.format<mxfp8_e4m3> by #blockscale.scale_rule<floor> -> tensor<2x?x2xf8E8M0FNU>
  %s = blockscale.scale %x : tensor<2x?x64xf32> to #blockscale.format<mxfp8_e4m3>
      by #blockscale.scale_rule<floor> -> tensor<2x?x2xf8E8M0FNU>
  // CHECK: -> tensor<2x?x2xf8E8M0FNU>, tensor<2x?x2xf32>
  %t, %e = blockscale.scale %x : tensor<2x?x64xf32> to #blockscale.format<mxfp4>
      by #blockscale.scale_rule<floor, pre_multiplier = 0.75> -> tensor<2x?x2xf8E8M0FNU>, tensor<2x?x2xf32>
  // CHECK: -> tensor<2x?x4xi8>, tensor<2x?x4xf32>
  %u, %f = blockscale.scale %x : tensor<2x?x64xf32> to #blockscale.format<fp4_ue5m3>
      by #blockscale.scale_rule<svdquant> -> tensor<2x?x4xi8>, tensor<2x?x4xf32>
  return
}

// CHECK-LABEL: @zero_points
func.func @zero_points(%x: tensor<8x128xf16>) {
  // CHECK: -> tensor<8x2xf16>, tensor<8x2xi8>
  %s, %z = blockscale.scale %x : tensor<8x128xf16> to #blockscale.format<uint4>
      by #blockscale.scale_rule<minmax> -> tensor<8x2xf16>, tensor<8x2xi8>
  return
}

// CHECK-LABEL: @padded
func.func @padded(%x: tensor<3x100xf32>) {
  // CHECK: by #blockscale.scale_rule<rceil> {pad} -> tensor<3x4xf8E8M0FNU>
  %s = blockscale.scale %x : tensor<3x100xf32> to #blockscale.format<mxfp4>
      by #blockscale.scale_rule<rceil> {pad} -> tensor<3x4xf8E8M0FNU>
  return
}

// The last blocks of rows may be shorter, without a word.
// CHECK-LABEL: @square_blocks
func.func @square_blocks(%x: tensor<2x40x64xf32>, %y: tensor<?x64xf32>) {
  // CHECK: -> tensor<2x3x4xf8E4M3FN>, tensor<f32>, tensor<2x3x4xf32>
  %0:3 = blockscale.scale %x : tensor<2x40x64xf32> to #blockscale.format<nvfp4, block = 16x16>
      by #two_level -> tensor<2x3x4xf8E4M3FN>, tensor<f32>, tensor<2x3x4xf32>
  // CHECK: -> tensor<?x4xf8E4M3FN>, tensor<f32>, tensor<?x4xf32>
  %1:3 = blockscale.scale %y : tensor<?x64xf32> to #blockscale.format<nvfp4, block = 16x16>
      by #two_level -> tensor<?x4xf8E4M3FN>, tensor<f32>, tensor<?x4xf32>
  return
}
