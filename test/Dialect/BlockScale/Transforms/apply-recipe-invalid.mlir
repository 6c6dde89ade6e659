// RUN: blockscale-opt %s --split-input-file --blockscale-apply-recipe --verify-diagnostics -o /dev/null

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

func.func @while(%dy: tensor<8x64xf32>, %w: tensor<64x64xf32>, %more: i1, %seed: tensor<i64>) -> tensor<8x64xf32> {
  // expected-note @+1 {{only iterations of scf.for are counted}}
  %r = scf.while (%g = %dy) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    scf.condition(%more) %g : tensor<8x64xf32>
  } do {
  ^bb0(%g: tensor<8x64xf32>):
    // expected-error @+1 {{expects a seed that changes in its loop, where every iteration would draw the same bits}}
    %dx = blockscale.linear dgrad(%g, %w : tensor<8x64xf32>, tensor<64x64xf32>) seed(%seed : tensor<i64>)
        recipe #blockscale.recipe<te_nvfp4> -> tensor<8x64xf32>
    scf.yield %dx : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// -----

// Two seeds that are one.
func.func @same_derived(%dy: tensor<8x64xf32>, %w: tensor<64x64xf32>, %seed: tensor<i64>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %s = blockscale.derive_seed %seed {site = 40000} : tensor<i64>
  %t = blockscale.derive_seed %seed {site = 40000} : tensor<i64>
  // expected-note @+1 {{the other one}}
  %a = blockscale.linear dgrad(%dy, %w : tensor<8x64xf32>, tensor<64x64xf32>) seed(%s : tensor<i64>)
      recipe #blockscale.recipe<te_nvfp4> -> tensor<8x64xf32>
  // expected-error @+1 {{expects another seed or another layer than layer 0 of another dgrad}}
  %b = blockscale.linear dgrad(%a, %w : tensor<8x64xf32>, tensor<64x64xf32>) seed(%t : tensor<i64>)
      recipe #blockscale.recipe<te_nvfp4> -> tensor<8x64xf32>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// Sites below 32768 are those of layers.
func.func @own_draw(%dy: tensor<8x64xf32>, %w: tensor<64x64xf32>, %seed: tensor<i64>) -> (tensor<8x64xf32>, tensor<16xi8>) {
  // expected-note @+1 {{the other one}}
  %s = blockscale.derive_seed %seed {site = 21} : tensor<i64>
  %signs = blockscale.random_signs %s : tensor<i64> -> tensor<16xi8>
  // expected-error @+1 {{expects another seed or another layer than layer 1 of another draw, a blockscale.derive_seed at site 21, with the same seed}}
  %a = blockscale.linear dgrad(%dy, %w : tensor<8x64xf32>, tensor<64x64xf32>) seed(%seed : tensor<i64>)
      recipe #blockscale.recipe<te_nvfp4> {layer = 1} -> tensor<8x64xf32>
  return %a, %signs : tensor<8x64xf32>, tensor<16xi8>
}

// -----

// A constant seed is the same in each call.
func.func private @layer(%dy: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %seed = arith.constant dense<7> : tensor<i64>
  %d = blockscale.linear dgrad(%dy, %w : tensor<8x64xf32>, tensor<64x64xf32>) seed(%seed : tensor<i64>)
      recipe #blockscale.recipe<te_nvfp4> -> tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}
func.func @calls(%dy: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  // expected-note @+1 {{another call}}
  %a = func.call @layer(%dy, %w) : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  // expected-error @+1 {{expects a function that runs once, but 'layer' draws by a constant seed, the same bits in each call: give it an argument tensor<i64>, with blockscale.seed where blockscale-choose-rounding is to draw by it}}
  %b = func.call @layer(%a, %w) : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %b : tensor<8x64xf32>
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
