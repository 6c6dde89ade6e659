// RUN: blockscale-opt %s --blockscale-call-math-library | FileCheck %s

// A function of libm is called, lane by lane; an instruction stays.
// CHECK-LABEL: func @lanes
//       CHECK: call @sinf
//       CHECK: call @sinf
//       CHECK: math.copysign {{.*}} : vector<2xf32>
func.func @lanes(%x: vector<2xf32>, %y: vector<2xf32>) -> vector<2xf32> {
  %a = math.sin %x : vector<2xf32>
  %b = math.copysign %a, %y : vector<2xf32>
  return %b : vector<2xf32>
}

// A whole power is that of f64, rounded once.
// CHECK-LABEL: func @power
//       CHECK: %[[X:.*]] = arith.extf %{{.*}} : f32 to f64
//       CHECK: %[[N:.*]] = arith.sitofp %{{.*}} : i32 to f64
//       CHECK: %[[P:.*]] = call @pow(%[[X]], %[[N]])
//       CHECK: arith.truncf %[[P]] : f64 to f32
func.func @power(%x: f32, %n: i32) -> f32 {
  %a = math.fpowi %x, %n : f32, i32
  return %a : f32
}
