// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s
// RUN: blockscale-opt %s -emit-bytecode | blockscale-opt | FileCheck %s

// A format with a name prints by it, however it was spelled.
// CHECK-LABEL: @presets
// CHECK-SAME:  a = #blockscale.format<nvfp4>, b = #blockscale.format<nvfp4>, c = #blockscale.format<nvfp4>
// CHECK-SAME:  d = #blockscale.format<mxfp8_e5m2>
// CHECK-SAME:  e = #blockscale.format<mxfp4>
func.func private @presets() attributes {
  a = #blockscale.format<nvfp4>,
  b = #blockscale.format<e2m1, block = 16, scale = ue4m3, tensor = f32>,
  c = #blockscale.format<e2m1, tensor = f32, scale = e4m3, block = 1x16>,
  d = #blockscale.format<mxfp8_e5m2>,
  e = #blockscale.format<nvfp4, block = 32, scale = e8m0, tensor = none>
}

// CHECK-LABEL: @spelled
// CHECK-SAME:  a = #blockscale.format<e2m1, block = 16x16, scale = ue4m3, tensor = f32>
// CHECK-SAME:  b = #blockscale.format<e2m1, block = 16, scale = ue5m3, tensor = f32>
// CHECK-SAME:  c = #blockscale.format<int8q6, block = 64, scale = f32>
// CHECK-SAME:  d = #blockscale.format<uint4, block = 128, scale = f32, tensor = none, zero = f16>
// CHECK-SAME:  e = #blockscale.format<midrise4, block = 8, scale = bf16>
// CHECK-SAME:  f = #blockscale.format<e3m4, block = 32, scale = e8m0>
func.func private @spelled() attributes {
  a = #blockscale.format<nvfp4, block = 16x16>,
  b = #blockscale.format<nvfp4, scale = ue5m3>,
  c = #blockscale.format<int8q6, block = 64, scale = f32>,
  d = #blockscale.format<uint4, block = 128, scale = f32, zero = f16>,
  e = #blockscale.format<midrise4, block = 8, scale = bf16>,
  f = #blockscale.format<e3m4, block = 32, scale = e8m0>
}

// Equal formats are one attribute, so that they can be compared by ==.
// CHECK-LABEL: @codebook
// CHECK-SAME:  a = #blockscale.format<codebook[-1, -0.75, -0.5, -0.375, -0.25, -0.125, -1.0e-05, 0, 1.0e-05, 0.125, 0.25, 0.375, 0.5, 0.75, 1, 1.5], block = 64, scale = f32>
// CHECK-SAME:  b = #blockscale.format<codebook[-1,
// CHECK-SAME:  c = #blockscale.format<nf4>
func.func private @codebook() attributes {
  a = #blockscale.format<codebook[-1, -0.75, -0.5, -0.375, -0.25, -0.125, -1.0e-5, 0, 1.0e-5, 0.125, 0.25, 0.375, 0.5, 0.75, 1, 1.5], block = 64, scale = f32>,
  b = #blockscale.format<codebook[-1.0, -0.75, -0.5, -0.375, -0.25, -0.125, -0.00001, -0.0, 0.00001, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.5], scale = f32, block = 64>,
  c = #blockscale.format<codebook[-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
        -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534,
        0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434,
        0.5626170039176941, 0.7229568362236023, 1.0], block = 64, scale = f32>
}
