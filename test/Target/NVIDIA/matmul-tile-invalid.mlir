// RUN: blockscale-opt %s -split-input-file -blockscale-lower-to-nvidia=chip=sm_120a -verify-diagnostics

func.func @shape(%a: tensor<64x256xbf16>) -> tensor<64x64xf32> {
  // expected-error@below {{failed to legalize}}
  // expected-error@below {{cannot use tile 48x64x64, 3 stages: expects m of 16, 32, 64 or 128, n of 64 or 128, k of 64 and at least 2 stages}}
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x256xbf16>) rhs(%a : tensor<64x256xbf16>)
      {blockscale.tile = array<i64: 48, 64, 64, 3>} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

func.func @memory(%a: tensor<64x256xf8E4M3FN>, %as: tensor<64x8xf8E8M0FNU>) -> tensor<64x64xf32> {
  // expected-error@below {{failed to legalize}}
  // expected-error@below {{cannot use tile 128x128x128, 4 stages: expects at most 101376 bytes of shared memory, but it needs 135168}}
  %y = blockscale.scaled_matmul
      lhs(%a, %as : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU> as #blockscale.format<mxfp8_e4m3>)
      rhs(%a, %as : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU> as #blockscale.format<mxfp8_e4m3>)
      {blockscale.tile = array<i64: 128, 128, 128, 4>} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

func.func @operands(%a: tensor<64x256xbf16>) -> tensor<64x64xf32> {
  // expected-error@below {{failed to legalize}}
  // expected-error@below {{expects no blockscale.operands: on sm_120a this product has one kind, but got 'e4m3'}}
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x256xbf16>) rhs(%a : tensor<64x256xbf16>)
      {blockscale.tile = array<i64: 64, 64, 64, 3>, blockscale.operands = "e4m3"} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
