// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expects a scale rule}}
func.func private @f() attributes {a = #blockscale.scale_rule<golden_ratio>}

// -----

func.func private @f() attributes {a = #blockscale.scale_rule<two_level,
  // expected-error@+1 {{expects a positive number for bound, but got -3}}
  bound = -3>}

// -----

// expected-error@+1 {{expects satfinite = true or false, but got satfinite = 2}}
func.func private @f() attributes {a = #blockscale.scale_rule<floor, satfinite = 2>}

// -----

// expected-error@+1 {{but got taste}}
func.func private @f() attributes {a = #blockscale.scale_rule<floor, taste = 2>}

// -----

func.func private @f() attributes {a = #blockscale.scale_rule<floor, clip = 2.0,
  // expected-error@+1 {{expects one value of clip}}
  clip = 3.0>}
