// RUN: blockscale-compile %s --target=sm_120a --emit=ptx -o - | FileCheck %s --check-prefix=NATIVE
// RUN: blockscale-compile %s --target=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=SUMS

// A chip with a conversion to e2m1 rounds two values by one instruction; others
// add f32 numbers. That the bits agree is checked by NVIDIA/quantizers.py.
// NATIVE: .entry blockscale_scale
// NATIVE-COUNT-16: cvt.rn.satfinite.e2m1x2.f32
// NATIVE-NOT: cvt.rn.satfinite.e2m1x2.f32
// SUMS-NOT: e2m1x2
func.func @nearest(%x: tensor<64x256xbf16>) -> (tensor<64x256xf4E2M1FN>, tensor<64x8xf8E8M0FNU>) {
  %s = blockscale.scale %x : tensor<64x256xbf16>
      to #blockscale.format<mxfp4> by #blockscale.scale_rule<rceil> -> tensor<64x8xf8E8M0FNU>
  %q = blockscale.quantize %x : tensor<64x256xbf16> scales(%s : tensor<64x8xf8E8M0FNU>)
      to #blockscale.format<mxfp4> -> tensor<64x256xf4E2M1FN>
  return %q, %s : tensor<64x256xf4E2M1FN>, tensor<64x8xf8E8M0FNU>
}
