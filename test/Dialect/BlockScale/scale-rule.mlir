// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s

// CHECK-LABEL: @named
// CHECK-SAME:  a = #blockscale.scale_rule<two_level>
// CHECK-SAME:  b = #blockscale.scale_rule<two_level>
// CHECK-SAME:  c = #blockscale.scale_rule<four_over_six>
// CHECK-SAME:  d = #blockscale.scale_rule<rms>
func.func private @named() attributes {
  a = #blockscale.scale_rule<two_level>,
  b = #blockscale.scale_rule<reciprocal>,
  c = #blockscale.scale_rule<four_over_six>,
  d = #blockscale.scale_rule<floor, estimator = rms>
}

// CHECK-LABEL: @fields
// CHECK-SAME:  a = #blockscale.scale_rule<reciprocal, bound = 256>
// CHECK-SAME:  b = #blockscale.scale_rule<floor, pre_multiplier = 0.75>
// CHECK-SAME:  c = #blockscale.scale_rule<rceil, satfinite = true>
// CHECK-SAME:  d = #blockscale.scale_rule<floor, estimator = rms, epsilon = 1.5e-20>
func.func private @fields() attributes {
  a = #blockscale.scale_rule<two_level, bound = 256>,
  b = #blockscale.scale_rule<floor, pre_multiplier = 7.5e-1>,
  c = #blockscale.scale_rule<rceil, satfinite = true>,
  d = #blockscale.scale_rule<rms, epsilon = 1.5e-20>
}
