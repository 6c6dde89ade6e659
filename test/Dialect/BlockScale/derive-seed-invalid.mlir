// RUN: blockscale-opt %s --split-input-file --verify-diagnostics

func.func @site_too_large(%seed: tensor<i64>) -> tensor<i64> {
  // expected-error @+1 {{expects a site from 0 to 65535, but got 65536}}
  %a = blockscale.derive_seed %seed {site = 65536} : tensor<i64>
  return %a : tensor<i64>
}

// -----

func.func @negative_site(%seed: tensor<i64>) -> tensor<i64> {
  // expected-error @+1 {{expects a site from 0 to 65535, but got -1}}
  %a = blockscale.derive_seed %seed {site = -1} : tensor<i64>
  return %a : tensor<i64>
}

// -----

func.func @not_i64(%seed: tensor<i32>) -> tensor<i32> {
  // expected-error @+1 {{must be tensor<i64>}}
  %a = blockscale.derive_seed %seed {site = 1} : tensor<i32>
  return %a : tensor<i32>
}
