// RUN: blockscale-opt %s -split-input-file -blockscale-lower-to-cpu | FileCheck %s

#fmt = #blockscale.format<nvfp4>
#rule = #blockscale.scale_rule<two_level>

// Elements are written by the pass that chooses the scales, and encode factors
// that nobody else reads stay in registers: one kernel stores scales and codes.
// CHECK-LABEL: func.func @together
// CHECK:         call @blockscale_amax.parallel
// CHECK:         call @blockscale_level.parallel
// CHECK:         call @blockscale_scale.parallel({{.*}}) : (index, index, memref<?xbf16>, index, memref<?xi8>, memref<?xf32>, memref<?xi8>) -> ()
// CHECK-NOT:     call
// CHECK:         return
func.func @together(%x: tensor<?x64xbf16>) -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>, tensor<f32>) {
  %s, %g, %e = blockscale.scale %x : tensor<?x64xbf16> to #fmt by #rule
      -> tensor<?x4xf8E4M3FN>, tensor<f32>, tensor<?x4xf32>
  %q = blockscale.quantize %x : tensor<?x64xbf16> encode(%e : tensor<?x4xf32>)
      to #fmt round nearest_even -> tensor<?x64xf4E2M1FN>
  return %q, %s, %g : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>, tensor<f32>
}

// -----

#fmt = #blockscale.format<nvfp4>
#rule = #blockscale.scale_rule<two_level>

// Factors that are returned are stored too.
// CHECK-LABEL: func.func @factors_are_used
// CHECK:         call @blockscale_scale.parallel({{.*}}) : (index, index, memref<?xbf16>, index, memref<?xi8>, memref<?xf32>, memref<?xf32>, memref<?xi8>) -> ()
// CHECK-NOT:     call
func.func @factors_are_used(%x: tensor<?x64xbf16>) -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf32>) {
  %s, %g, %e = blockscale.scale %x : tensor<?x64xbf16> to #fmt by #rule
      -> tensor<?x4xf8E4M3FN>, tensor<f32>, tensor<?x4xf32>
  %q = blockscale.quantize %x : tensor<?x64xbf16> encode(%e : tensor<?x4xf32>)
      to #fmt round nearest_even -> tensor<?x64xf4E2M1FN>
  return %q, %e : tensor<?x64xf4E2M1FN>, tensor<?x4xf32>
}

// -----

#fmt = #blockscale.format<nvfp4>
#rule = #blockscale.scale_rule<two_level>

// Other values by the same scales are another pass.
// CHECK-LABEL: func.func @other_source
// CHECK:         call @blockscale_scale.parallel
// CHECK:         call @blockscale_quantize.parallel
func.func @other_source(%x: tensor<4x64xbf16>, %y: tensor<4x64xbf16>) -> tensor<4x64xf4E2M1FN> {
  %s, %g, %e = blockscale.scale %x : tensor<4x64xbf16> to #fmt by #rule
      -> tensor<4x4xf8E4M3FN>, tensor<f32>, tensor<4x4xf32>
  %q = blockscale.quantize %y : tensor<4x64xbf16> encode(%e : tensor<4x4xf32>)
      to #fmt round nearest_even -> tensor<4x64xf4E2M1FN>
  return %q : tensor<4x64xf4E2M1FN>
}
