// RUN: blockscale-opt %s -blockscale-lower-to-nvidia=chip=sm_120a -o %t.mlir 2> %t.remarks
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// The instruction of each pair of formats, and the remark that names it.

// REMARK: remark: scaled_matmul nvfp4 x nvfp4: native, mma.m16n8k64 mxf4nvf4 scale_vec::4X, tile 128x128x128, 4 stages
// CHECK-LABEL: func.func @blockscale_matmul_block_scaled(
// A multiprocessor's shared memory holds one block: so may its registers.
// CHECK-SAME: resident = 1 : i32
// 16 bytes of codes at a time, 4 of scales.
// CHECK: nvvm.cp.async.wait.group 2
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache = ca
// CHECK: nvvm.ldmatrix {{.*}}eltType = #nvvm.ld_st_matrix_elt_type<b16>
// CHECK: nvvm.mma.block_scale
// CHECK-SAME: blockScaleFormat = #nvvm.block_scale_format<ue4m3>
// CHECK-SAME: kind = #nvvm.block_scale_kind<mxf4nvf4>
// CHECK-SAME: scaleVecSize = #nvvm.scale_vec_size<x4>
// CHECK-SAME: shape = #nvvm.shape<m = 16, n = 8, k = 64>
func.func @nvfp4(%a: tensor<4096x4096xf4E2M1FN>, %as: tensor<4096x256xf8E4M3FN>, %ag: tensor<f32>,
                 %b: tensor<4096x4096xf4E2M1FN>, %bs: tensor<4096x256xf8E4M3FN>, %bg: tensor<f32>) -> tensor<4096x4096xbf16> {
  %y = blockscale.scaled_matmul
      lhs(%a, %as, %ag : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>, tensor<f32> as #blockscale.format<nvfp4>)
      rhs(%b, %bs, %bg : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>, tensor<f32> as #blockscale.format<nvfp4>)
      : tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}

// Rows of 41 scales begin anywhere in a word: whole words of memory are copied,
// as many bytes as the row has, and the scales selected from two of them.
// REMARK: remark: scaled_matmul nvfp4 x nvfp4: native, mma.m16n8k64 mxf4nvf4 scale_vec::4X
// CHECK-LABEL: func.func @blockscale_matmul_block_scaled
// CHECK: %[[BYTES:.+]] = arith.minui %{{.*}}, %c4_i32
// CHECK: %[[READ:.+]] = arith.select %{{.*}}, %[[BYTES]], %c0_i32
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache = ca, %[[READ]]
// CHECK: %[[LOW:.+]] = llvm.load
// CHECK: %[[HIGH:.+]] = llvm.load
// CHECK: nvvm.prmt <default> %{{.*}}, %[[LOW]], %[[HIGH]]
// CHECK: nvvm.mma.block_scale
func.func @misaligned_scales(%a: tensor<70x656xf4E2M1FN>, %as: tensor<70x41xf8E4M3FN>, %ag: tensor<f32>,
                             %b: tensor<100x656xf4E2M1FN>, %bs: tensor<100x41xf8E4M3FN>, %bg: tensor<f32>) -> tensor<70x100xbf16> {
  %y = blockscale.scaled_matmul
      lhs(%a, %as, %ag : tensor<70x656xf4E2M1FN>, tensor<70x41xf8E4M3FN>, tensor<f32> as #blockscale.format<nvfp4>)
      rhs(%b, %bs, %bg : tensor<100x656xf4E2M1FN>, tensor<100x41xf8E4M3FN>, tensor<f32> as #blockscale.format<nvfp4>)
      : tensor<70x100xbf16>
  return %y : tensor<70x100xbf16>
}

// Few rows and a run-time number of rows: two kernels, chosen on the host.
// REMARK: remark: scaled_matmul mxfp4 x mxfp4: native, mma.m16n8k64 mxf4 scale_vec::2X, tile 16x64x128, 6 stages up to 16 rows, else tile {{[0-9]+}}x128x128, 4 stages
// CHECK-LABEL: func.func @blockscale_matmul_block_scaled
// CHECK: nvvm.mma.block_scale
// CHECK-SAME: blockScaleFormat = #nvvm.block_scale_format<ue8m0>
// CHECK-SAME: kind = #nvvm.block_scale_kind<mxf4>
// CHECK-SAME: scaleVecSize = #nvvm.scale_vec_size<x2>
func.func @mxfp4(%a: tensor<?x4096xf4E2M1FN>, %as: tensor<?x128xf8E8M0FNU, #blockscale.tiled_128x4>,
                 %b: tensor<4096x4096xf4E2M1FN>, %bs: tensor<4096x128xf8E8M0FNU, #blockscale.tiled_128x4>) -> tensor<?x4096xf32> {
  %y = blockscale.scaled_matmul
      lhs(%a, %as : tensor<?x4096xf4E2M1FN>, tensor<?x128xf8E8M0FNU, #blockscale.tiled_128x4> as #blockscale.format<mxfp4>)
      rhs(%b, %bs : tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU, #blockscale.tiled_128x4> as #blockscale.format<mxfp4>)
      : tensor<?x4096xf32>
  return %y : tensor<?x4096xf32>
}

// Elements of 4 bits beside elements of a byte: 8 bytes of each 16 in shared
// memory, widened by ldmatrix, then moved to the bits that the instruction reads.
// REMARK: remark: scaled_matmul mxfp8_e4m3 x mxfp4: native, mma.m16n8k32 mxf8f6f4 scale_vec::1X e4m3 x e2m1, tile 16x64x128, 6 stages
// CHECK-LABEL: func.func @blockscale_matmul_block_scaled
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 8, cache = ca
// CHECK: nvvm.ldmatrix {{.*}}eltType = #nvvm.ld_st_matrix_elt_type<b8x16.b4x16_p64>
// CHECK: arith.shli
// CHECK: nvvm.mma.block_scale
// CHECK-SAME: kind = #nvvm.block_scale_kind<mxf8f6f4>
// CHECK-SAME: multiplicandAPtxType = #nvvm.mma_type<e4m3>
// CHECK-SAME: multiplicandBPtxType = #nvvm.mma_type<e2m1>
func.func @mixed(%a: tensor<8x4096xf8E4M3FN>, %as: tensor<8x128xf8E8M0FNU>,
                 %b: tensor<4096x4096xf4E2M1FN>, %bs: tensor<4096x128xf8E8M0FNU>) -> tensor<8x4096xf32> {
  %y = blockscale.scaled_matmul
      lhs(%a, %as : tensor<8x4096xf8E4M3FN>, tensor<8x128xf8E8M0FNU> as #blockscale.format<mxfp8_e4m3>)
      rhs(%b, %bs : tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU> as #blockscale.format<mxfp4>)
      : tensor<8x4096xf32>
  return %y : tensor<8x4096xf32>
}

// No instruction multiplies scales of ue4m3 by scales of e8m0.
// REMARK: remark: scaled_matmul nvfp4 x mxfp4: emulated via bf16 mma.m16n8k16, tile
// CHECK-LABEL: func.func @blockscale_matmul_bf16
// CHECK: nvvm.mma.sync
func.func @emulated(%a: tensor<8x4096xf4E2M1FN>, %as: tensor<8x256xf8E4M3FN>, %ag: tensor<f32>,
                    %b: tensor<4096x4096xf4E2M1FN>, %bs: tensor<4096x128xf8E8M0FNU>) -> tensor<8x4096xf32> {
  %y = blockscale.scaled_matmul
      lhs(%a, %as, %ag : tensor<8x4096xf4E2M1FN>, tensor<8x256xf8E4M3FN>, tensor<f32> as #blockscale.format<nvfp4>)
      rhs(%b, %bs : tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU> as #blockscale.format<mxfp4>)
      : tensor<8x4096xf32>
  return %y : tensor<8x4096xf32>
}
