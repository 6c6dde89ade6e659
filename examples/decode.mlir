// A layer of a model that generates text: few rows of activations, weights that
// were quantized before and stay as they are.
//
// Compile:  blockscale-compile examples/decode.mlir --target=sm_90a -o decode.so
// Call it on memory of the GPU, in a stream or a CUDA graph:
//
//   layer = blockscale.load("decode.so", device="cuda")
//   y = torch.empty(len(x), 4096, device="cuda", dtype=torch.bfloat16)
//   layer.decode(x, elements, scales, tensor_scale, out=y)
//
// Given `out=`, nothing is allocated, so that a kernel can start while the one
// before still runs. With blockscale.invariant its first weights come by then:
// a promise that nothing which may still run writes them.

#nvfp4 = #blockscale.format<nvfp4>

func.func @decode(%x: tensor<?x4096xbf16>,
                  %elements: tensor<4096x4096xf4E2M1FN> {blockscale.invariant},
                  %scales: tensor<4096x256xf8E4M3FN> {blockscale.invariant},
                  %tensor_scale: tensor<f32> {blockscale.invariant})
    -> tensor<?x4096xbf16> {
  %y = blockscale.scaled_matmul lhs(%x : tensor<?x4096xbf16>)
      rhs(%elements, %scales, %tensor_scale
          : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>, tensor<f32> as #nvfp4)
      : tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
