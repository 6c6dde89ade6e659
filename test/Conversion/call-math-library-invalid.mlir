// RUN: blockscale-opt %s --blockscale-call-math-library --verify-diagnostics

func.func @integer_power(%x: i32) -> i32 {
  // expected-error @+1 {{expects a function that is an instruction or in libm, but got 'math.ipowi'; write it with others: arith operations, powf, sin, ...}}
  %a = math.ipowi %x, %x : i32
  return %a : i32
}
