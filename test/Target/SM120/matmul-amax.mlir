// RUN: blockscale-opt %s -blockscale-lower-to-nvidia=chip=sm_120a -o %t.mlir 2> %t.remarks
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// What needs the largest magnitude of the whole product gets it from its kernel;
// the quantizer follows, without a kernel for the amax.
// REMARK: remark: scaled_matmul nvfp4 x nvfp4: native, {{.*}} stages, its amax taken in the epilogue
// CHECK: nvvm.redux.sync umax
// CHECK: llvm.atomicrmw umax %{{.*}} : !llvm.ptr<1>, i32
// CHECK-NOT: func.func @blockscale_amax
// CHECK: func.func @blockscale_scale
// CHECK-NOT: func.func @blockscale_amax
// CHECK: func.func @to_nvfp4
func.func @to_nvfp4(%a: tensor<256x256xf4E2M1FN>, %as: tensor<256x16xf8E4M3FN>, %ag: tensor<f32>)
    -> (tensor<256x256xf4E2M1FN>, tensor<256x16xf8E4M3FN>, tensor<f32>) {
  %y = blockscale.scaled_matmul
      lhs(%a, %as, %ag : tensor<256x256xf4E2M1FN>, tensor<256x16xf8E4M3FN>, tensor<f32> as #blockscale.format<nvfp4>)
      rhs(%a, %as, %ag : tensor<256x256xf4E2M1FN>, tensor<256x16xf8E4M3FN>, tensor<f32> as #blockscale.format<nvfp4>)
      : tensor<256x256xbf16>
  %s, %g, %e = blockscale.scale %y : tensor<256x256xbf16> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level> -> tensor<256x16xf8E4M3FN>, tensor<f32>, tensor<256x16xf32>
  %q = blockscale.quantize %y : tensor<256x256xbf16> encode(%e : tensor<256x16xf32>)
      to #blockscale.format<nvfp4> -> tensor<256x256xf4E2M1FN>
  return %q, %s, %g : tensor<256x256xf4E2M1FN>, tensor<256x16xf8E4M3FN>, tensor<f32>
}
