// RUN: blockscale-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(blockscale-apply-recipe))' --verify-diagnostics -o /dev/null

func.func @rotation_does_not_divide(%dy: tensor<8x96xf32>, %w: tensor<96x64xf32>, %seed: tensor<i64>) -> tensor<8x64xf32> {
  // expected-error @+1 {{expects a contraction of dgrad divisible by its rotation 64, but got 96}}
  %dx = blockscale.linear dgrad(%dy, %w : tensor<8x96xf32>, tensor<96x64xf32>) seed(%seed : tensor<i64>)
      recipe #blockscale.recipe<mxfp4_training> -> tensor<8x64xf32>
  return %dx : tensor<8x64xf32>
}

// -----

func.func @dynamic_rows(%dy: tensor<?x64xf32>, %x: tensor<?x32xf32>) -> tensor<64x32xf32> {
  // expected-error @+1 {{expects static rows, at least one, the contraction of wgrad, but got 'tensor<?x64xf32>'; use tensor.cast to say how many there are}}
  %dw = blockscale.linear wgrad(%dy, %x : tensor<?x64xf32>, tensor<?x32xf32>)
      recipe #blockscale.recipe<bf16> -> tensor<64x32xf32>
  return %dw : tensor<64x32xf32>
}

// -----

func.func @padded_differently(%x: tensor<8x40xf32>, %w: tensor<16x40xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{expects a contraction of forward that is a whole number of blocks of both fprop_x (padded to 40) and fprop_w (padded to 48), but got 40}}
  %y = blockscale.linear forward(%x, %w : tensor<8x40xf32>, tensor<16x40xf32>)
      recipe #blockscale.recipe<weight_only> -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

func.func @same_draws(%dy: tensor<8x64xf32>, %w: tensor<64x64xf32>, %seed: tensor<i64>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  // expected-note @+1 {{the other one}}
  %a = blockscale.linear dgrad(%dy, %w : tensor<8x64xf32>, tensor<64x64xf32>) seed(%seed : tensor<i64>)
      recipe #blockscale.recipe<te_nvfp4> -> tensor<8x64xf32>
  // expected-error @+1 {{expects another seed or another layer than layer 0 of another dgrad with the same seed, which would draw the same random bits}}
  %b = blockscale.linear dgrad(%a, %w : tensor<8x64xf32>, tensor<64x64xf32>) seed(%seed : tensor<i64>)
      recipe #blockscale.recipe<te_nvfp4> -> tensor<8x64xf32>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

func.func @forward_rotation(%dy: tensor<8x128xf32>, %w: tensor<128x48xf32>, %x: tensor<8x48xf32>, %seed: tensor<i64>) -> tensor<8x48xf32> {
  // expected-error @+1 {{expects K divisible by the forward rotation 32, but got 48}}
  %a = blockscale.linear dgrad(%dy, %w : tensor<8x128xf32>, tensor<128x48xf32>) with(%x : tensor<8x48xf32>)
      seed(%seed : tensor<i64>) recipe #blockscale.recipe<quartet> -> tensor<8x48xf32>
  return %a : tensor<8x48xf32>
}

// -----

func.func @no_rows(%dy: tensor<0x64xf32>, %x: tensor<0x32xf32>) -> tensor<64x32xf32> {
  // expected-error @+1 {{expects static rows, at least one, the contraction of wgrad, but got 'tensor<0x64xf32>'}}
  %dw = blockscale.linear wgrad(%dy, %x : tensor<0x64xf32>, tensor<0x32xf32>)
      recipe #blockscale.recipe<bf16> -> tensor<64x32xf32>
  return %dw : tensor<64x32xf32>
}

// -----

func.func @loop(%dy: tensor<8x64xf32>, %w: tensor<64x32xf32>, %n: index, %seed: tensor<i64>) -> tensor<8x32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<8x32xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> tensor<8x32xf32> {
    // expected-error @+1 {{expects a seed that changes in its loop, where every iteration would draw the same bits}}
    %dx = blockscale.linear dgrad(%dy, %w : tensor<8x64xf32>, tensor<64x32xf32>) seed(%seed : tensor<i64>)
        recipe #blockscale.recipe<te_nvfp4> -> tensor<8x32xf32>
    %next = arith.addf %s, %dx : tensor<8x32xf32>
    scf.yield %next : tensor<8x32xf32>
  }
  return %sum : tensor<8x32xf32>
}

// -----

// What is drawn for a reused operand counts.
#s = #blockscale.site<plain rotate 32 signs seeded>
#r = #blockscale.recipe<fprop_x = #s, fprop_w = #s, dgrad_w = #blockscale.site<plain reuse>>
func.func @same_draws_by_reuse(%dy: tensor<8x64xf32>, %w: tensor<64x64xf32>, %seed: tensor<i64>) -> tensor<8x64xf32> {
  // expected-note @+1 {{the other one}}
  %a = blockscale.linear dgrad(%dy, %w : tensor<8x64xf32>, tensor<64x64xf32>) seed(%seed : tensor<i64>) recipe #r -> tensor<8x64xf32>
  // expected-error @+1 {{expects another seed or another layer than layer 0 of another dgrad with the same seed}}
  %b = blockscale.linear dgrad(%a, %w : tensor<8x64xf32>, tensor<64x64xf32>) seed(%seed : tensor<i64>) recipe #r -> tensor<8x64xf32>
  return %b : tensor<8x64xf32>
}

// -----

// Without a draw there is nothing to share: two layers may have one seed.
func.func @no_draw(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %v: tensor<32x64xf32>, %seed: tensor<i64>)
    -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  %y = blockscale.linear forward(%x, %w : tensor<8x64xf32>, tensor<32x64xf32>) seed(%seed : tensor<i64>)
      recipe #blockscale.recipe<te_nvfp4> -> tensor<8x32xf32>
  %z = blockscale.linear forward(%x, %v : tensor<8x64xf32>, tensor<32x64xf32>) seed(%seed : tensor<i64>)
      recipe #blockscale.recipe<te_nvfp4> -> tensor<8x32xf32>
  return %y, %z : tensor<8x32xf32>, tensor<8x32xf32>
}
