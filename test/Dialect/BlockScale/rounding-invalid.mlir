// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expects a rounding (nearest_even, toward_zero, nearest_away, nearest_zero or stochastic), but got sideways}}
func.func private @unknown() attributes {a = #blockscale<rounding sideways>}
