// RUN: blockscale-opt %s --split-input-file --blockscale-fold-constants | FileCheck %s

// 6 and its neighbours by floor: scale 2^0 = code 127, elements as E2M1's table.
// CHECK-LABEL: func @mxfp4
//   CHECK-DAG: %[[S:.*]] = arith.constant dense<1.000000e+00> : tensor<1x1xf8E8M0FNU>
//   CHECK-DAG: %[[Q:.*]] = arith.constant dense<{{\[\[}}6.000000e+00, -3.000000e+00, 5.000000e-01, 2.000000e+00, 0.000000e+00
//       CHECK: return %[[Q]], %[[S]]
#mxfp4 = #blockscale.format<mxfp4>
func.func @mxfp4() -> (tensor<1x32xf4E2M1FN>, tensor<1x1xf8E8M0FNU>) {
  %x = arith.constant dense<[[6.0, -3.0, 0.4, 2.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<1x32xbf16>
  %s = blockscale.scale %x : tensor<1x32xbf16> to #mxfp4 by #blockscale.scale_rule<floor> -> tensor<1x1xf8E8M0FNU>
  %q = blockscale.quantize %x : tensor<1x32xbf16> scales(%s : tensor<1x1xf8E8M0FNU>) to #mxfp4 -> tensor<1x32xf4E2M1FN>
  return %q, %s : tensor<1x32xf4E2M1FN>, tensor<1x1xf8E8M0FNU>
}

// -----

// All results of a two-level rule; nothing is left to do at run time.
// CHECK-LABEL: func @nvfp4
//   CHECK-NOT: blockscale.
//       CHECK: return
#nvfp4 = #blockscale.format<nvfp4>
func.func @nvfp4() -> (tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<f32>, tensor<8x64xf32>, tensor<8x64xf32>) {
  %x = arith.constant dense<1.5> : tensor<8x64xf32>
  %s, %g, %e = blockscale.scale %x : tensor<8x64xf32> to #nvfp4 by #blockscale.scale_rule<two_level>
      -> tensor<8x4xf8E4M3FN>, tensor<f32>, tensor<8x4xf32>
  %q = blockscale.quantize %x : tensor<8x64xf32> encode(%e : tensor<8x4xf32>) to #nvfp4 -> tensor<8x64xf4E2M1FN>
  %y = blockscale.dequantize %q : tensor<8x64xf4E2M1FN> scales(%s : tensor<8x4xf8E4M3FN>) tensor(%g : tensor<f32>)
      from #nvfp4 -> tensor<8x64xf32>
  %f = blockscale.fake_quantize residual %x : tensor<8x64xf32> to #nvfp4 by #blockscale.scale_rule<two_level>
  return %q, %s, %g, %y, %f : tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<f32>, tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// Large results are resources.
// CHECK-LABEL: func @large
//       CHECK: dense_resource<elements> : tensor<128x256xf4E2M1FN>
#mxfp4 = #blockscale.format<mxfp4>
func.func @large() -> tensor<128x256xf4E2M1FN> {
  %x = arith.constant dense<1.0> : tensor<128x256xf32>
  %s = blockscale.scale %x : tensor<128x256xf32> to #mxfp4 by #blockscale.scale_rule<floor> -> tensor<128x8xf8E8M0FNU>
  %q = blockscale.quantize %x : tensor<128x256xf32> scales(%s : tensor<128x8xf8E8M0FNU>) to #mxfp4 -> tensor<128x256xf4E2M1FN>
  return %q : tensor<128x256xf4E2M1FN>
}

// -----

// A draw is folded if its seed is known; a resource that is not there is left.
// CHECK-LABEL: func @left
//       CHECK: blockscale.quantize {{.*}} round stochastic
//   CHECK-NOT: blockscale.quantize {{.*}} round stochastic
//       CHECK: blockscale.scale
#mxfp4 = #blockscale.format<mxfp4>
func.func @left(%seed: tensor<i64>) -> (tensor<1x32xf4E2M1FN>, tensor<1x32xf4E2M1FN>, tensor<1x1xf8E8M0FNU>) {
  %x = arith.constant dense<1.0> : tensor<1x32xf32>
  %s = arith.constant dense<1.0> : tensor<1x1xf8E8M0FNU>
  %known = arith.constant dense<7> : tensor<i64>
  %q = blockscale.quantize %x : tensor<1x32xf32> scales(%s : tensor<1x1xf8E8M0FNU>) to #mxfp4
      round stochastic seed(%seed : tensor<i64>) -> tensor<1x32xf4E2M1FN>
  %r = blockscale.quantize %x : tensor<1x32xf32> scales(%s : tensor<1x1xf8E8M0FNU>) to #mxfp4
      round stochastic seed(%known : tensor<i64>) -> tensor<1x32xf4E2M1FN>
  %absent = arith.constant dense_resource<absent> : tensor<1x32xf32>
  %t = blockscale.scale %absent : tensor<1x32xf32> to #mxfp4 by #blockscale.scale_rule<floor> -> tensor<1x1xf8E8M0FNU>
  return %q, %r, %t : tensor<1x32xf4E2M1FN>, tensor<1x32xf4E2M1FN>, tensor<1x1xf8E8M0FNU>
}

// -----

// A transposed weight, and scales in another layout.
// CHECK-LABEL: func @moved
//   CHECK-DAG: dense<{{\[\[}}1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]> : tensor<2x2xbf16>
//   CHECK-DAG: tensor<2x2xf8E4M3FN, #blockscale.tiled_128x4>
//   CHECK-NOT: blockscale.relayout
func.func @moved() -> (tensor<2x2xbf16>, tensor<2x2xf8E4M3FN, #blockscale.tiled_128x4>) {
  %x = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xbf16>
  %e = tensor.empty() : tensor<2x2xbf16>
  %t = linalg.transpose ins(%x : tensor<2x2xbf16>) outs(%e : tensor<2x2xbf16>) permutation = [1, 0]
  %s = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf8E4M3FN>
  %r = blockscale.relayout %s : tensor<2x2xf8E4M3FN> -> tensor<2x2xf8E4M3FN, #blockscale.tiled_128x4>
  return %t, %r : tensor<2x2xbf16>, tensor<2x2xf8E4M3FN, #blockscale.tiled_128x4>
}
