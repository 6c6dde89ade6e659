// A linear layer, y = x w^T + bias, whose product is computed on 4-bit numbers.
//
// Try it:   scripts/demo
// By hand:  blockscale-compile examples/linear.mlir --target=cpu --emit=shared -o linear.so
//           blockscale-run linear.so --input x.npy --input w.npy --input bias.npy --output y.npy

// What the bits mean: E2M1 elements, an E4M3 scale for each 16 of them, one f32
// scale for the tensor. `nvfp4` names #blockscale.format<e2m1, block = 16,
// scale = ue4m3, tensor = f32>; any other combination can be spelled like that.
#fmt = #blockscale.format<nvfp4>

// How scales are chosen: Transformer Engine's rule, in its order of operations.
#rule = #blockscale.scale_rule<two_level>

// The number of rows is known only when it runs.
func.func @linear(%x: tensor<?x4096xbf16>, %w: tensor<1024x4096xbf16>,
                  %bias: tensor<1024xf32>) -> tensor<?x1024xbf16> {
  // Rotating both sides alike along the contraction leaves x w^T as it is, but
  // spreads an outlier over 16 values, and they all quantize better.
  %xr = blockscale.rotate %x {size = 16} : tensor<?x4096xbf16>
  %wr = blockscale.rotate %w {size = 16} : tensor<1024x4096xbf16>

  // Scales of the blocks, the scale of the tensor, and the factors to encode
  // with. A value is decoded as element * block scale * tensor scale.
  %xs, %xg, %xe = blockscale.scale %xr : tensor<?x4096xbf16> to #fmt by #rule
      -> tensor<?x256xf8E4M3FN>, tensor<f32>, tensor<?x256xf32>
  %ws, %wg, %we = blockscale.scale %wr : tensor<1024x4096xbf16> to #fmt by #rule
      -> tensor<1024x256xf8E4M3FN>, tensor<f32>, tensor<1024x256xf32>

  // The elements: 4 bits each, rounded to nearest, two in a byte of memory.
  %xq = blockscale.quantize %xr : tensor<?x4096xbf16>
      encode(%xe : tensor<?x256xf32>)
      to #fmt round nearest_even -> tensor<?x4096xf4E2M1FN>
  %wq = blockscale.quantize %wr : tensor<1024x4096xbf16>
      encode(%we : tensor<1024x256xf32>)
      to #fmt round nearest_even -> tensor<1024x4096xf4E2M1FN>

  // The product. The epilogue runs once per element of the result, while it is
  // still an f32 accumulator; %b is the bias of the element's column.
  %y = blockscale.scaled_matmul
      lhs(%xq, %xs, %xg : tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN>, tensor<f32> as #fmt)
      rhs(%wq, %ws, %wg : tensor<1024x4096xf4E2M1FN>, tensor<1024x256xf8E4M3FN>, tensor<f32> as #fmt)
      epilogue(%bias : tensor<1024xf32>) {
  ^bb0(%acc: f32, %b: f32):
    %sum = arith.addf %acc, %b : f32
    %out = arith.truncf %sum : f32 to bf16
    blockscale.yield %out : bf16
  } : tensor<?x1024xbf16>
  return %y : tensor<?x1024xbf16>
}
