// RUN: blockscale-opt %s --split-input-file --verify-diagnostics

func.func @other_shape(%dx: tensor<8x32xf32>, %x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x32xf32> {
  // expected-error @+1 {{expects a gradient of the shape of the source, 'tensor<8x64xf32>', but got 'tensor<8x32xf32>'}}
  %r = blockscale.mask_clipped %dx of %x : tensor<8x32xf32>, tensor<8x64xf32>
      scales(%s : tensor<8x2xf8E8M0FNU>) from #blockscale.format<mxfp4> {limit = 6.0 : f32}
  return %r : tensor<8x32xf32>
}

// -----

func.func @limit(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xf32> {
  // expected-error @+1 {{expects a positive limit, but got 0.000000e+00 : f32}}
  %r = blockscale.mask_clipped %x of %x : tensor<8x64xf32>, tensor<8x64xf32>
      scales(%s : tensor<8x2xf8E8M0FNU>) from #blockscale.format<mxfp4> {limit = 0.0 : f32}
  return %r : tensor<8x64xf32>
}

// -----

func.func @scales(%x: tensor<8x64xf32>, %s: tensor<8x4xf8E8M0FNU>) -> tensor<8x64xf32> {
  // expected-error @+1 {{expects scales of type 'tensor<8x2xf8E8M0FNU>', but got 'tensor<8x4xf8E8M0FNU>'}}
  %r = blockscale.mask_clipped %x of %x : tensor<8x64xf32>, tensor<8x64xf32>
      scales(%s : tensor<8x4xf8E8M0FNU>) from #blockscale.format<mxfp4> {limit = 6.0 : f32}
  return %r : tensor<8x64xf32>
}

// -----

func.func @zero_points(%x: tensor<8x64xf32>, %s: tensor<8x1xf16>) -> tensor<8x64xf32> {
  // expected-error @+1 {{expects a format without zero points, but got #blockscale.format<uint4>}}
  %r = blockscale.mask_clipped %x of %x : tensor<8x64xf32>, tensor<8x64xf32>
      scales(%s : tensor<8x1xf16>) from #blockscale.format<uint4> {limit = 6.0 : f32}
  return %r : tensor<8x64xf32>
}
