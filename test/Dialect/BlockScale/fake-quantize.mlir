// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s

#nvfp4 = #blockscale.format<nvfp4>
#rule = #blockscale.scale_rule<two_level>

// CHECK-LABEL: func @value
func.func @value(%x: tensor<?x4096xbf16>, %amax: tensor<f32>, %seed: tensor<i64>) -> tensor<?x4096xbf16> {
  // CHECK: blockscale.fake_quantize %{{.*}} : tensor<?x4096xbf16> amax(%{{.*}} : tensor<f32>) to #blockscale.format<nvfp4> by #blockscale.scale_rule<two_level> round stochastic seed(%{{.*}} : tensor<i64>){{$}}
  %q = blockscale.fake_quantize %x : tensor<?x4096xbf16> amax(%amax : tensor<f32>)
      to #nvfp4 by #rule round stochastic seed(%seed : tensor<i64>)
  return %q : tensor<?x4096xbf16>
}

// A partial block needs no `pad`.
// CHECK-LABEL: func @residual
func.func @residual(%x: tensor<3x5x100xf32>) -> tensor<3x5x100xf32> {
  // CHECK: blockscale.fake_quantize residual %{{.*}} : tensor<3x5x100xf32> to
  %q = blockscale.fake_quantize residual %x : tensor<3x5x100xf32> to #nvfp4 by #rule
  return %q : tensor<3x5x100xf32>
}
