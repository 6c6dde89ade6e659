// RUN: blockscale-opt %s --split-input-file --blockscale-choose-rounding | FileCheck %s
// RUN: blockscale-opt %s --split-input-file --blockscale-choose-rounding='stochastic=wgrad_dy,wgrad_x seed=7' | FileCheck %s --check-prefix=LIST
// RUN: blockscale-opt %s --split-input-file --blockscale-choose-rounding=stochastic=none | FileCheck %s --check-prefix=NONE

#mxfp4 = #blockscale.format<mxfp4>

// CHECK-LABEL: func @roles
//  CHECK-SAME: %[[BASE:[a-z0-9]+]]: tensor<i64> {blockscale.seed}
// Forward operands round to nearest, gradients draw, each by its own seed.
//       CHECK: to #blockscale.format<mxfp4> round nearest_even -> tensor<8x64xf4E2M1FN>
//       CHECK: %[[S0:.*]] = blockscale.derive_seed %[[BASE]] {site = 32768 : i64}
//       CHECK: round stochastic seed(%[[S0]] : tensor<i64>) -> tensor<8x64xf4E2M1FN>
//       CHECK: %[[S1:.*]] = blockscale.derive_seed %[[BASE]] {site = 32769 : i64}
//       CHECK: round stochastic seed(%[[S1]] : tensor<i64>) -> tensor<8x64xf4E2M1FN>
//       CHECK: round nearest_even -> tensor<8x64xf4E2M1FN>
// LIST-LABEL: func @roles
//       LIST: round nearest_even
//       LIST: round nearest_even
//       LIST: round stochastic
//       LIST: round stochastic
// NONE-LABEL: func @roles
// NONE-COUNT-4: round nearest_even
func.func @roles(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %seed: tensor<i64> {blockscale.seed})
    -> (tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>) {
  %a = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      {blockscale.role = #blockscale.role<fprop_x>} -> tensor<8x64xf4E2M1FN>
  %b = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      {blockscale.role = #blockscale.role<dgrad_dy>} -> tensor<8x64xf4E2M1FN>
  %c = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      {blockscale.role = #blockscale.role<wgrad_dy>} -> tensor<8x64xf4E2M1FN>
  %d = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      {blockscale.role = #blockscale.role<wgrad_x>} -> tensor<8x64xf4E2M1FN>
  return %a, %b, %c, %d : tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>
}

// -----

#mxfp4 = #blockscale.format<mxfp4>

// What the user wrote is never changed, and without a role nothing is chosen.
// CHECK-LABEL: func @explicit
//       CHECK: round toward_zero {blockscale.role = #blockscale.role<wgrad_dy>} ->
//       CHECK: round nearest_even {blockscale.role = #blockscale.role<wgrad_dy>} ->
//       CHECK: to #blockscale.format<mxfp4> -> tensor
func.func @explicit(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>)
    -> (tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>) {
  %a = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      round toward_zero {blockscale.role = #blockscale.role<wgrad_dy>} -> tensor<8x64xf4E2M1FN>
  %b = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      round nearest_even {blockscale.role = #blockscale.role<wgrad_dy>} -> tensor<8x64xf4E2M1FN>
  %c = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4 -> tensor<8x64xf4E2M1FN>
  return %a, %b, %c : tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>
}

// -----

#mxfp4 = #blockscale.format<mxfp4>

// A seed that is there is used as it is; if nothing draws, it goes.
// CHECK-LABEL: func @own_seed
//  CHECK-SAME: %[[SEED:[a-z0-9]*]]: tensor<i64>)
//   CHECK-NOT: derive_seed
//       CHECK: round stochastic seed(%[[SEED]] : tensor<i64>) ->
//       CHECK: round nearest_even ->
func.func @own_seed(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %seed: tensor<i64>)
    -> (tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>) {
  %a = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      seed(%seed : tensor<i64>) {blockscale.role = #blockscale.role<dgrad_dy>} -> tensor<8x64xf4E2M1FN>
  %b = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      seed(%seed : tensor<i64>) {blockscale.role = #blockscale.role<fprop_w>} -> tensor<8x64xf4E2M1FN>
  return %a, %b : tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>
}

// -----

#mxfp4 = #blockscale.format<mxfp4>

// A seed that stands for two draws is a base: no bits are shared. What was
// written to draw by it still does.
// CHECK-LABEL: func @shared_seed
//  CHECK-SAME: %[[SEED:[a-z0-9]*]]: tensor<i64>)
//       CHECK: %[[A:.*]] = blockscale.derive_seed %[[SEED]] {site = 32768 : i64}
//       CHECK: round stochastic seed(%[[A]] :
//       CHECK: %[[B:.*]] = blockscale.derive_seed %[[SEED]] {site = 32769 : i64}
//       CHECK: round stochastic seed(%[[B]] :
//       CHECK: round stochastic seed(%[[SEED]] :
func.func @shared_seed(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %seed: tensor<i64>)
    -> (tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>) {
  %a = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      seed(%seed : tensor<i64>) {blockscale.role = #blockscale.role<dgrad_dy>} -> tensor<8x64xf4E2M1FN>
  %b = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      seed(%seed : tensor<i64>) {blockscale.role = #blockscale.role<wgrad_dy>} -> tensor<8x64xf4E2M1FN>
  %c = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4 round stochastic
      seed(%seed : tensor<i64>) -> tensor<8x64xf4E2M1FN>
  return %a, %b, %c : tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>
}

// -----

#mxfp4 = #blockscale.format<mxfp4>

// fake_quantize draws, too: a seed that it shares with a role is a base.
// CHECK-LABEL: func @shared_with_fake
//  CHECK-SAME: %[[SEED:[a-z0-9]*]]: tensor<i64>)
//       CHECK: blockscale.fake_quantize {{.*}} seed(%[[SEED]] :
//       CHECK: %[[A:.*]] = blockscale.derive_seed %[[SEED]] {site = 32768 : i64}
//       CHECK: round stochastic seed(%[[A]] :
func.func @shared_with_fake(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %seed: tensor<i64>)
    -> (tensor<8x64xf32>, tensor<8x64xf4E2M1FN>) {
  %a = blockscale.fake_quantize %x : tensor<8x64xf32> to #mxfp4 by #blockscale.scale_rule<rceil>
      round stochastic seed(%seed : tensor<i64>)
  %b = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      seed(%seed : tensor<i64>) {blockscale.role = #blockscale.role<wgrad_dy>} -> tensor<8x64xf4E2M1FN>
  return %a, %b : tensor<8x64xf32>, tensor<8x64xf4E2M1FN>
}

// -----

#mxfp4 = #blockscale.format<mxfp4>

// A free site, also where the first and the last are in use elsewhere.
// CHECK-LABEL: func @uses_sites
// CHECK-LABEL: func @free_site
//       CHECK: {site = 32769 : i64}
//       CHECK: {site = 32771 : i64}
func.func @uses_sites(%seed: tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>) {
  %a = blockscale.derive_seed %seed {site = 32768} : tensor<i64>
  %b = blockscale.derive_seed %seed {site = 65535} : tensor<i64>
  %c = blockscale.derive_seed %seed {site = 32770} : tensor<i64>
  return %a, %b, %c : tensor<i64>, tensor<i64>, tensor<i64>
}
func.func @free_site(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %seed: tensor<i64> {blockscale.seed})
    -> (tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>) {
  %a = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      {blockscale.role = #blockscale.role<wgrad_dy>} -> tensor<8x64xf4E2M1FN>
  %b = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      {blockscale.role = #blockscale.role<dgrad_dy>} -> tensor<8x64xf4E2M1FN>
  return %a, %b : tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>
}

// -----

#mxfp4 = #blockscale.format<mxfp4>

// Each iteration has bits of its own: the seed stays the same in both loops.
// CHECK-LABEL: func @loops
//       CHECK: scf.for %[[I:[a-z0-9]+]] =
//       CHECK:   scf.for %[[J:[a-z0-9]+]] =
//       CHECK:     %[[OUTER:.*]] = arith.muli %[[I]], %{{.*}}
//       CHECK:     %[[BOTH:.*]] = arith.addi %[[OUTER]], %[[J]]
//       CHECK:     blockscale.derive_seed %{{.*}}[%[[BOTH]]] {site = 32768 : i64}
func.func @loops(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %init: tensor<8x64xf4E2M1FN>, %n: index,
                 %seed: tensor<i64> {blockscale.seed}) -> tensor<8x64xf4E2M1FN> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%q = %init) -> tensor<8x64xf4E2M1FN> {
    %t = scf.for %j = %zero to %n step %one iter_args(%u = %q) -> tensor<8x64xf4E2M1FN> {
      %a = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
          {blockscale.role = #blockscale.role<wgrad_dy>} -> tensor<8x64xf4E2M1FN>
      scf.yield %a : tensor<8x64xf4E2M1FN>
    }
    scf.yield %t : tensor<8x64xf4E2M1FN>
  }
  return %r : tensor<8x64xf4E2M1FN>
}
