// RUN: blockscale-opt %s -split-input-file -blockscale-lower-to-cpu | FileCheck %s
// RUN: blockscale-opt %s -split-input-file -blockscale-lower-to-nvidia=chip=sm_90a | FileCheck %s --check-prefix=GPU

#fmt = #blockscale.format<nvfp4>
#rule = #blockscale.scale_rule<two_level>

// A rotation that only quantizers read is done by their kernels, twice where the
// amax is measured: the rotated tensor is never written.
// CHECK-LABEL: func.func @inside
// CHECK-NOT:     memref.alloc{{.*}}xbf16>
// CHECK:         call @blockscale_rotate_amax.parallel
// CHECK:         call @blockscale_level.parallel
// CHECK:         call @blockscale_rotate_scale.parallel
// CHECK-NOT:     call
// GPU-LABEL:   func.func @inside
// GPU-NOT:       memref.alloc{{.*}}xbf16>
// GPU:           call @blockscale_rotate_amax.launch
// GPU:           call @blockscale_rotate_scale.launch
func.func @inside(%x: tensor<?x128xbf16>) -> (tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>, tensor<f32>) {
  %r = blockscale.rotate %x {size = 128} : tensor<?x128xbf16>
  %s, %g, %e = blockscale.scale %r : tensor<?x128xbf16> to #fmt by #rule
      -> tensor<?x8xf8E4M3FN>, tensor<f32>, tensor<?x8xf32>
  %q = blockscale.quantize %r : tensor<?x128xbf16> encode(%e : tensor<?x8xf32>)
      to #fmt round nearest_even -> tensor<?x128xf4E2M1FN>
  return %q, %s, %g : tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>, tensor<f32>
}

// -----

// Signs in memory are read by the kernel.
// CHECK-LABEL: func.func @signs
// CHECK:         call @blockscale_rotate_scale.parallel({{.*}}memref<?xi8>{{.*}}memref<?xi8>{{.*}}memref<?xi8>) -> ()
// CHECK-NOT:     call
// GPU-LABEL:   func.func @signs
// GPU-NOT:       call @blockscale_rotate.launch
// GPU:           call @blockscale_rotate_scale.launch
#mx = #blockscale.format<mxfp4>
func.func @signs(%x: tensor<4x64xf32>, %signs: tensor<32xi8>) -> (tensor<4x64xf4E2M1FN>, tensor<4x2xf8E8M0FNU>) {
  %r = blockscale.rotate %x signs(%signs : tensor<32xi8>) {size = 32} : tensor<4x64xf32>
  %s = blockscale.scale %r : tensor<4x64xf32> to #mx by #blockscale.scale_rule<rceil> -> tensor<4x2xf8E8M0FNU>
  %q = blockscale.quantize %r : tensor<4x64xf32> scales(%s : tensor<4x2xf8E8M0FNU>) to #mx -> tensor<4x64xf4E2M1FN>
  return %q, %s : tensor<4x64xf4E2M1FN>, tensor<4x2xf8E8M0FNU>
}

// -----

#mx = #blockscale.format<mxfp4>

// The rotated tensor has another reader: it is written, once, and read.
// CHECK-LABEL: func.func @returned
// CHECK:         call @blockscale_rotate.parallel
// CHECK:         call @blockscale_scale.parallel
// GPU-LABEL:   func.func @returned
// GPU:           call @blockscale_rotate.launch
// GPU:           call @blockscale_scale.launch
func.func @returned(%x: tensor<4x64xf32>) -> (tensor<4x64xf32>, tensor<4x64xf4E2M1FN>) {
  %r = blockscale.rotate %x {size = 32} : tensor<4x64xf32>
  %s = blockscale.scale %r : tensor<4x64xf32> to #mx by #blockscale.scale_rule<rceil> -> tensor<4x2xf8E8M0FNU>
  %q = blockscale.quantize %r : tensor<4x64xf32> scales(%s : tensor<4x2xf8E8M0FNU>) to #mx -> tensor<4x64xf4E2M1FN>
  return %r, %q : tensor<4x64xf32>, tensor<4x64xf4E2M1FN>
}

// -----

#mx = #blockscale.format<mxfp4>

// Rows that hold no whole number of blocks.
// CHECK-LABEL: func.func @padded
// CHECK:         call @blockscale_rotate.parallel
func.func @padded(%x: tensor<4x48xf32>) -> (tensor<4x64xf4E2M1FN>) {
  %r = blockscale.rotate %x {size = 16} : tensor<4x48xf32>
  %s = blockscale.scale %r : tensor<4x48xf32> to #mx by #blockscale.scale_rule<rceil> {pad} -> tensor<4x2xf8E8M0FNU>
  %q = blockscale.quantize %r : tensor<4x48xf32> scales(%s : tensor<4x2xf8E8M0FNU>) to #mx {pad} -> tensor<4x64xf4E2M1FN>
  return %q : tensor<4x64xf4E2M1FN>
}
