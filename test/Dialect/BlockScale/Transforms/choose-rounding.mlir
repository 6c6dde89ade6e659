// RUN: blockscale-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(blockscale-choose-rounding))' | FileCheck %s
// RUN: blockscale-opt %s --split-input-file --blockscale-choose-rounding | FileCheck %s
// RUN: blockscale-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(blockscale-choose-rounding{stochastic=wgrad_dy,wgrad_x seed=7}))' | FileCheck %s --check-prefix=LIST
// RUN: blockscale-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(blockscale-choose-rounding{stochastic=none}))' | FileCheck %s --check-prefix=NONE

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
