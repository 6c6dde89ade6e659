// RUN: blockscale-opt %s -split-input-file -blockscale-lower-to-nvidia=chip=sm_90a -verify-diagnostics

func.func @folded(%a: tensor<64x256xf4E2M1FN>, %as: tensor<64x8xf8E8M0FNU>) -> tensor<64x64xf32> {
  // expected-error@below {{failed to legalize}}
  // expected-error@below {{expects blockscale.operands = "bf16" or "e4m3", but got 'e5m2'}}
  %y = blockscale.scaled_matmul
      lhs(%a, %as : tensor<64x256xf4E2M1FN>, tensor<64x8xf8E8M0FNU> as #blockscale.format<mxfp4>)
      rhs(%a, %as : tensor<64x256xf4E2M1FN>, tensor<64x8xf8E8M0FNU> as #blockscale.format<mxfp4>)
      {blockscale.tile = array<i64: 256, 128, 128, 4>, blockscale.operands = "e5m2"} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

func.func @exact(%a: tensor<64x256xbf16>) -> tensor<64x64xf32> {
  // expected-error@below {{failed to legalize}}
  // expected-error@below {{expects no blockscale.operands: on sm_90a this product has one kind, but got 'e4m3'}}
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x256xbf16>) rhs(%a : tensor<64x256xbf16>)
      {blockscale.tile = array<i64: 256, 128, 128, 4>, blockscale.operands = "e4m3"} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

func.func @columns(%a: tensor<64x256xbf16>, %b: tensor<64x256xf4E2M1FN>, %bs: tensor<64x8xf8E8M0FNU>) -> tensor<64x64xf32> {
  // expected-error@below {{failed to legalize}}
  // expected-error@below {{cannot use tile 128x72x64 of bf16, 4 stages: expects m of 128, n a multiple of 32 up to 256, k of 64 and at least 2 stages that fit into 232448 bytes of shared memory}}
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x256xbf16>)
      rhs(%b, %bs : tensor<64x256xf4E2M1FN>, tensor<64x8xf8E8M0FNU> as #blockscale.format<mxfp4>)
      {blockscale.tile = array<i64: 128, 72, 64, 4>, blockscale.operands = "bf16"} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Two groups of warps take turns at the stages: each has stages of its own.
func.func @odd_stages(%a: tensor<64x512xbf16>, %b: tensor<64x512xf4E2M1FN>, %bs: tensor<64x16xf8E8M0FNU>) -> tensor<64x64xf32> {
  // expected-error@below {{failed to legalize}}
  // expected-error@below {{cannot use tile 64x64x256, 3 stages: expects m a multiple of 8, n of 64 or 128, k of 256 times blocks that share K, and an even number of stages that fit into 232448 bytes of shared memory}}
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x512xbf16>)
      rhs(%b, %bs : tensor<64x512xf4E2M1FN>, tensor<64x16xf8E8M0FNU> as #blockscale.format<mxfp4>)
      {blockscale.tile = array<i64: 64, 64, 256, 3>} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
