// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s

// CHECK: a = #blockscale.site<plain>
// CHECK-SAME: b = #blockscale.site<plain rotate 32 reuse>
// CHECK-SAME: c = #blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<floor, pre_multiplier = 0.75> round stochastic rotate 64 signs seeded>
// CHECK-SAME: d = #blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level> rotate 2 signs [1, -1]>
func.func private @sites() attributes {
  a = #blockscale.site<plain>,
  b = #blockscale.site<plain rotate 32 reuse>,
  c = #blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<floor, pre_multiplier = 0.75> round stochastic rotate 64 signs seeded>,
  d = #blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level> rotate 2 signs [1, -1]>
}

// CHECK: blockscale.role = #blockscale.role<wgrad_dy>
func.func private @role() attributes {blockscale.role = #blockscale.role<wgrad_dy>}
