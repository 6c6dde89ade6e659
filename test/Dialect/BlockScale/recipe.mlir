// RUN: blockscale-opt %s --split-input-file | blockscale-opt --split-input-file | FileCheck %s

// A recipe that is a preset prints by its name, however it was spelled.
// CHECK: func.func private @names() attributes {a = #blockscale.recipe<te_nvfp4>, b = #blockscale.recipe<nf4>, c = #blockscale.recipe<bf16>, d = #blockscale.recipe<bf16>}
#w = #blockscale.site<#blockscale.format<nf4> by #blockscale.scale_rule<absmax> round nearest_even>
func.func private @names() attributes {
  a = #blockscale.recipe<te_nvfp4>,
  b = #blockscale.recipe<fprop_w = #w, dgrad_w = #blockscale.site<plain reuse>>,
  c = #blockscale.recipe<>,
  d = #blockscale.recipe<fp4_all_the_way, fprop_x = #blockscale.site<plain>, fprop_w = #blockscale.site<plain>, backward = plain>
}

// -----

// CHECK: a = #blockscale.recipe<fprop_x = #blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level> round nearest_even>, fprop_w = #blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level> round nearest_even>>
// CHECK-SAME: b = #blockscale.recipe<fprop_w = #blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<rceil>>, low_rank = 16>
func.func private @spelled_out() attributes {
  a = #blockscale.recipe<fp4_all_the_way, backward = plain>,
  b = #blockscale.recipe<low_rank = 16, fprop_w = #blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<rceil>>>
}

// -----

// CHECK: b = #blockscale.recipe<quartet>, c = #blockscale.recipe<ue5m3>
func.func private @switches() attributes {
  b = #blockscale.recipe<quartet, masks = true>,
  c = #blockscale.recipe<ue5m3, held = 50>
}
