// RUN: blockscale-opt %s -split-input-file -blockscale-fold-round-trips | FileCheck %s --check-prefixes=CHECK,GIVEN
// RUN: blockscale-opt %s -split-input-file -blockscale-fold-round-trips=fresh-scales | FileCheck %s --check-prefixes=CHECK,FRESH

#nvfp4 = #blockscale.format<nvfp4>

// CHECK-LABEL: @given_scales
// CHECK-SAME:  (%[[Q:.*]]: tensor<?x64xf4E2M1FN>,
// CHECK-NEXT:  return %[[Q]]
func.func @given_scales(%q: tensor<?x64xf4E2M1FN>, %s: tensor<?x4xf8E4M3FN>, %g: tensor<f32>) -> tensor<?x64xf4E2M1FN> {
  %x = blockscale.dequantize %q : tensor<?x64xf4E2M1FN> scales(%s : tensor<?x4xf8E4M3FN>)
      tensor(%g : tensor<f32>) from #nvfp4 -> tensor<?x64xbf16>
  %r = blockscale.quantize %x : tensor<?x64xbf16> scales(%s : tensor<?x4xf8E4M3FN>)
      tensor(%g : tensor<f32>) to #nvfp4 -> tensor<?x64xf4E2M1FN>
  return %r : tensor<?x64xf4E2M1FN>
}

// -----

// CHECK-LABEL: @zero_points
// CHECK-SAME:  (%[[Q:.*]]: tensor<8x64xi4>,
// CHECK-NEXT:  return %[[Q]]
func.func @zero_points(%q: tensor<8x64xi4>, %s: tensor<8x1xf16>, %z: tensor<8x1xi8>) -> tensor<8x64xi4> {
  %x = blockscale.dequantize %q : tensor<8x64xi4> scales(%s : tensor<8x1xf16>)
      zeros(%z : tensor<8x1xi8>) from #blockscale.format<uint4> -> tensor<8x64xf32>
  %r = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x1xf16>)
      zeros(%z : tensor<8x1xi8>) to #blockscale.format<uint4> round nearest_away -> tensor<8x64xi4>
  return %r : tensor<8x64xi4>
}

// -----

// The layout of the scales makes no difference.
#tiled = #blockscale.tiled_128x4
// CHECK-LABEL: @other_layout
// CHECK:       return %arg0
func.func @other_layout(%q: tensor<8x64xf8E4M3FN>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xf8E4M3FN> {
  %t = blockscale.relayout %s : tensor<8x2xf8E8M0FNU> -> tensor<8x2xf8E8M0FNU, #tiled>
  %x = blockscale.dequantize %q : tensor<8x64xf8E4M3FN> scales(%t : tensor<8x2xf8E8M0FNU, #tiled>)
      from #blockscale.format<mxfp8_e4m3> -> tensor<8x64xf32>
  %r = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>)
      to #blockscale.format<mxfp8_e4m3> -> tensor<8x64xf8E4M3FN>
  return %r : tensor<8x64xf8E4M3FN>
}

// -----

// CHECK-LABEL: @other_scales
// CHECK:         %[[R:.*]] = blockscale.quantize
// CHECK:         return %[[R]]
func.func @other_scales(%q: tensor<8x64xf4E2M1FN>, %s: tensor<8x2xf8E8M0FNU>, %t: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xf4E2M1FN> {
  %x = blockscale.dequantize %q : tensor<8x64xf4E2M1FN> scales(%s : tensor<8x2xf8E8M0FNU>)
      from #blockscale.format<mxfp4> -> tensor<8x64xf32>
  %r = blockscale.quantize %x : tensor<8x64xf32> scales(%t : tensor<8x2xf8E8M0FNU>)
      to #blockscale.format<mxfp4> -> tensor<8x64xf4E2M1FN>
  return %r : tensor<8x64xf4E2M1FN>
}

// -----

// CHECK-LABEL: @other_tensor_scale
// CHECK:         %[[R:.*]] = blockscale.quantize
// CHECK:         return %[[R]]
func.func @other_tensor_scale(%q: tensor<8x64xf4E2M1FN>, %s: tensor<8x4xf8E4M3FN>, %g: tensor<f32>, %h: tensor<f32>) -> tensor<8x64xf4E2M1FN> {
  %x = blockscale.dequantize %q : tensor<8x64xf4E2M1FN> scales(%s : tensor<8x4xf8E4M3FN>)
      tensor(%g : tensor<f32>) from #blockscale.format<nvfp4> -> tensor<8x64xf32>
  %r = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x4xf8E4M3FN>)
      tensor(%h : tensor<f32>) to #blockscale.format<nvfp4> -> tensor<8x64xf4E2M1FN>
  return %r : tensor<8x64xf4E2M1FN>
}

// -----

// Same types, other meaning.
// CHECK-LABEL: @other_format
// CHECK:         %[[R:.*]] = blockscale.quantize
// CHECK:         return %[[R]]
func.func @other_format(%q: tensor<8x64xi8>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xi8> {
  %x = blockscale.dequantize %q : tensor<8x64xi8> scales(%s : tensor<8x2xf8E8M0FNU>)
      from #blockscale.format<mxint8> -> tensor<8x64xf32>
  %r = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>)
      to #blockscale.format<int8q4, block = 32, scale = e8m0> -> tensor<8x64xi8>
  return %r : tensor<8x64xi8>
}

// -----

// f16 overflows where the scales do not, truncation moves codes, and a random
// draw is what the program asked for.
// CHECK-LABEL: @kept
// CHECK-COUNT-3: blockscale.quantize
func.func @kept(%q: tensor<8x64xf4E2M1FN>, %s: tensor<8x2xf8E8M0FNU>, %seed: tensor<i64>)
    -> (tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>) {
  %h = blockscale.dequantize %q : tensor<8x64xf4E2M1FN> scales(%s : tensor<8x2xf8E8M0FNU>)
      from #blockscale.format<mxfp4> -> tensor<8x64xf16>
  %x = blockscale.dequantize %q : tensor<8x64xf4E2M1FN> scales(%s : tensor<8x2xf8E8M0FNU>)
      from #blockscale.format<mxfp4> -> tensor<8x64xf32>
  %0 = blockscale.quantize %h : tensor<8x64xf16> scales(%s : tensor<8x2xf8E8M0FNU>)
      to #blockscale.format<mxfp4> -> tensor<8x64xf4E2M1FN>
  %1 = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>)
      to #blockscale.format<mxfp4> round toward_zero -> tensor<8x64xf4E2M1FN>
  %2 = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>)
      to #blockscale.format<mxfp4> round stochastic seed(%seed : tensor<i64>) -> tensor<8x64xf4E2M1FN>
  return %0, %1, %2 : tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>
}

// -----

// NF4 survives the error of bf16, a codebook with close neighbours does not.
#close = #blockscale.format<codebook[-1, -0.9, -0.8, -0.7, -0.6, -0.5, -0.4, 0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.999, 1], block = 64, scale = f32>
// CHECK-LABEL: @codebooks
// CHECK:         %[[R:.*]] = blockscale.quantize
// CHECK-NOT:     blockscale.quantize
// CHECK:         return %arg0, %[[R]]
func.func @codebooks(%q: tensor<8x64xi4>, %s: tensor<8x1xf32>) -> (tensor<8x64xi4>, tensor<8x64xi4>) {
  %x = blockscale.dequantize %q : tensor<8x64xi4> scales(%s : tensor<8x1xf32>)
      from #blockscale.format<nf4> -> tensor<8x64xbf16>
  %0 = blockscale.quantize %x : tensor<8x64xbf16> scales(%s : tensor<8x1xf32>)
      to #blockscale.format<nf4> -> tensor<8x64xi4>
  %y = blockscale.dequantize %q : tensor<8x64xi4> scales(%s : tensor<8x1xf32>) from #close -> tensor<8x64xbf16>
  %1 = blockscale.quantize %y : tensor<8x64xbf16> scales(%s : tensor<8x1xf32>) to #close -> tensor<8x64xi4>
  return %0, %1 : tensor<8x64xi4>, tensor<8x64xi4>
}

// -----

// A float zero point may be far from the codes, so that bf16 does not hold the
// difference. f32 does.
#fmt = #blockscale.format<uint4, zero = f16>
// CHECK-LABEL: @float_zero_points
// CHECK:         %[[R:.*]] = blockscale.quantize {{.*}} tensor<8x64xbf16>
// CHECK-NOT:     blockscale.quantize
// CHECK:         return %[[R]], %arg0
func.func @float_zero_points(%q: tensor<8x64xi4>, %s: tensor<8x1xf16>, %z: tensor<8x1xf16>) -> (tensor<8x64xi4>, tensor<8x64xi4>) {
  %x = blockscale.dequantize %q : tensor<8x64xi4> scales(%s : tensor<8x1xf16>)
      zeros(%z : tensor<8x1xf16>) from #fmt -> tensor<8x64xbf16>
  %0 = blockscale.quantize %x : tensor<8x64xbf16> scales(%s : tensor<8x1xf16>)
      zeros(%z : tensor<8x1xf16>) to #fmt -> tensor<8x64xi4>
  %y = blockscale.dequantize %q : tensor<8x64xi4> scales(%s : tensor<8x1xf16>)
      zeros(%z : tensor<8x1xf16>) from #fmt -> tensor<8x64xf32>
  %1 = blockscale.quantize %y : tensor<8x64xf32> scales(%s : tensor<8x1xf16>)
      zeros(%z : tensor<8x1xf16>) to #fmt -> tensor<8x64xi4>
  return %0, %1 : tensor<8x64xi4>, tensor<8x64xi4>
}

// -----

#nvfp4 = #blockscale.format<nvfp4>
#rule = #blockscale.scale_rule<two_level>
#tiled = #blockscale.tiled_128x4
// CHECK-LABEL: @fresh
// CHECK-SAME:  (%[[Q:.*]]: tensor<8x64xf4E2M1FN>, %[[S:.*]]: tensor<8x4xf8E4M3FN>, %[[G:.*]]: tensor<f32>)
// GIVEN:       blockscale.scale
// FRESH:       %[[T:.*]] = blockscale.relayout %[[S]]
// FRESH-NEXT:  return %[[Q]], %[[T]], %[[G]]
func.func @fresh(%q: tensor<8x64xf4E2M1FN>, %s: tensor<8x4xf8E4M3FN>, %g: tensor<f32>)
    -> (tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN, #tiled>, tensor<f32>) {
  %x = blockscale.dequantize %q : tensor<8x64xf4E2M1FN> scales(%s : tensor<8x4xf8E4M3FN>)
      tensor(%g : tensor<f32>) from #nvfp4 -> tensor<8x64xbf16>
  %t, %h, %e = blockscale.scale %x : tensor<8x64xbf16> to #nvfp4 by #rule
      -> tensor<8x4xf8E4M3FN, #tiled>, tensor<f32>, tensor<8x4xf32>
  %r = blockscale.quantize %x : tensor<8x64xbf16> encode(%e : tensor<8x4xf32>) to #nvfp4 -> tensor<8x64xf4E2M1FN>
  return %r, %t, %h : tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN, #tiled>, tensor<f32>
}

// -----

// The fresh scales serve another tensor, too, or a random draw: they stay.
#nvfp4 = #blockscale.format<nvfp4>
#rule = #blockscale.scale_rule<two_level>
// CHECK-LABEL: @fresh_kept
// CHECK:         blockscale.scale
// CHECK-COUNT-2: blockscale.quantize
func.func @fresh_kept(%q: tensor<8x64xf4E2M1FN>, %s: tensor<8x4xf8E4M3FN>, %g: tensor<f32>, %y: tensor<8x64xbf16>)
    -> (tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>) {
  %x = blockscale.dequantize %q : tensor<8x64xf4E2M1FN> scales(%s : tensor<8x4xf8E4M3FN>)
      tensor(%g : tensor<f32>) from #nvfp4 -> tensor<8x64xbf16>
  %t, %h, %e = blockscale.scale %x : tensor<8x64xbf16> to #nvfp4 by #rule
      -> tensor<8x4xf8E4M3FN>, tensor<f32>, tensor<8x4xf32>
  %0 = blockscale.quantize %x : tensor<8x64xbf16> encode(%e : tensor<8x4xf32>) to #nvfp4 -> tensor<8x64xf4E2M1FN>
  %1 = blockscale.quantize %y : tensor<8x64xbf16> encode(%e : tensor<8x4xf32>) to #nvfp4 -> tensor<8x64xf4E2M1FN>
  return %0, %1 : tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>
}

// -----

#rule = #blockscale.scale_rule<rceil>
// Encoded by division: the kept scales make it a round trip with given ones.
// CHECK-LABEL: @fresh_division
// GIVEN:       blockscale.quantize
// FRESH-NEXT:  return %arg0, %arg1
func.func @fresh_division(%q: tensor<8x64xf4E2M1FN>, %s: tensor<8x2xf8E8M0FNU>) -> (tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU>) {
  %x = blockscale.dequantize %q : tensor<8x64xf4E2M1FN> scales(%s : tensor<8x2xf8E8M0FNU>)
      from #blockscale.format<mxfp4> -> tensor<8x64xf32>
  %t = blockscale.scale %x : tensor<8x64xf32> to #blockscale.format<mxfp4> by #rule -> tensor<8x2xf8E8M0FNU>
  %r = blockscale.quantize %x : tensor<8x64xf32> scales(%t : tensor<8x2xf8E8M0FNU>)
      to #blockscale.format<mxfp4> -> tensor<8x64xf4E2M1FN>
  return %r, %t : tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU>
}
