// RUN: split-file %s %t
// RUN: blockscale-compile %t/fp8.mlir --target=sm_89 --emit=ptx -o - | FileCheck %s --check-prefix=FP8
// RUN: blockscale-compile %t/fp8.mlir --target=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=FP8
// RUN: blockscale-compile %t/fp8.mlir --target=sm_120a --emit=ptx -o - | FileCheck %s --check-prefixes=FP8,SCALE
// RUN: blockscale-compile %t/fp8.mlir --target=sm_80 --emit=ptx -o - | FileCheck %s --check-prefix=SUMS
// RUN: blockscale-compile %t/fp6.mlir --target=sm_120a --emit=ptx -o - | FileCheck %s --check-prefix=FP6
// RUN: blockscale-compile %t/fp6.mlir --target=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=SUMS
// RUN: blockscale-compile %t/nvfp4.mlir --target=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=UE4M3
// RUN: blockscale-compile %t/nvfp4.mlir --target=sm_80 --emit=ptx -o - | FileCheck %s --check-prefix=SUMS
// RUN: blockscale-compile %t/matmul.mlir --target=sm_89 --emit=ptx -o - 2> %t.remark | FileCheck %s --check-prefix=DECODE
// RUN: blockscale-compile %t/matmul.mlir --target=sm_80 --emit=ptx -o - 2> %t.remark | FileCheck %s --check-prefix=SUMS
// RUN: blockscale-compile %t/stochastic.mlir --target=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=STOCHASTIC

// A chip rounds by its own conversions where it has them; others add f32
// numbers. That the bits agree is checked by encodings.py and quantizers.py.
// SUMS-NOT: {{e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2|ue8m0x2}}

//--- fp8.mlir
// FP8: .entry blockscale_scale
// SCALE: cvt.rp.ue8m0x2.f32
// FP8-COUNT-16: cvt.rn.satfinite.e4m3x2.f32
// FP8-NOT: cvt.rn.satfinite.e4m3x2.f32
// FP8: .entry blockscale_quantize
// FP8-COUNT-16: cvt.rn.satfinite.e5m2x2.f32
func.func @elements(%x: tensor<64x256xbf16>, %d: tensor<64x8xf8E8M0FNU>)
    -> (tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>, tensor<64x256xf8E5M2>) {
  %s = blockscale.scale %x : tensor<64x256xbf16>
      to #blockscale.format<mxfp8_e4m3> by #blockscale.scale_rule<rceil> -> tensor<64x8xf8E8M0FNU>
  %q = blockscale.quantize %x : tensor<64x256xbf16> scales(%s : tensor<64x8xf8E8M0FNU>)
      to #blockscale.format<mxfp8_e4m3> -> tensor<64x256xf8E4M3FN>
  %r = blockscale.quantize %x : tensor<64x256xbf16> scales(%d : tensor<64x8xf8E8M0FNU>)
      to #blockscale.format<mxfp8_e5m2> -> tensor<64x256xf8E5M2>
  return %q, %s, %r : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>, tensor<64x256xf8E5M2>
}

//--- fp6.mlir
// FP6-COUNT-16: cvt.rn.satfinite.e2m3x2.f32
// FP6-COUNT-16: cvt.rn.satfinite.e3m2x2.f32
func.func @elements(%x: tensor<64x256xbf16>, %d: tensor<64x8xf8E8M0FNU>)
    -> (tensor<64x256xf6E2M3FN>, tensor<64x256xf6E3M2FN>) {
  %q = blockscale.quantize %x : tensor<64x256xbf16> scales(%d : tensor<64x8xf8E8M0FNU>)
      to #blockscale.format<mxfp6_e2m3> -> tensor<64x256xf6E2M3FN>
  %r = blockscale.quantize %x : tensor<64x256xbf16> scales(%d : tensor<64x8xf8E8M0FNU>)
      to #blockscale.format<mxfp6_e3m2> -> tensor<64x256xf6E3M2FN>
  return %q, %r : tensor<64x256xf6E2M3FN>, tensor<64x256xf6E3M2FN>
}

//--- nvfp4.mlir
// UE4M3-COUNT-2: cvt.rn.satfinite.e4m3x2.f32
// UE4M3-NOT: cvt.rn.satfinite.e4m3x2.f32
func.func @scales(%x: tensor<64x256xbf16>, %a: tensor<f32>) -> (tensor<64x16xf8E4M3FN>, tensor<f32>) {
  %s, %g, %e = blockscale.scale %x : tensor<64x256xbf16> amax(%a : tensor<f32>)
      to #blockscale.format<nvfp4> by #blockscale.scale_rule<two_level>
      -> tensor<64x16xf8E4M3FN>, tensor<f32>, tensor<64x16xf32>
  return %s, %g : tensor<64x16xf8E4M3FN>, tensor<f32>
}

//--- stochastic.mlir
// Random words are converted toward zero and compared with the fraction of a
// step, which a sum toward zero has left over. Products of Philox are one
// instruction each.
// STOCHASTIC: .entry blockscale_scale
// STOCHASTIC: mul.wide.u32
// STOCHASTIC-NOT: mul.hi.u32
// STOCHASTIC-COUNT-32: cvt.rz.f32.u32
func.func @stochastic(%x: tensor<64x256xbf16>, %seed: tensor<i64>)
    -> (tensor<64x256xf4E2M1FN>, tensor<64x8xf8E8M0FNU>) {
  %s = blockscale.scale %x : tensor<64x256xbf16>
      to #blockscale.format<mxfp4> by #blockscale.scale_rule<rceil> -> tensor<64x8xf8E8M0FNU>
  %q = blockscale.quantize %x : tensor<64x256xbf16> scales(%s : tensor<64x8xf8E8M0FNU>)
      to #blockscale.format<mxfp4> round stochastic seed(%seed : tensor<i64>) -> tensor<64x256xf4E2M1FN>
  return %q, %s : tensor<64x256xf4E2M1FN>, tensor<64x8xf8E8M0FNU>
}

//--- matmul.mlir
// Weights on their way to shared memory.
// DECODE: .entry blockscale_matmul_bf16
// DECODE: cvt.rn.f16x2.e4m3x2
func.func @weight_only(%x: tensor<128x1024xbf16>, %w: tensor<1024x1024xf8E4M3FN>,
                       %ws: tensor<1024x32xf8E8M0FNU>) -> tensor<128x1024xbf16> {
  %y = blockscale.scaled_matmul lhs(%x : tensor<128x1024xbf16>)
      rhs(%w, %ws : tensor<1024x1024xf8E4M3FN>, tensor<1024x32xf8E8M0FNU> as #blockscale.format<mxfp8_e4m3>)
      : tensor<128x1024xbf16>
  return %y : tensor<128x1024xbf16>
}
