// RUN: blockscale-opt %s -split-input-file -blockscale-lower-to-nvidia=chip=sm_90a -verify-diagnostics

func.func private @layer(%x: tensor<4x256xbf16>, %w: tensor<64x256xf4E2M1FN> {blockscale.invariant},
                         %s: tensor<64x8xf8E8M0FNU> {blockscale.invariant}) -> tensor<4x64xbf16> {
  %y = blockscale.scaled_matmul lhs(%x : tensor<4x256xbf16>)
      rhs(%w, %s : tensor<64x256xf4E2M1FN>, tensor<64x8xf8E8M0FNU> as #blockscale.format<mxfp4>) : tensor<4x64xbf16>
  return %y : tensor<4x64xbf16>
}

// Weights that are passed on keep the promise.
func.func @passed_on(%x: tensor<4x256xbf16>, %w: tensor<64x256xf4E2M1FN> {blockscale.invariant},
                     %s: tensor<64x8xf8E8M0FNU> {blockscale.invariant}) -> tensor<4x64xbf16> {
  %y = call @layer(%x, %w, %s) : (tensor<4x256xbf16>, tensor<64x256xf4E2M1FN>, tensor<64x8xf8E8M0FNU>) -> tensor<4x64xbf16>
  return %y : tensor<4x64xbf16>
}

// The kernel that quantizes them may still run.
func.func @quantized_here(%x: tensor<4x256xbf16>, %v: tensor<64x256xbf16>) -> tensor<4x64xbf16> {
  %s = blockscale.scale %v : tensor<64x256xbf16> to #blockscale.format<mxfp4>
      by #blockscale.scale_rule<rceil> -> tensor<64x8xf8E8M0FNU>
  %w = blockscale.quantize %v : tensor<64x256xbf16> scales(%s : tensor<64x8xf8E8M0FNU>)
      to #blockscale.format<mxfp4> -> tensor<64x256xf4E2M1FN>
  // expected-error@below {{expects an argument with blockscale.invariant as operand #1, because that of 'layer' has it}}
  %y = call @layer(%x, %w, %s) : (tensor<4x256xbf16>, tensor<64x256xf4E2M1FN>, tensor<64x8xf8E8M0FNU>) -> tensor<4x64xbf16>
  return %y : tensor<4x64xbf16>
}

// -----

func.func private @layer(%w: tensor<64x256xf4E2M1FN> {blockscale.invariant})

func.func @argument_of_another_block(%w: tensor<64x256xf4E2M1FN> {blockscale.invariant}, %v: tensor<64x256xf4E2M1FN>) {
  cf.br ^next(%v : tensor<64x256xf4E2M1FN>)
^next(%u: tensor<64x256xf4E2M1FN>):
  // expected-error@below {{expects an argument with blockscale.invariant as operand #0}}
  call @layer(%u) : (tensor<64x256xf4E2M1FN>) -> ()
  return
}
