// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s

// CHECK-LABEL: @rounding
// CHECK-SAME:  a = #blockscale<rounding nearest_even>, b = #blockscale<rounding toward_zero>
// CHECK-SAME:  c = #blockscale<rounding nearest_away>, d = #blockscale<rounding nearest_zero>
// CHECK-SAME:  e = #blockscale<rounding stochastic>
func.func private @rounding() attributes {
  a = #blockscale<rounding nearest_even>,
  b = #blockscale<rounding toward_zero>,
  c = #blockscale<rounding nearest_away>,
  d = #blockscale<rounding nearest_zero>,
  e = #blockscale<rounding stochastic>
}
