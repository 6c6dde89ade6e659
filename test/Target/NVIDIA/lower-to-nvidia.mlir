// RUN: blockscale-opt %s -blockscale-lower-to-nvidia=chip=sm_90a | FileCheck %s

// Kernels are functions of a gpu.module, each with its threads; the host calls
// their launchers with the grid's extents first.
// CHECK:       gpu.module @blockscale_kernels
// CHECK:         func.func @blockscale_scale({{.*}}) attributes {blockscale.launch = {block = 128 : i32, cluster = 1 : i32, shared = 0 : i32}}
// CHECK:           nvvm.read.ptx.sreg.ctaid.x
// CHECK:           nvvm.read.ptx.sreg.tid.x
// A block is loaded at once: 64 bytes, aligned to 16.
// CHECK:           vector.load {{.*}} {alignment = 16 : i64} : memref<?xbf16>, vector<32xbf16>
// CHECK-LABEL: func.func @quantize(
// CHECK-SAME:    -> (tensor<?x128xi8>, tensor<?x8xi8>)
// CHECK:         call @blockscale_scale.launch(
// CHECK-NOT:     blockscale.quantize
// CHECK:       func.func private @blockscale_scale.launch(index, index, index, index
// CHECK-SAME:    attributes {blockscale.launch = {block = 128 : i32, cluster = 1 : i32, kernel = "blockscale_scale", shared = 0 : i32}}
#fmt = #blockscale.format<mxfp4>
func.func @quantize(%x: tensor<?x256xbf16>) -> (tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>) {
  %s = blockscale.scale %x : tensor<?x256xbf16> to #fmt by #blockscale.scale_rule<rceil> -> tensor<?x8xf8E8M0FNU>
  %q = blockscale.quantize %x : tensor<?x256xbf16> scales(%s : tensor<?x8xf8E8M0FNU>) to #fmt round nearest_even -> tensor<?x256xf4E2M1FN>
  return %q, %s : tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
}
