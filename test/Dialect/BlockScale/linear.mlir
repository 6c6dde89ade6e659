// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s

#te = #blockscale.recipe<te_nvfp4>

// CHECK-LABEL: func @roles
func.func @roles(%x: tensor<4x?x512xbf16>, %w: tensor<128x512xbf16>, %b: tensor<128xf32>,
                 %dy: tensor<4x?x128xbf16>, %seed: tensor<i64>) {
  // CHECK: blockscale.linear forward(%{{.*}}, %{{.*}} : tensor<4x?x512xbf16>, tensor<128x512xbf16>) bias(%{{.*}} : tensor<128xf32>) recipe #blockscale.recipe<te_nvfp4> -> tensor<4x?x128xbf16>
  %y = blockscale.linear forward(%x, %w : tensor<4x?x512xbf16>, tensor<128x512xbf16>)
      bias(%b : tensor<128xf32>) recipe #te -> tensor<4x?x128xbf16>
  // CHECK: blockscale.linear dgrad(%{{.*}}, %{{.*}} : {{.*}}) seed(%{{.*}} : tensor<i64>) recipe #blockscale.recipe<te_nvfp4> {layer = 3 : i64} -> tensor<4x?x512xf32>
  %dx = blockscale.linear dgrad(%dy, %w : tensor<4x?x128xbf16>, tensor<128x512xbf16>)
      seed(%seed : tensor<i64>) recipe #te {layer = 3} -> tensor<4x?x512xf32>
  // CHECK: blockscale.linear wgrad(
  %dw = blockscale.linear wgrad(%dy, %x : tensor<4x?x128xbf16>, tensor<4x?x512xbf16>)
      seed(%seed : tensor<i64>) recipe #te -> tensor<128x512xf32>
  return
}

// CHECK-LABEL: func @options
func.func @options(%x: tensor<256x512xbf16>, %w: tensor<128x512xbf16>, %c: tensor<512xf32>,
                   %down: tensor<32x512xbf16>, %up: tensor<128x32xbf16>, %dy: tensor<256x128xbf16>,
                   %a: tensor<f32>, %step: tensor<i64>, %seed: tensor<i64>) {
  // CHECK: columns(%{{.*}} : tensor<512xf32>) low_rank(%{{.*}}, %{{.*}} : tensor<32x512xbf16>, tensor<128x32xbf16>) recipe #blockscale.recipe<svdquant>
  %y = blockscale.linear forward(%x, %w : tensor<256x512xbf16>, tensor<128x512xbf16>) columns(%c : tensor<512xf32>)
      low_rank(%down, %up : tensor<32x512xbf16>, tensor<128x32xbf16>)
      recipe #blockscale.recipe<svdquant> -> tensor<256x128xbf16>
  // CHECK: held(%{{.*}}, %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>, tensor<i64>) recipe #blockscale.recipe<ue5m3> -> tensor<256x128xbf16>, tensor<f32>, tensor<f32>
  %z, %l, %r = blockscale.linear forward(%x, %w : tensor<256x512xbf16>, tensor<128x512xbf16>)
      held(%a, %a, %step : tensor<f32>, tensor<f32>, tensor<i64>)
      recipe #blockscale.recipe<ue5m3> -> tensor<256x128xbf16>, tensor<f32>, tensor<f32>
  // CHECK: with(%{{.*}} : tensor<256x512xbf16>) seed
  %dx = blockscale.linear dgrad(%dy, %w : tensor<256x128xbf16>, tensor<128x512xbf16>) with(%x : tensor<256x512xbf16>)
      seed(%seed : tensor<i64>) recipe #blockscale.recipe<quartet> -> tensor<256x512xbf16>
  return
}
