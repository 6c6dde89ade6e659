// RUN: blockscale-opt %s -blockscale-lower-to-nvidia=chip=sm_120a -o %t.mlir 2> %t.remarks
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// The result is quantized where it is: sums go to shared memory as f32, come
// back rounded to bf16, and a thread takes a block of them. The product itself,
// which nothing else reads, is not stored, and there is no other kernel.
// REMARK: remark: scaled_matmul nvfp4 x nvfp4: native, mma.m16n8k64 mxf4nvf4 scale_vec::4X, tile 128x128x128, 4 stages, its result quantized to mxfp4 in the epilogue
// CHECK-LABEL: func.func @blockscale_matmul_block_scaled
// CHECK-SAME: %[[SCALES:[a-z0-9]+]]: memref<?xi8>, %[[CODES:[a-z0-9]+]]: memref<?xi8>)
// CHECK: nvvm.mma.block_scale
// CHECK: llvm.fptrunc %{{.*}} : f32 to bf16
// CHECK: llvm.fpext %{{.*}} : bf16 to f32
// CHECK: llvm.store %{{.*}} : vector<4xf32>, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<32xf32>
// CHECK: vector.store %{{.*}}, %[[CODES]]{{.*}} : memref<?xi8>, vector<16xi8>
// CHECK: memref.store %{{.*}}, %[[SCALES]]
// CHECK-NOT: func.func @blockscale_scale
// CHECK: func.func @to_mxfp4
func.func @to_mxfp4(%a: tensor<4096x4096xf4E2M1FN>, %as: tensor<4096x256xf8E4M3FN>, %ag: tensor<f32>,
                    %b: tensor<4096x4096xf4E2M1FN>, %bs: tensor<4096x256xf8E4M3FN>, %bg: tensor<f32>)
    -> (tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU>) {
  %y = blockscale.scaled_matmul
      lhs(%a, %as, %ag : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>, tensor<f32> as #blockscale.format<nvfp4>)
      rhs(%b, %bs, %bg : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>, tensor<f32> as #blockscale.format<nvfp4>)
      : tensor<4096x4096xbf16>
  %s = blockscale.scale %y : tensor<4096x4096xbf16> to #blockscale.format<mxfp4>
      by #blockscale.scale_rule<floor> -> tensor<4096x128xf8E8M0FNU>
  %q = blockscale.quantize %y : tensor<4096x4096xbf16> scales(%s : tensor<4096x128xf8E8M0FNU>)
      to #blockscale.format<mxfp4> -> tensor<4096x4096xf4E2M1FN>
  return %q, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU>
}
