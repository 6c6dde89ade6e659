// RUN: blockscale-opt %s --split-input-file --blockscale-fuse-rotations=introduce=32 --verify-diagnostics -o /dev/null

func.func @not_linear(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-remark @+1 {{rotation by 16 does not move through 'math.tanh', which is not linear}}
  %a = blockscale.rotate %x {size = 16} : tensor<8x64xf32>
  %t = math.tanh %a : tensor<8x64xf32>
  return %t : tensor<8x64xf32>
}

// -----

func.func @varying_factor(%x: tensor<8x64xf32>, %f: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-remark @+1 {{rotation by 16 does not move through 'arith.mulf', whose other operand is not known to be equal along the rotated axis}}
  %a = blockscale.rotate %x {size = 16} : tensor<8x64xf32>
  %t = arith.mulf %a, %f : tensor<8x64xf32>
  return %t : tensor<8x64xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>
func.func @varying_generic(%x: tensor<64x64xf32>, %f: tensor<64x64xf32>, %g: tensor<64x64xf32>, %h: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %e = tensor.empty() : tensor<64x64xf32>
  // expected-remark @+1 {{rotation by 16 does not move through 'linalg.generic', whose factor is not known to be equal along the rotated axis, or which indexes the rotated tensor by another map than the identity}}
  %a = blockscale.rotate %x {size = 16} : tensor<64x64xf32>
  %t = linalg.generic {indexing_maps = [#id, #swap, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %f : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    linalg.yield %m : f32
  } -> tensor<64x64xf32>
  // expected-remark @+1 {{rotation by 16 does not move through 'linalg.generic', whose body is not one multiplication or division}}
  %b = blockscale.rotate %g {size = 16} : tensor<64x64xf32>
  %u = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b, %h : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.maximumf %p, %q : f32
    linalg.yield %m : f32
  } -> tensor<64x64xf32>
  return %t, %u : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

func.func @half_a_sum(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-remark @+1 {{rotation by 16 does not move through 'arith.addf', whose other operand is not rotated alike}}
  %a = blockscale.rotate %x {size = 16} : tensor<8x64xf32>
  %t = arith.addf %a, %y : tensor<8x64xf32>
  return %t : tensor<8x64xf32>
}

// -----

func.func @reshaped_axis(%x: tensor<8x64xf32>) -> tensor<512xf32> {
  // expected-remark @+1 {{rotation by 16 does not move through 'tensor.collapse_shape', which reshapes the rotated axis}}
  %a = blockscale.rotate %x {size = 16} : tensor<8x64xf32>
  %t = tensor.collapse_shape %a [[0, 1]] : tensor<8x64xf32> into tensor<512xf32>
  return %t : tensor<512xf32>
}

// -----

func.func @other_use(%x: tensor<8x64xf32>, %init: tensor<64x8xf32>) -> (tensor<64x8xf32>, tensor<8x64xf32>) {
  // expected-remark @+1 {{rotation by 16 does not move through 'linalg.transpose', because the rotated tensor has other uses}}
  %a = blockscale.rotate %x {size = 16} : tensor<8x64xf32>
  %t = linalg.transpose ins(%a : tensor<8x64xf32>) outs(%init : tensor<64x8xf32>) permutation = [1, 0]
  return %t, %a : tensor<64x8xf32>, tensor<8x64xf32>
}

// -----

func.func @two_sizes(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %a = blockscale.rotate %x {size = 16} : tensor<8x64xf32>
  // expected-remark @+1 {{adjacent rotations by 16 and 32 stay: their product is no rotation by signs and a Hadamard matrix}}
  %b = blockscale.rotate %a {size = 32} : tensor<8x64xf32>
  return %b : tensor<8x64xf32>
}

// -----

#mxfp4 = #blockscale.format<mxfp4>
#floor = #blockscale.scale_rule<floor>
func.func @quantized_pair(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>) -> tensor<8x16xf32> {
  %xs = blockscale.scale %x : tensor<8x64xf32> to #mxfp4 by #floor -> tensor<8x2xf8E8M0FNU>
  %xq = blockscale.quantize %x : tensor<8x64xf32> scales(%xs : tensor<8x2xf8E8M0FNU>) to #mxfp4 -> tensor<8x64xf4E2M1FN>
  %ws = blockscale.scale %w : tensor<16x64xf32> to #mxfp4 by #floor -> tensor<16x2xf8E8M0FNU>
  %wq = blockscale.quantize %w : tensor<16x64xf32> scales(%ws : tensor<16x2xf8E8M0FNU>) to #mxfp4 -> tensor<16x64xf4E2M1FN>
  // expected-remark @+1 {{both sides are rotated by 32 alike: the exact product does not change, the quantization error does}}
  %y = blockscale.scaled_matmul lhs(%xq, %xs : tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU> as #mxfp4)
      rhs(%wq, %ws : tensor<16x64xf4E2M1FN>, tensor<16x2xf8E8M0FNU> as #mxfp4) : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

#mxfp4 = #blockscale.format<mxfp4, block = 16>
#floor = #blockscale.scale_rule<floor>
func.func @size_does_not_divide(%x: tensor<8x48xf32>, %w: tensor<16x48xf32>) -> tensor<8x16xf32> {
  %xs = blockscale.scale %x : tensor<8x48xf32> to #mxfp4 by #floor -> tensor<8x3xf8E8M0FNU>
  %xq = blockscale.quantize %x : tensor<8x48xf32> scales(%xs : tensor<8x3xf8E8M0FNU>) to #mxfp4 -> tensor<8x48xf4E2M1FN>
  %ws = blockscale.scale %w : tensor<16x48xf32> to #mxfp4 by #floor -> tensor<16x3xf8E8M0FNU>
  %wq = blockscale.quantize %w : tensor<16x48xf32> scales(%ws : tensor<16x3xf8E8M0FNU>) to #mxfp4 -> tensor<16x48xf4E2M1FN>
  // expected-remark @+1 {{operands are not rotated: the size 32 does not divide the contraction extent 48}}
  %y = blockscale.scaled_matmul lhs(%xq, %xs : tensor<8x48xf4E2M1FN>, tensor<8x3xf8E8M0FNU> as #mxfp4)
      rhs(%wq, %ws : tensor<16x48xf4E2M1FN>, tensor<16x3xf8E8M0FNU> as #mxfp4) : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

func.func @rotated_differently(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>) -> tensor<8x16xf32> {
  %a = blockscale.rotate %x {size = 16} : tensor<8x64xf32>
  %b = blockscale.rotate %w {size = 32} : tensor<16x64xf32>
  // expected-remark @+1 {{the sides are rotated differently, which changes the product}}
  %y = blockscale.scaled_matmul lhs(%a : tensor<8x64xf32>) rhs(%b : tensor<16x64xf32>) : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// An amax from before the rotation is not that of what is scaled after it.
#nvint4 = #blockscale.format<nvint4>
#two_level = #blockscale.scale_rule<two_level>
func.func @held_amax(%x: tensor<8x32xf32>, %w: tensor<16x32xf32>, %a: tensor<f32>) -> tensor<8x16xf32> {
  %xs, %xg, %xe = blockscale.scale %x : tensor<8x32xf32> amax(%a : tensor<f32>) to #nvint4 by #two_level
      -> tensor<8x2xf8E4M3FN>, tensor<f32>, tensor<8x2xf32>
  %xq = blockscale.quantize %x : tensor<8x32xf32> encode(%xe : tensor<8x2xf32>) to #nvint4 -> tensor<8x32xi4>
  %ws, %wg, %we = blockscale.scale %w : tensor<16x32xf32> to #nvint4 by #two_level
      -> tensor<16x2xf8E4M3FN>, tensor<f32>, tensor<16x2xf32>
  %wq = blockscale.quantize %w : tensor<16x32xf32> encode(%we : tensor<16x2xf32>) to #nvint4 -> tensor<16x32xi4>
  // expected-remark @+1 {{operands are not rotated: an amax was measured before the rotation, which would change it}}
  %y = blockscale.scaled_matmul lhs(%xq, %xs, %xg : tensor<8x32xi4>, tensor<8x2xf8E4M3FN>, tensor<f32> as #nvint4)
      rhs(%wq, %ws, %wg : tensor<16x32xi4>, tensor<16x2xf8E4M3FN>, tensor<f32> as #nvint4) : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
