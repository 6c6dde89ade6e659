// RUN: blockscale-opt %s -blockscale-lower-to-cpu -verify-diagnostics -o /dev/null

func.func @tile(%a: tensor<64x256xbf16>) -> tensor<64x64xf32> {
  // expected-remark@below {{blockscale.tile has no effect on the CPU target}}
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x256xbf16>) rhs(%a : tensor<64x256xbf16>)
      {blockscale.tile = array<i64: 64, 64, 64, 3>} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
