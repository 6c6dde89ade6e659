// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

#nvfp4 = #blockscale.format<nvfp4>
func.func @ragged(%x: tensor<8x40xf32>, %e: tensor<8x3xf32>) {
  // expected-error@+1 {{expects an innermost extent of its source divisible by 16, the block of #blockscale.format<nvfp4>, but got 40; add `pad` to complete the last block with zeros}}
  %0 = blockscale.quantize %x : tensor<8x40xf32> encode(%e : tensor<8x3xf32>) to #nvfp4 -> tensor<8x40xf4E2M1FN>
  return
}

// -----

#nvfp4 = #blockscale.format<nvfp4>
func.func @element(%x: tensor<8x64xf32>, %e: tensor<8x4xf32>) {
  // expected-error@+1 {{expects elements of type 'tensor<8x64xf4E2M1FN>', but got 'tensor<8x64xi4>'}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> encode(%e : tensor<8x4xf32>) to #nvfp4 -> tensor<8x64xi4>
  return
}

// -----

#nvfp4 = #blockscale.format<nvfp4>
func.func @padded(%x: tensor<8x40xf32>, %e: tensor<8x3xf32>) {
  // expected-error@+1 {{expects elements of type 'tensor<8x48xf4E2M1FN>', but got 'tensor<8x40xf4E2M1FN>'}}
  %0 = blockscale.quantize %x : tensor<8x40xf32> encode(%e : tensor<8x3xf32>) to #nvfp4 {pad} -> tensor<8x40xf4E2M1FN>
  return
}

// -----

#nvfp4 = #blockscale.format<nvfp4>
func.func @neither(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{expects either scales or encode factors, but got neither}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> to #nvfp4 -> tensor<8x64xf4E2M1FN>
  return
}

// -----

#nvfp4 = #blockscale.format<nvfp4>
func.func @both(%x: tensor<8x64xf32>, %s: tensor<8x4xf8E4M3FN>, %e: tensor<8x4xf32>) {
  // expected-error@+1 {{expects either scales or encode factors, but got both}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x4xf8E4M3FN>)
      encode(%e : tensor<8x4xf32>) to #nvfp4 -> tensor<8x64xf4E2M1FN>
  return
}

// -----

#nvfp4 = #blockscale.format<nvfp4>
func.func @encode_tensor(%x: tensor<8x64xf32>, %g: tensor<f32>, %e: tensor<8x4xf32>) {
  // expected-error@+1 {{expects no tensor scale beside encode factors, which contain it, but got 'tensor<f32>'}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> tensor(%g : tensor<f32>)
      encode(%e : tensor<8x4xf32>) to #nvfp4 -> tensor<8x64xf4E2M1FN>
  return
}

// -----

#nvfp4 = #blockscale.format<nvfp4>
func.func @encode_shape(%x: tensor<8x64xf32>, %e: tensor<8x64xf32>) {
  // expected-error@+1 {{expects encode factors of type 'tensor<8x4xf32>', but got 'tensor<8x64xf32>'}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> encode(%e : tensor<8x64xf32>) to #nvfp4 -> tensor<8x64xf4E2M1FN>
  return
}

// -----

#nvfp4 = #blockscale.format<nvfp4>
func.func @no_tensor_scale(%x: tensor<8x64xf32>, %s: tensor<8x4xf8E4M3FN>) {
  // expected-error@+1 {{expects a tensor scale, because #blockscale.format<nvfp4> has one, but got none}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x4xf8E4M3FN>) to #nvfp4 -> tensor<8x64xf4E2M1FN>
  return
}

// -----

func.func @tensor_scale(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %g: tensor<f32>) {
  // expected-error@+1 {{expects no tensor scale, because #blockscale.format<mxfp4> has none, but got one}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) tensor(%g : tensor<f32>)
      to #blockscale.format<mxfp4> -> tensor<8x64xf4E2M1FN>
  return
}

// -----

func.func @scales_type(%x: tensor<8x64xf32>, %s: tensor<8x2xi8>) {
  // expected-error@+1 {{expects scales of type 'tensor<8x2xf8E8M0FNU>', but got 'tensor<8x2xi8>'}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xi8>)
      to #blockscale.format<mxfp4> -> tensor<8x64xf4E2M1FN>
  return
}

// -----

func.func @scales_layout(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU, "diagonal">) {
  // expected-error@+1 {{expects scales in row-major layout or #blockscale.tiled_128x4, but got "diagonal"}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU, "diagonal">)
      to #blockscale.format<mxfp4> -> tensor<8x64xf4E2M1FN>
  return
}

// -----

func.func @no_zeros(%x: tensor<8x64xf32>, %s: tensor<8x1xf16>) {
  // expected-error@+1 {{expects zero points, because #blockscale.format<uint4> has them, but got none}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x1xf16>)
      to #blockscale.format<uint4> -> tensor<8x64xi4>
  return
}

// -----

func.func @zeros(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %z: tensor<8x2xi8>) {
  // expected-error@+1 {{expects no zero points, because #blockscale.format<mxfp4> has none, but got some}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) zeros(%z : tensor<8x2xi8>)
      to #blockscale.format<mxfp4> -> tensor<8x64xf4E2M1FN>
  return
}

// -----

func.func @zeros_type(%x: tensor<8x64xf32>, %s: tensor<8x1xf16>, %z: tensor<8x1xf16>) {
  // expected-error@+1 {{expects zero points of type 'tensor<8x1xi8>', but got 'tensor<8x1xf16>'}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x1xf16>) zeros(%z : tensor<8x1xf16>)
      to #blockscale.format<uint4> -> tensor<8x64xi4>
  return
}

// -----

#nvfp4 = #blockscale.format<nvfp4>
func.func @no_seed(%x: tensor<8x64xf32>, %e: tensor<8x4xf32>) {
  // expected-error@+1 {{expects a seed, because rounding is stochastic, but got none}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> encode(%e : tensor<8x4xf32>)
      to #nvfp4 round stochastic -> tensor<8x64xf4E2M1FN>
  return
}

// -----

#nvfp4 = #blockscale.format<nvfp4>
func.func @seed(%x: tensor<8x64xf32>, %e: tensor<8x4xf32>, %seed: tensor<i64>) {
  // expected-error@+1 {{expects no seed, because rounding is nearest_even, but got one}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> encode(%e : tensor<8x4xf32>)
      to #nvfp4 round nearest_even seed(%seed : tensor<i64>) -> tensor<8x64xf4E2M1FN>
  return
}

// -----

#nvfp4 = #blockscale.format<nvfp4>
func.func @up(%x: tensor<8x64xf32>, %e: tensor<8x4xf32>) {
  // expected-error@+1 {{expects a rounding of elements, but got up, which rounds scales}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> encode(%e : tensor<8x4xf32>)
      to #nvfp4 round up -> tensor<8x64xf4E2M1FN>
  return
}

// -----

#nvfp4 = #blockscale.format<nvfp4>
func.func @seed_type(%x: tensor<8x64xf32>, %e: tensor<8x4xf32>, %seed: tensor<1xi64>) {
  // expected-error@+1 {{must be tensor<i64>}}
  %0 = blockscale.quantize %x : tensor<8x64xf32> encode(%e : tensor<8x4xf32>)
      to #nvfp4 round stochastic seed(%seed : tensor<1xi64>) -> tensor<8x64xf4E2M1FN>
  return
}

// -----

#nvfp4 = #blockscale.format<nvfp4>
func.func @source_layout(%x: tensor<8x64xf32, "diagonal">, %e: tensor<8x4xf32>) {
  // expected-error@+1 {{operand #0 must be tensor of f32, bf16 or f16 of rank 1 or more}}
  %0 = blockscale.quantize %x : tensor<8x64xf32, "diagonal"> encode(%e : tensor<8x4xf32>) to #nvfp4 -> tensor<8x64xf4E2M1FN>
  return
}
