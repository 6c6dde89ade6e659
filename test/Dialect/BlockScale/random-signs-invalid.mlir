// RUN: blockscale-opt %s --split-input-file --verify-diagnostics

func.func @too_many(%seed: tensor<i64>) -> tensor<512xi8> {
  // expected-error @+1 {{expects a static number of signs from 2 to 256, but got 'tensor<512xi8>'}}
  %s = blockscale.random_signs %seed : tensor<i64> -> tensor<512xi8>
  return %s : tensor<512xi8>
}

// -----

func.func @dynamic(%seed: tensor<i64>) -> tensor<?xi8> {
  // expected-error @+1 {{expects a static number of signs from 2 to 256, but got 'tensor<?xi8>'}}
  %s = blockscale.random_signs %seed : tensor<i64> -> tensor<?xi8>
  return %s : tensor<?xi8>
}
