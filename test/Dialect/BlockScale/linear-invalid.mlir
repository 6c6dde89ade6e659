// RUN: blockscale-opt %s --split-input-file --verify-diagnostics

func.func @x_shape(%x: tensor<8x64xf32>, %w: tensor<16x32xf32>) {
  // expected-error @+1 {{expects x of type 'tensor<8x32xf32>', but got 'tensor<8x64xf32>'}}
  %y = blockscale.linear forward(%x, %w : tensor<8x64xf32>, tensor<16x32xf32>)
      recipe #blockscale.recipe<bf16> -> tensor<8x16xf32>
  return
}

// -----

func.func @result_shape(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>) {
  // expected-error @+1 {{expects a result of type 'tensor<8x16xf32>', but got 'tensor<8x64xf32>'}}
  %y = blockscale.linear forward(%x, %w : tensor<8x64xf32>, tensor<16x64xf32>)
      recipe #blockscale.recipe<bf16> -> tensor<8x64xf32>
  return
}

// -----

func.func @batched_weight(%x: tensor<8x64xf32>, %w: tensor<2x16x64xf32>) {
  // expected-error @+1 {{expects w of rank 2, but got 'tensor<2x16x64xf32>'}}
  %y = blockscale.linear forward(%x, %w : tensor<8x64xf32>, tensor<2x16x64xf32>)
      recipe #blockscale.recipe<bf16> -> tensor<8x16xf32>
  return
}

// -----

func.func @bias_of_gradient(%dy: tensor<8x16xf32>, %w: tensor<16x64xf32>, %b: tensor<16xf32>) {
  // expected-error @+1 {{expects no bias in dgrad, but got one}}
  %y = blockscale.linear dgrad(%dy, %w : tensor<8x16xf32>, tensor<16x64xf32>) bias(%b : tensor<16xf32>)
      recipe #blockscale.recipe<bf16> -> tensor<8x64xf32>
  return
}

// -----

func.func @no_seed(%dy: tensor<8x16xf32>, %w: tensor<16x64xf32>) {
  // expected-error @+1 {{expects a seed, because dgrad_dy is #blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level> round stochastic>, but got none}}
  %y = blockscale.linear dgrad(%dy, %w : tensor<8x16xf32>, tensor<16x64xf32>)
      recipe #blockscale.recipe<te_nvfp4> -> tensor<8x64xf32>
  return
}

// -----

func.func @no_mask_source(%dy: tensor<8x128xf32>, %w: tensor<128x128xf32>) {
  // expected-error @+1 {{expects a `with` operand, because the recipe masks gradients, but got none}}
  %y = blockscale.linear dgrad(%dy, %w : tensor<8x128xf32>, tensor<128x128xf32>)
      recipe #blockscale.recipe<quest> -> tensor<8x128xf32>
  return
}

// -----

func.func @needless_mask_source(%dy: tensor<8x16xf32>, %w: tensor<16x64xf32>, %x: tensor<8x64xf32>) {
  // expected-error @+1 {{expects no `with` operand, because the recipe masks no gradients, but got one}}
  %y = blockscale.linear dgrad(%dy, %w : tensor<8x16xf32>, tensor<16x64xf32>) with(%x : tensor<8x64xf32>)
      recipe #blockscale.recipe<bf16> -> tensor<8x64xf32>
  return
}

// -----

func.func @no_branch(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>) {
  // expected-error @+1 {{expects low_rank operands, because the recipe has low_rank = 32, but got none}}
  %y = blockscale.linear forward(%x, %w : tensor<8x64xf32>, tensor<16x64xf32>)
      recipe #blockscale.recipe<svdquant> -> tensor<8x16xf32>
  return
}

// -----

func.func @branch_of_another_rank(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>, %d: tensor<16x64xf32>, %u: tensor<16x16xf32>) {
  // expected-error @+1 {{expects the down projection of type 'tensor<32x64xf32>', but got 'tensor<16x64xf32>'}}
  %y = blockscale.linear forward(%x, %w : tensor<8x64xf32>, tensor<16x64xf32>)
      low_rank(%d, %u : tensor<16x64xf32>, tensor<16x16xf32>)
      recipe #blockscale.recipe<svdquant> -> tensor<8x16xf32>
  return
}

// -----

func.func @nothing_held(%x: tensor<16x64xf32>, %w: tensor<16x64xf32>) {
  // expected-error @+1 {{expects held operands, because the recipe holds the amax, but got none}}
  %y = blockscale.linear forward(%x, %w : tensor<16x64xf32>, tensor<16x64xf32>)
      recipe #blockscale.recipe<ue5m3> -> tensor<16x16xf32>
  return
}

// -----

func.func @held_results(%x: tensor<16x64xf32>, %w: tensor<16x64xf32>, %a: tensor<f32>, %s: tensor<i64>) {
  // expected-error @+1 {{expects 3 results, the last two the amax to hold, but got 1}}
  %y = blockscale.linear forward(%x, %w : tensor<16x64xf32>, tensor<16x64xf32>)
      held(%a, %a, %s : tensor<f32>, tensor<f32>, tensor<i64>)
      recipe #blockscale.recipe<ue5m3> -> tensor<16x16xf32>
  return
}

// -----

func.func @layer(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>) {
  // expected-error @+1 {{expects a layer from 0 to 2047, but got 2048}}
  %y = blockscale.linear forward(%x, %w : tensor<8x64xf32>, tensor<16x64xf32>)
      recipe #blockscale.recipe<bf16> {layer = 2048} -> tensor<8x16xf32>
  return
}

// -----

// dgrad rotates w as the forward product did, by the signs that it drew.
#s = #blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<rceil> round nearest_even rotate 32 signs seeded>
#r = #blockscale.recipe<fprop_x = #s, fprop_w = #s, dgrad_w = #blockscale.site<plain reuse>>
func.func @seed_of_reuse(%dy: tensor<32x64xf32>, %w: tensor<64x128xf32>) {
  // expected-error @+1 {{expects a seed, because fprop_w is #blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<rceil> round nearest_even rotate 32 signs seeded>, but got none}}
  %dx = blockscale.linear dgrad(%dy, %w : tensor<32x64xf32>, tensor<64x128xf32>) recipe #r -> tensor<32x128xf32>
  return
}

// -----

// The mask of wgrad quantizes w again.
#x = #blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<rms> round nearest_even>
#w = #blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<rms> round stochastic>
#r = #blockscale.recipe<masks = true, fprop_x = #x, fprop_w = #w, dgrad_w = #blockscale.site<plain reuse>, wgrad_x = #blockscale.site<plain reuse>>
func.func @seed_of_mask(%dy: tensor<32x64xf32>, %x: tensor<32x128xf32>, %w: tensor<64x128xf32>) {
  // expected-error @+1 {{expects a seed, because fprop_w is #blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<rms> round stochastic>, but got none}}
  %dw = blockscale.linear wgrad(%dy, %x : tensor<32x64xf32>, tensor<32x128xf32>) with(%w : tensor<64x128xf32>) recipe #r -> tensor<64x128xf32>
  return
}
