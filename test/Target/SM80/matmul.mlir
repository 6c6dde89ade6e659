// RUN: blockscale-opt %s -blockscale-lower-to-nvidia=chip=sm_80 -o %t.mlir 2> %t.remarks
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// A plain bf16 side is copied as it is, a side with a format dequantized on its
// way to shared memory.
// REMARK: remark: scaled_matmul bf16 x nvfp4: emulated via bf16 mma.m16n8k16, tile {{[0-9]+}}x128x64, 3 stages
// CHECK-LABEL: func.func @blockscale_matmul_bf16(
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
// 32 elements of 4 bits.
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: nvvm.mma.sync
// CHECK-SAME: multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK-SAME: shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: nvvm.convert.f32x2.to.bf16x2
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
func.func @weight_only(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xf4E2M1FN>, %bs: tensor<4096x256xf8E4M3FN>,
                       %bg: tensor<f32>) -> tensor<4096x4096xbf16> {
  %y = blockscale.scaled_matmul
      lhs(%a : tensor<4096x4096xbf16>)
      rhs(%b, %bs, %bg : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>, tensor<f32> as #blockscale.format<nvfp4>)
      : tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}

// Nothing is emulated.
// REMARK: remark: scaled_matmul bf16 x bf16: native, bf16 mma.m16n8k16, tile 16x64x64, 4 stages
func.func @plain(%a: tensor<1x4096xbf16>, %b: tensor<512x4096xbf16>) -> tensor<1x512xf32> {
  %y = blockscale.scaled_matmul lhs(%a : tensor<1x4096xbf16>) rhs(%b : tensor<512x4096xbf16>) : tensor<1x512xf32>
  return %y : tensor<1x512xf32>
}

// Products of an element and its scale that need more than 8 bits. The lanes
// of a warp look codes of nf4 up at each other.
// CHECK-LABEL: func.func @blockscale_matmul_bf16_{{[0-9]+}}(
// CHECK-LABEL: func.func @blockscale_matmul_bf16_{{[0-9]+}}(
// CHECK: nvvm.shfl.sync idx
// REMARK: remark: scaled_matmul f32 x nf4: emulated via bf16 mma.m16n8k16, both sides rounded to bf16, tile
func.func @rounded(%a: tensor<64x4096xf32>, %b: tensor<512x4096xi4>, %bs: tensor<512x64xf32>) -> tensor<64x512xf32> {
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x4096xf32>)
      rhs(%b, %bs : tensor<512x4096xi4>, tensor<512x64xf32> as #blockscale.format<nf4>) : tensor<64x512xf32>
  return %y : tensor<64x512xf32>
}
