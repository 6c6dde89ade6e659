// RUN: blockscale-opt %s --blockscale-approximate-math --split-input-file | FileCheck %s

// Transcendental functions of an epilogue's lanes become arithmetic: no call is
// left, and no loop over lanes.
// CHECK-LABEL: func.func @lanes
// CHECK-NOT: math.{{exp|tanh|erf|log}}
// CHECK: vector<16xf32>
// CHECK: return
func.func @lanes(%x: vector<16xf32>) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
  %a = math.exp %x : vector<16xf32>
  %b = math.tanh %x : vector<16xf32>
  %c = math.erf %x : vector<16xf32>
  %d = math.log %x : vector<16xf32>
  return %a, %b, %c, %d : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
}

// -----

// The same on one value.
// CHECK-LABEL: func.func @scalar
// CHECK-NOT: math.exp
// CHECK: return
func.func @scalar(%x: f32) -> f32 {
  %a = math.exp %x : f32
  return %a : f32
}

// -----

// f64 is not approximated: the C library's is exact to the last place or so.
// CHECK-LABEL: func.func @wide
// CHECK: math.exp %{{.*}} : f64
func.func @wide(%x: f64) -> f64 {
  %a = math.exp %x : f64
  return %a : f64
}

// -----

// Questions and choices are comparisons on every target.
// CHECK-LABEL: func.func @questions
// CHECK-NOT: math.{{is|clampf|sincos}}
// CHECK: return
func.func @questions(%x: f32, %y: vector<4xbf16>) -> (i1, i1, vector<4xi1>, vector<4xi1>, f32, f32, f32) {
  %a = math.isnan %x : f32
  %b = math.isinf %x : f32
  %c = math.isfinite %y : vector<4xbf16>
  %d = math.isnormal %y : vector<4xbf16>
  %e = math.clampf %x to [%x, %x] : f32
  %f, %g = math.sincos %x : f32
  return %a, %b, %c, %d, %e, %f, %g : i1, i1, vector<4xi1>, vector<4xi1>, f32, f32, f32
}
