// RUN: blockscale-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func @derive
//  CHECK-SAME: %[[SEED:.*]]: tensor<i64>
func.func @derive(%seed: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  // CHECK: blockscale.derive_seed %[[SEED]] {site = 0 : i64} : tensor<i64>
  // CHECK: blockscale.derive_seed %[[SEED]] {site = 65535 : i64} : tensor<i64>
  %a = blockscale.derive_seed %seed {site = 0} : tensor<i64>
  %b = blockscale.derive_seed %seed {site = 65535} : tensor<i64>
  return %a, %b : tensor<i64>, tensor<i64>
}

// -----

// The first numbers of SplitMix64 from state 0 are those of sites 1, 2, 3: its
// published test vector (random_c4).
// CHECK-LABEL: func @constant
func.func @constant() -> (tensor<i64>, tensor<i64>, tensor<i64>) {
  // CHECK-DAG: %[[ONE:.*]] = arith.constant dense<-2152535657050944081> : tensor<i64>
  // CHECK-DAG: %[[TWO:.*]] = arith.constant dense<7960286522194355700> : tensor<i64>
  // CHECK-DAG: %[[THREE:.*]] = arith.constant dense<487617019471545679> : tensor<i64>
  // CHECK: return %[[ONE]], %[[TWO]], %[[THREE]]
  %zero = arith.constant dense<0> : tensor<i64>
  %a = blockscale.derive_seed %zero {site = 1} : tensor<i64>
  %b = blockscale.derive_seed %zero {site = 2} : tensor<i64>
  %c = blockscale.derive_seed %zero {site = 3} : tensor<i64>
  return %a, %b, %c : tensor<i64>, tensor<i64>, tensor<i64>
}

// -----

// In iteration 2 of a loop: what base 2 * 2^31 gives (random_c4).
// CHECK-LABEL: func @iteration
//  CHECK-SAME: %[[SEED:.*]]: tensor<i64>, %[[I:.*]]: index
//       CHECK: %[[SAME:.*]] = arith.constant dense<[[VALUE:.*]]> : tensor<i64>
//       CHECK: %[[A:.*]] = blockscale.derive_seed %[[SEED]][%[[I]]] {site = 3 : i64} : tensor<i64>
//       CHECK: return %[[A]], %[[SAME]], %[[SAME]]
func.func @iteration(%seed: tensor<i64>, %i: index) -> (tensor<i64>, tensor<i64>, tensor<i64>) {
  %two = arith.constant 2 : index
  %zero = arith.constant dense<0> : tensor<i64>
  %base = arith.constant dense<4294967296> : tensor<i64>
  %a = blockscale.derive_seed %seed[%i] {site = 3} : tensor<i64>
  %b = blockscale.derive_seed %zero[%two] {site = 3} : tensor<i64>
  %c = blockscale.derive_seed %base {site = 3} : tensor<i64>
  return %a, %b, %c : tensor<i64>, tensor<i64>, tensor<i64>
}
