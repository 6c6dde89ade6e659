// RUN: blockscale-opt %s --blockscale-approximate-math=all --split-input-file --verify-diagnostics

// A kernel can call no library.
func.func @no_polynomial(%x: f32) -> f32 {
  // expected-error @below {{expects a function that has an instruction or a polynomial (on f32), but got 'math.log10'; write it with others, or compile for the CPU}}
  %y = math.log10 %x : f32
  return %y : f32
}

// -----

func.func @wide(%x: f64) -> f64 {
  // expected-error @below {{but got 'math.exp'}}
  %y = math.exp %x : f64
  return %y : f64
}
