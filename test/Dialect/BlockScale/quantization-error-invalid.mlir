// RUN: blockscale-opt %s --split-input-file --verify-diagnostics

func.func @no_seed(%x: tensor<8x64xf32>) -> tensor<2xf64> {
  // expected-error @+1 {{expects a seed, because rounding is stochastic, but got none}}
  %q = blockscale.quantization_error %x : tensor<8x64xf32> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level> round stochastic -> tensor<2xf64>
  return %q : tensor<2xf64>
}

// -----

func.func @one_sum(%x: tensor<8x64xf32>) -> tensor<1xf64> {
  // expected-error @+1 {{result #0 must be tensor<2xf64>}}
  %q = blockscale.quantization_error %x : tensor<8x64xf32> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level> -> tensor<1xf64>
  return %q : tensor<1xf64>
}
