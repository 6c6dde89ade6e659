// RUN: blockscale-opt %s --split-input-file --verify-diagnostics

func.func @no_seed(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{expects a seed, because rounding is stochastic, but got none}}
  %q = blockscale.fake_quantize %x : tensor<8x64xf32> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level> round stochastic
  return %q : tensor<8x64xf32>
}

// -----

func.func @amax_without_tensor_scale(%x: tensor<8x64xf32>, %a: tensor<f32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{expects no amax, because #blockscale.format<mxfp4> has no tensor scale}}
  %q = blockscale.fake_quantize %x : tensor<8x64xf32> amax(%a : tensor<f32>) to #blockscale.format<mxfp4>
      by #blockscale.scale_rule<floor>
  return %q : tensor<8x64xf32>
}

// -----

func.func @rule_of_another_format(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{expects scale = e8m0 with order = floor, but got scale = ue4m3}}
  %q = blockscale.fake_quantize %x : tensor<8x64xf32> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<floor>
  return %q : tensor<8x64xf32>
}

// -----

func.func @up(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{expects a rounding of elements, but got up, which rounds scales}}
  %q = blockscale.fake_quantize %x : tensor<8x64xf32> to #blockscale.format<mxfp4>
      by #blockscale.scale_rule<floor> round up
  return %q : tensor<8x64xf32>
}
