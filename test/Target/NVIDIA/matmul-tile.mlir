// RUN: blockscale-opt %s -blockscale-lower-to-nvidia=chip=sm_120a -o /dev/null 2>&1 | FileCheck %s

// The attribute chooses the tile.
// CHECK: remark: scaled_matmul mxfp8_e4m3 x mxfp8_e4m3: native, mma.m16n8k32 mxf8f6f4 scale_vec::1X e4m3 x e4m3, tile 32x128x128, 2 stages
func.func @f(%a: tensor<64x256xf8E4M3FN>, %as: tensor<64x8xf8E8M0FNU>) -> tensor<64x64xf32> {
  %y = blockscale.scaled_matmul
      lhs(%a, %as : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU> as #blockscale.format<mxfp8_e4m3>)
      rhs(%a, %as : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU> as #blockscale.format<mxfp8_e4m3>)
      {blockscale.tile = array<i64: 32, 128, 128, 2>} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
