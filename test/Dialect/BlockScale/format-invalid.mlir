// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expects a preset or an element}}
func.func private @f() attributes {a = #blockscale.format<nvfp5>}

// -----

// The error is where the culprit is.
func.func private @f() attributes {a = #blockscale.format<nvfp4,
  scale = ue4m3,
  // expected-error@+1 {{expects a block of a multiple of 8 columns from 8 to 128, but got 12 columns}}
  block = 12,
  tensor = f32>}

// -----

func.func private @f() attributes {a = #blockscale.format<
  // expected-error@+1 {{expects a block of a multiple of 8 columns from 8 to 128, but got 256 columns}}
  e2m1, scale = e8m0, block = 256>}

// -----

// expected-error@+1 {{expects a block of 1 row or of as many rows as columns (32), but got 16 rows}}
func.func private @f() attributes {a = #blockscale.format<nvfp4, block = 16x32>}

// -----

// expected-error@+1 {{expects a zero point (zero = code, f16 or f32) with element uint4, but got zero = none}}
func.func private @f() attributes {a = #blockscale.format<uint4, zero = none>}

// -----

// expected-error@+1 {{expects an element uintN with a zero point, but got element e2m1}}
func.func private @f() attributes {a = #blockscale.format<nvfp4, zero = code>}

// -----

// expected-error@+1 {{expects an element eXmY with 1 + X + Y from 3 to 8 and X at least 1, but got e9m9}}
func.func private @f() attributes {a = #blockscale.format<e9m9, block = 16, scale = e8m0>}

// -----

// expected-error@+1 {{but got colour}}
func.func private @f() attributes {a = #blockscale.format<nvfp4, colour = 3>}

// -----

// expected-error@+1 {{expects 16 values in a codebook, but got 3}}
func.func private @f() attributes {a = #blockscale.format<codebook[-1, 0, 1.0], block = 64, scale = f32>}

// -----

// expected-error@+1 {{expects ascending codebook values}}
func.func private @f() attributes {a = #blockscale.format<codebook[1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], block = 64, scale = f32>}

// -----

// expected-error@+1 {{expects a name or a number, but got [1]}}
func.func private @f() attributes {a = #blockscale.format<nvfp4, block = [1]>}

// -----

// expected-error@+1 {{expected '='}}
func.func private @f() attributes {a = #blockscale.format<nvfp4, block>}

// -----

// expected-error@+1 {{expected '<'}}
func.func private @f() attributes {a = #blockscale.format}
