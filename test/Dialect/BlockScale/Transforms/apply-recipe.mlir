// RUN: blockscale-opt %s --split-input-file --blockscale-apply-recipe --cse | FileCheck %s

// Transformer Engine: 16x16 blocks of w; the gradients drawn; the columns of
// the wgrad operands rotated, both by the same signs.
// CHECK-LABEL: func @te
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<256x512xbf16>, %[[W:[a-z0-9]+]]: tensor<128x512xbf16>, %[[B:[a-z0-9]+]]: tensor<128xf32>, %[[DY:[a-z0-9]+]]: tensor<256x128xbf16>, %[[SEED:[a-z0-9]+]]: tensor<i64>
#te = #blockscale.recipe<te_nvfp4>
func.func @te(%x: tensor<256x512xbf16>, %w: tensor<128x512xbf16>, %b: tensor<128xf32>,
              %dy: tensor<256x128xbf16>, %seed: tensor<i64>)
    -> (tensor<256x128xbf16>, tensor<256x512xbf16>, tensor<128x512xf32>) {
  // CHECK: %[[XS:.*]], %[[XG:.*]], %[[XE:.*]] = blockscale.scale %[[X]] : tensor<256x512xbf16> to #blockscale.format<nvfp4> by #blockscale.scale_rule<two_level>
  // CHECK: %[[XQ:.*]] = blockscale.quantize %[[X]] : tensor<256x512xbf16> encode(%[[XE]] : tensor<256x32xf32>) to #blockscale.format<nvfp4> round nearest_even
  // CHECK: %[[WS:.*]], %[[WG:.*]], %[[WE:.*]] = blockscale.scale %[[W]] : {{.*}} block = 16x16
  // CHECK: %[[WQ:.*]] = blockscale.quantize %[[W]] : {{.*}} round nearest_even
  // CHECK: blockscale.scaled_matmul lhs(%[[XQ]], %[[XS]], %[[XG]] : {{.*}} rhs(%[[WQ]], %[[WS]], %[[WG]] : {{.*}} epilogue(%[[B]] : tensor<128xf32>) {
  // CHECK:   arith.addf
  // CHECK:   arith.truncf {{.*}} : f32 to bf16
  // CHECK: } : tensor<256x128xbf16>
  %y = blockscale.linear forward(%x, %w : tensor<256x512xbf16>, tensor<128x512xbf16>)
      bias(%b : tensor<128xf32>) recipe #te -> tensor<256x128xbf16>
  // CHECK: %[[WT:.*]] = linalg.transpose ins(%[[W]] :
  // CHECK: %[[S5:.*]] = blockscale.derive_seed %[[SEED]] {site = 5 : i64}
  // CHECK: blockscale.quantize %[[DY]] : {{.*}} round stochastic seed(%[[S5]] : tensor<i64>)
  // CHECK: blockscale.quantize %[[WT]] : {{.*}} block = 16x16{{.*}} round nearest_even
  // CHECK: blockscale.scaled_matmul
  // CHECK-SAME: tensor<256x512xbf16>
  %dx = blockscale.linear dgrad(%dy, %w : tensor<256x128xbf16>, tensor<128x512xbf16>)
      seed(%seed : tensor<i64>) recipe #te -> tensor<256x512xbf16>
  // CHECK: %[[DYT:.*]] = linalg.transpose ins(%[[DY]] :
  // CHECK: %[[XT:.*]] = linalg.transpose ins(%[[X]] :
  // CHECK: %[[DYR:.*]] = blockscale.rotate %[[DYT]] {size = 16, signs = array<i8: 1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1>}
  // CHECK: %[[S7:.*]] = blockscale.derive_seed %[[SEED]] {site = 7 : i64}
  // CHECK: blockscale.quantize %[[DYR]] : {{.*}} round stochastic seed(%[[S7]] : tensor<i64>)
  // CHECK: %[[XR:.*]] = blockscale.rotate %[[XT]] {size = 16, signs = array<i8: 1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1>}
  // CHECK: blockscale.quantize %[[XR]] : {{.*}} round nearest_even
  // CHECK: blockscale.scaled_matmul
  // CHECK-SAME: tensor<128x512xf32>
  %dw = blockscale.linear wgrad(%dy, %x : tensor<256x128xbf16>, tensor<256x512xbf16>)
      seed(%seed : tensor<i64>) recipe #te -> tensor<128x512xf32>
  return %y, %dx, %dw : tensor<256x128xbf16>, tensor<256x512xbf16>, tensor<128x512xf32>
}

// -----

// MXFP4 training: seeded signs that both operands share, 3/4 each, so that the
// product is multiplied by 16/9. Layer 2 draws at sites 16 * 2 + ...
// CHECK-LABEL: func @mxfp4_training
//       CHECK: %[[SIGNSEED:.*]] = blockscale.derive_seed %{{.*}} {site = 33 : i64}
//       CHECK: %[[SIGNS:.*]] = blockscale.random_signs %[[SIGNSEED]] : tensor<i64> -> tensor<64xi8>
//       CHECK: blockscale.rotate %{{.*}} signs(%[[SIGNS]] : tensor<64xi8>) {size = 64}
//       CHECK: blockscale.derive_seed %{{.*}} {site = 37 : i64}
//       CHECK: blockscale.rotate %{{.*}} signs(%[[SIGNS]] : tensor<64xi8>) {size = 64}
//       CHECK: blockscale.derive_seed %{{.*}} {site = 38 : i64}
//       CHECK: %[[ALPHA:.*]] = arith.constant dense<1.77777779> : tensor<f32>
//       CHECK: blockscale.scaled_matmul {{.*}} alpha(%[[ALPHA]] : tensor<f32>) : tensor<2x?x512xbf16>
func.func @mxfp4_training(%dy: tensor<2x?x128xbf16>, %w: tensor<128x512xbf16>, %seed: tensor<i64>) -> tensor<2x?x512xbf16> {
  %dx = blockscale.linear dgrad(%dy, %w : tensor<2x?x128xbf16>, tensor<128x512xbf16>)
      seed(%seed : tensor<i64>) recipe #blockscale.recipe<mxfp4_training> {layer = 2} -> tensor<2x?x512xbf16>
  return %dx : tensor<2x?x512xbf16>
}

// -----

// Quartet: the weight as the forward product saw it, the gradient masked where
// x was clipped and rotated back.
// CHECK-LABEL: func @quartet_dgrad
//  CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<32x128xf32>, %[[W:[a-z0-9]+]]: tensor<128x64xf32>, %[[X:[a-z0-9]+]]: tensor<32x64xf32>
//       CHECK: %[[WR:.*]] = blockscale.rotate %[[W]] {size = 32}
//       CHECK: %[[WS:.*]] = blockscale.scale %[[WR]] {{.*}} by #blockscale.scale_rule<rms>
//       CHECK: %[[WQ:.*]] = blockscale.quantize %[[WR]]
//       CHECK: %[[WD:.*]] = blockscale.dequantize %[[WQ]]
//       CHECK: linalg.transpose ins(%[[WD]] :
//       CHECK: %[[D:.*]] = blockscale.scaled_matmul
//       CHECK: %[[XR:.*]] = blockscale.rotate %[[X]] {size = 32}
//       CHECK: %[[XS:.*]] = blockscale.scale %[[XR]]
//       CHECK: %[[M:.*]] = blockscale.mask_clipped %[[D]] of %[[XR]] {{.*}} scales(%[[XS]] : {{.*}} {limit = 6.000000e+00 : f32}
//       CHECK: %[[R:.*]] = blockscale.rotate %[[M]] {size = 32, inverse}
//       CHECK: return %[[R]]
func.func @quartet_dgrad(%dy: tensor<32x128xf32>, %w: tensor<128x64xf32>, %x: tensor<32x64xf32>, %seed: tensor<i64>) -> tensor<32x64xf32> {
  %dx = blockscale.linear dgrad(%dy, %w : tensor<32x128xf32>, tensor<128x64xf32>) with(%x : tensor<32x64xf32>)
      seed(%seed : tensor<i64>) recipe #blockscale.recipe<quartet> -> tensor<32x64xf32>
  return %dx : tensor<32x64xf32>
}

// -----

// The amax of every 50th step is held for the others.
// CHECK-LABEL: func @ue5m3
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xf32>, %[[W:[a-z0-9]+]]: tensor<16x64xf32>, %[[A:[a-z0-9]+]]: tensor<f32>, %[[B:[a-z0-9]+]]: tensor<f32>
//       CHECK: %[[PERIOD:.*]] = arith.constant 50 : i64
//       CHECK: %[[REST:.*]] = arith.remui %{{.*}}, %[[PERIOD]]
//       CHECK: %[[DUE:.*]] = arith.cmpi eq, %[[REST]]
//       CHECK: %[[AX:.*]] = scf.if %[[DUE]] -> (tensor<f32>) {
//       CHECK:   %[[M:.*]] = blockscale.amax %[[X]]
//       CHECK:   scf.yield %[[M]]
//       CHECK: } else {
//       CHECK:   scf.yield %[[A]]
//       CHECK: blockscale.scale %[[X]] : tensor<?x64xf32> amax(%[[AX]] : tensor<f32>)
//       CHECK: %[[AW:.*]] = scf.if
//       CHECK: return %{{.*}}, %[[AX]], %[[AW]]
func.func @ue5m3(%x: tensor<?x64xf32>, %w: tensor<16x64xf32>, %a: tensor<f32>, %b: tensor<f32>, %step: tensor<i64>)
    -> (tensor<?x16xf32>, tensor<f32>, tensor<f32>) {
  %y, %na, %nb = blockscale.linear forward(%x, %w : tensor<?x64xf32>, tensor<16x64xf32>)
      held(%a, %b, %step : tensor<f32>, tensor<f32>, tensor<i64>)
      recipe #blockscale.recipe<ue5m3> -> tensor<?x16xf32>, tensor<f32>, tensor<f32>
  return %y, %na, %nb : tensor<?x16xf32>, tensor<f32>, tensor<f32>
}

// -----

// SVDQuant: x is smoothed, its quantized product added to the branch of rank 32.
// CHECK-LABEL: func @svdquant
//       CHECK: %[[F:.*]] = linalg.broadcast ins(%{{.*}} : tensor<64xf32>)
//       CHECK: %[[S:.*]] = arith.mulf %{{.*}}, %[[F]]
//       CHECK: %[[XS:.*]] = arith.truncf %[[S]] : tensor<8x64xf32> to tensor<8x64xbf16>
//       CHECK: %[[T:.*]] = blockscale.scaled_matmul lhs(%[[XS]] : tensor<8x64xbf16>) rhs(%{{.*}} : tensor<32x64xbf16>) : tensor<8x32xbf16>
//       CHECK: %[[BRANCH:.*]] = blockscale.scaled_matmul lhs(%[[T]] : tensor<8x32xbf16>) rhs(%{{.*}} : tensor<16x32xbf16>) : tensor<8x16xf32>
//       CHECK: blockscale.scale %{{.*}} by #blockscale.scale_rule<svdquant>
//       CHECK: blockscale.scaled_matmul {{.*}} acc(%[[BRANCH]] : tensor<8x16xf32>)
func.func @svdquant(%x: tensor<8x64xbf16>, %w: tensor<16x64xbf16>, %smooth: tensor<64xf32>,
                    %down: tensor<32x64xbf16>, %up: tensor<16x32xbf16>) -> tensor<8x16xbf16> {
  %y = blockscale.linear forward(%x, %w : tensor<8x64xbf16>, tensor<16x64xbf16>) columns(%smooth : tensor<64xf32>)
      low_rank(%down, %up : tensor<32x64xbf16>, tensor<16x32xbf16>)
      recipe #blockscale.recipe<svdquant> -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// Its dx has the branch too: (dy up) down.
// CHECK-LABEL: func @svdquant_dx
//  CHECK-SAME: %[[DY:.*]]: tensor<8x16xbf16>, %[[W:.*]]: tensor<16x64xbf16>
//       CHECK: %[[T:.*]] = blockscale.scaled_matmul lhs(%[[DY]] : tensor<8x16xbf16>) rhs(%{{.*}} : tensor<32x16xbf16>) : tensor<8x32xbf16>
//       CHECK: %[[BRANCH:.*]] = blockscale.scaled_matmul lhs(%[[T]] : tensor<8x32xbf16>) rhs(%{{.*}} : tensor<64x32xbf16>) : tensor<8x64xf32>
//       CHECK: blockscale.scaled_matmul lhs(%[[DY]] : tensor<8x16xbf16>) rhs(%{{.*}} : tensor<64x16xbf16>) acc(%[[BRANCH]] : tensor<8x64xf32>)
func.func @svdquant_dx(%dy: tensor<8x16xbf16>, %w: tensor<16x64xbf16>, %down: tensor<32x64xbf16>,
                       %up: tensor<16x32xbf16>) -> tensor<8x64xbf16> {
  %dx = blockscale.linear dgrad(%dy, %w : tensor<8x16xbf16>, tensor<16x64xbf16>)
      low_rank(%down, %up : tensor<32x64xbf16>, tensor<16x32xbf16>)
      recipe #blockscale.recipe<svdquant> -> tensor<8x64xbf16>
  return %dx : tensor<8x64xbf16>
}

// -----

// SINQ: the weight is balanced first, x takes over the factors of its columns.
// CHECK-LABEL: func @sinq
//  CHECK-SAME: %[[X:.*]]: tensor<8x64xf32>, %[[W:.*]]: tensor<16x64xbf16>
//       CHECK: %[[B:.*]], %[[C:.*]] = blockscale.balance %[[W]] {block = 64 : i64, steps = 16 : i64}
//       CHECK: %[[F:.*]] = linalg.broadcast ins(%[[C]] : tensor<64xf32>)
//       CHECK: %[[S:.*]] = arith.mulf %[[X]], %[[F]]
//       CHECK: %{{.*}}, %{{.*}} = blockscale.scale %[[B]] : tensor<16x64xf32> to #blockscale.format<uint4>
//       CHECK: blockscale.scaled_matmul lhs(%[[S]] : tensor<8x64xf32>)
func.func @sinq(%x: tensor<8x64xf32>, %w: tensor<16x64xbf16>) -> tensor<8x16xf32> {
  %y = blockscale.linear forward(%x, %w : tensor<8x64xf32>, tensor<16x64xbf16>)
      recipe #blockscale.recipe<sinq> -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// Weight only: x stays; batches of a weight gradient are rows.
// CHECK-LABEL: func @weight_only
//       CHECK: blockscale.scaled_matmul lhs(%{{.*}} : tensor<2x8x64xbf16>) rhs(%{{.*}} as #blockscale.format<nvfp4>)
//       CHECK: tensor.collapse_shape {{.*}} : tensor<2x8x16xbf16> into tensor<16x16xbf16>
//       CHECK: tensor.collapse_shape {{.*}} : tensor<2x8x64xbf16> into tensor<16x64xbf16>
//       CHECK: blockscale.scaled_matmul lhs(%{{.*}} : tensor<16x16xbf16>) rhs(%{{.*}} : tensor<64x16xbf16>)
func.func @weight_only(%x: tensor<2x8x64xbf16>, %w: tensor<16x64xbf16>, %dy: tensor<2x8x16xbf16>)
    -> (tensor<2x8x16xbf16>, tensor<16x64xf32>) {
  %y = blockscale.linear forward(%x, %w : tensor<2x8x64xbf16>, tensor<16x64xbf16>)
      recipe #blockscale.recipe<weight_only> -> tensor<2x8x16xbf16>
  %dw = blockscale.linear wgrad(%dy, %x : tensor<2x8x16xbf16>, tensor<2x8x64xbf16>)
      recipe #blockscale.recipe<weight_only> -> tensor<16x64xf32>
  return %y, %dw : tensor<2x8x16xbf16>, tensor<16x64xf32>
}

// -----

// A site without a rounding leaves it to the next pass: role and seed.
// CHECK-LABEL: func @open
//       CHECK: blockscale.quantize {{.*}} to #blockscale.format<mxfp4> seed(%{{.*}} : tensor<i64>) {blockscale.role = #blockscale.role<dgrad_dy>}
#dy = #blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<rceil>>
func.func @open(%dy: tensor<8x64xf32>, %w: tensor<64x16xf32>, %seed: tensor<i64>) -> tensor<8x16xf32> {
  %dx = blockscale.linear dgrad(%dy, %w : tensor<8x64xf32>, tensor<64x16xf32>) seed(%seed : tensor<i64>)
      recipe #blockscale.recipe<dgrad_dy = #dy> -> tensor<8x16xf32>
  return %dx : tensor<8x16xf32>
}

// -----

// The factors of a balanced weight multiply the product with what is left of
// w, not the branch; `columns` multiplies both.
// CHECK-LABEL: func @balanced_branch
//  CHECK-SAME: %[[DY:.*]]: tensor<8x16xf32>, %[[W:.*]]: tensor<16x64xf32>, %[[COLUMNS:.*]]: tensor<64xf32>, %[[DOWN:.*]]: tensor<8x64xf32>
//       CHECK: %[[BRANCH:.*]] = blockscale.scaled_matmul {{.*}} : tensor<8x64xf32>
//       CHECK: %{{.*}}, %[[C:.*]] = blockscale.balance %[[W]]
//       CHECK: %[[P:.*]] = blockscale.scaled_matmul lhs(%[[DY]] : {{.*}} : tensor<8x64xf32>
//       CHECK: %[[F:.*]] = linalg.broadcast ins(%[[C]] : tensor<64xf32>)
//       CHECK: %[[PF:.*]] = arith.mulf %[[P]], %[[F]]
//       CHECK: %[[SUM:.*]] = arith.addf %[[PF]], %[[BRANCH]]
//       CHECK: %[[G:.*]] = linalg.broadcast ins(%[[COLUMNS]] : tensor<64xf32>)
//       CHECK: %[[DX:.*]] = arith.mulf %[[SUM]], %[[G]]
//       CHECK: return %[[DX]]
#w = #blockscale.site<#blockscale.format<int8, block = 32, scale = f32> by #blockscale.scale_rule<absmax> round nearest_even>
func.func @balanced_branch(%dy: tensor<8x16xf32>, %w: tensor<16x64xf32>, %columns: tensor<64xf32>,
                           %down: tensor<8x64xf32>, %up: tensor<16x8xf32>) -> tensor<8x64xf32> {
  %dx = blockscale.linear dgrad(%dy, %w : tensor<8x16xf32>, tensor<16x64xf32>) columns(%columns : tensor<64xf32>)
      low_rank(%down, %up : tensor<8x64xf32>, tensor<16x8xf32>)
      recipe #blockscale.recipe<balance = 16, low_rank = 8, fprop_w = #w, dgrad_w = #blockscale.site<plain reuse>> -> tensor<8x64xf32>
  return %dx : tensor<8x64xf32>
}

// -----

// Calls that share a seed get one each, at sites that no layer has.
// CHECK-LABEL: func @calls
//  CHECK-SAME: %[[SEED:[a-z0-9]+]]: tensor<i64>)
//       CHECK: %[[A:.*]] = blockscale.derive_seed %[[SEED]] {site = 32768 : i64}
//       CHECK: call @layer(%{{.*}}, %{{.*}}, %[[A]])
//       CHECK: %[[B:.*]] = blockscale.derive_seed %[[SEED]] {site = 32769 : i64}
//       CHECK: call @layer(%{{.*}}, %{{.*}}, %[[B]])
func.func @calls(%dy: tensor<8x64xf32>, %w: tensor<64x64xf32>, %seed: tensor<i64>) -> tensor<8x64xf32> {
  %a = func.call @layer(%dy, %w, %seed) : (tensor<8x64xf32>, tensor<64x64xf32>, tensor<i64>) -> tensor<8x64xf32>
  %b = func.call @layer(%a, %w, %seed) : (tensor<8x64xf32>, tensor<64x64xf32>, tensor<i64>) -> tensor<8x64xf32>
  return %b : tensor<8x64xf32>
}
// One call, and nothing else that draws by it: the seed as it is.
// CHECK-LABEL: func @one_call
//  CHECK-SAME: %[[SEED:[a-z0-9]+]]: tensor<i64>)
//       CHECK: call @layer(%{{.*}}, %{{.*}}, %[[SEED]])
func.func @one_call(%dy: tensor<8x64xf32>, %w: tensor<64x64xf32>, %seed: tensor<i64>) -> tensor<8x64xf32> {
  %a = func.call @layer(%dy, %w, %seed) : (tensor<8x64xf32>, tensor<64x64xf32>, tensor<i64>) -> tensor<8x64xf32>
  return %a : tensor<8x64xf32>
}
func.func private @layer(%dy: tensor<8x64xf32>, %w: tensor<64x64xf32>, %seed: tensor<i64>) -> tensor<8x64xf32> {
  %d = blockscale.linear dgrad(%dy, %w : tensor<8x64xf32>, tensor<64x64xf32>) seed(%seed : tensor<i64>)
      recipe #blockscale.recipe<te_nvfp4> -> tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}
