// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @element(%q: tensor<8x64xi4>, %s: tensor<8x2xf8E8M0FNU>) {
  // expected-error@+1 {{expects elements of 'f4E2M1FN', the element type of #blockscale.format<mxfp4>, but got 'i4'}}
  %0 = blockscale.dequantize %q : tensor<8x64xi4> scales(%s : tensor<8x2xf8E8M0FNU>)
      from #blockscale.format<mxfp4> -> tensor<8x64xf32>
  return
}

// -----

func.func @ragged(%q: tensor<8x40xf4E2M1FN>, %s: tensor<8x2xf8E8M0FNU>) {
  // expected-error@+1 {{expects an innermost extent of its elements divisible by 32, the block of #blockscale.format<mxfp4>, but got 40; padded elements have an extent of 64}}
  %0 = blockscale.dequantize %q : tensor<8x40xf4E2M1FN> scales(%s : tensor<8x2xf8E8M0FNU>)
      from #blockscale.format<mxfp4> -> tensor<8x40xf32>
  return
}

// -----

func.func @dynamic(%q: tensor<8x?xf4E2M1FN>, %s: tensor<8x?xf8E8M0FNU>) {
  // expected-error@+1 {{expects a static innermost extent of its elements, but got 'tensor<8x?xf4E2M1FN>'}}
  %0 = blockscale.dequantize %q : tensor<8x?xf4E2M1FN> scales(%s : tensor<8x?xf8E8M0FNU>)
      from #blockscale.format<mxfp4> -> tensor<8x?xf32>
  return
}

// -----

func.func @scales(%q: tensor<8x64xf4E2M1FN>, %s: tensor<9x2xf8E8M0FNU>) {
  // expected-error@+1 {{expects scales of type 'tensor<8x2xf8E8M0FNU>', but got 'tensor<9x2xf8E8M0FNU>'}}
  %0 = blockscale.dequantize %q : tensor<8x64xf4E2M1FN> scales(%s : tensor<9x2xf8E8M0FNU>)
      from #blockscale.format<mxfp4> -> tensor<8x64xf32>
  return
}

// -----

func.func @tensor_scale(%q: tensor<8x64xf4E2M1FN>, %s: tensor<8x4xf8E4M3FN>) {
  // expected-error@+1 {{expects a tensor scale, because #blockscale.format<nvfp4> has one, but got none}}
  %0 = blockscale.dequantize %q : tensor<8x64xf4E2M1FN> scales(%s : tensor<8x4xf8E4M3FN>)
      from #blockscale.format<nvfp4> -> tensor<8x64xf32>
  return
}

// -----

func.func @zeros(%q: tensor<8x64xi4>, %s: tensor<8x1xf16>) {
  // expected-error@+1 {{expects zero points, because #blockscale.format<uint4> has them, but got none}}
  %0 = blockscale.dequantize %q : tensor<8x64xi4> scales(%s : tensor<8x1xf16>)
      from #blockscale.format<uint4> -> tensor<8x64xf32>
  return
}

// -----

func.func @shape(%q: tensor<8x64xf4E2M1FN>, %s: tensor<8x2xf8E8M0FNU>) {
  // expected-error@+1 {{expects a result of the elements' shape, 'tensor<8x64xf4E2M1FN>', but got 'tensor<8x60xf32>'}}
  %0 = blockscale.dequantize %q : tensor<8x64xf4E2M1FN> scales(%s : tensor<8x2xf8E8M0FNU>)
      from #blockscale.format<mxfp4> -> tensor<8x60xf32>
  return
}

// -----

func.func @result(%q: tensor<8x64xf4E2M1FN>, %s: tensor<8x2xf8E8M0FNU>) {
  // expected-error@+1 {{result #0 must be tensor of f32, bf16 or f16}}
  %0 = blockscale.dequantize %q : tensor<8x64xf4E2M1FN> scales(%s : tensor<8x2xf8E8M0FNU>)
      from #blockscale.format<mxfp4> -> tensor<8x64xf64>
  return
}
