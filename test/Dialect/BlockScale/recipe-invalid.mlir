// RUN: blockscale-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expects a recipe (bf16, te_nvfp4, fp4_all_the_way, ue5m3, mxfp4_training, quartet, quest, mxint, nvint, weight_only, svdquant, sinq, nf4), but got fp5}}
func.func private @f() attributes {a = #blockscale.recipe<fp5>}

// -----

// expected-error @+1 {{expects an option fprop_x, fprop_w, dgrad_dy, dgrad_w, wgrad_dy, wgrad_x, backward, masks, held, low_rank or balance, but got dgrad_x}}
func.func private @f() attributes {a = #blockscale.recipe<dgrad_x = #blockscale.site<plain>>}

// -----

// expected-error @+1 {{expects equal rotations of the operands of forward, which cancel in the product, but got #blockscale.site<plain rotate 16> and #blockscale.site<plain>}}
func.func private @f() attributes {a = #blockscale.recipe<fprop_x = #blockscale.site<plain rotate 16>>}

// -----

// expected-error @+1 {{expects reuse in dgrad_w or wgrad_x, but got it in dgrad_dy}}
func.func private @f() attributes {a = #blockscale.recipe<dgrad_dy = #blockscale.site<plain reuse>>}

// -----

// expected-error @+1 {{expects a quantized fprop_x with masks = true, but got plain}}
func.func private @f() attributes {a = #blockscale.recipe<masks = true>}

// -----

// expected-error @+1 {{expects reuse in dgrad_w with masks = true, but got #blockscale.site<plain>}}
func.func private @f() attributes {a = #blockscale.recipe<fp4_all_the_way, backward = plain, masks = true>}

// -----

// expected-error @+1 {{expects backward = plain, but got backward = bf16}}
func.func private @f() attributes {a = #blockscale.recipe<te_nvfp4, backward = bf16>}

// -----

// expected-error @+1 {{expects masks = true or false, but got masks = yes}}
func.func private @f() attributes {a = #blockscale.recipe<quartet, masks = yes>}

// -----

// expected-error @+1 {{expects formats with tensor = f32 with held = 50, but got #blockscale.format<mxfp4>}}
func.func private @f() attributes {a = #blockscale.recipe<mxfp4_training, held = 50>}

// -----

// expected-error @+1 {{expects no reuse with held = 10: a gradient does not know the forward amax}}
func.func private @f() attributes {a = #blockscale.recipe<held = 10, fprop_w = #blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level>>, dgrad_w = #blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level> reuse>>}

// -----

// expected-error @+1 {{expects low_rank from 1 to 4096, but got -1}}
func.func private @f() attributes {a = #blockscale.recipe<low_rank = -1>}

// -----

// expected-error @+1 {{expects balance from 1 to 1024, but got 2000}}
func.func private @f() attributes {a = #blockscale.recipe<sinq, balance = 2000>}

// -----

// expected-error @+1 {{expects a quantized fprop_w with balance = 16, but got plain}}
func.func private @f() attributes {a = #blockscale.recipe<balance = 16>}

// -----

// expected-error @+1 {{expects neither masks nor reuse in wgrad_x with balance = 4, but got masks = true}}
func.func private @f() attributes {a = #blockscale.recipe<quest, balance = 4>}

// -----

// A gradient that meets the quantized weight again would measure its amax anew.
// expected-error @+1 {{expects no reuse with held = 10: a gradient does not know the forward amax}}
func.func private @f() attributes {a = #blockscale.recipe<held = 10, fprop_w = #blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level>>, dgrad_w = #blockscale.site<plain reuse>>}

// -----

#w = #blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<torchao_two_level>>
// expected-error @+1 {{expects no reuse with held = 4: a gradient does not know the forward amax}}
func.func private @f() attributes {a = #blockscale.recipe<held = 4, masks = true, fprop_x = #w, fprop_w = #w, dgrad_w = #blockscale.site<plain reuse>, wgrad_x = #blockscale.site<plain reuse>>}

// -----

// Clipped is what the factor took beyond the largest element: 3/4 of x / d.
#x = #blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<floor, pre_multiplier = 0.75> rotate 128>
// expected-error @+1 {{expects a scale rule in fprop_x by which elements are divided by their scale, with masks = true, but got #blockscale.scale_rule<floor, pre_multiplier = 0.75>, which encodes by a factor of its own: the scale does not tell what was clipped; use floor, ceil, rceil, even, division or rms without pre_multiplier}}
func.func private @f() attributes {a = #blockscale.recipe<quest, fprop_x = #x>}

// -----

#r = #blockscale.site<#blockscale.format<e2m1, block = 16, scale = ue4m3> by #blockscale.scale_rule<svdquant> rotate 128>
// expected-error @+1 {{expects a scale rule in fprop_w by which elements are divided by their scale, with masks = true, but got #blockscale.scale_rule<svdquant>}}
func.func private @f() attributes {a = #blockscale.recipe<quest, fprop_w = #r>}

// -----

#r = #blockscale.site<#blockscale.format<uint4> by #blockscale.scale_rule<minmax> rotate 128>
// expected-error @+1 {{expects a format without zero points in fprop_w with masks = true, but got #blockscale.format<uint4>}}
func.func private @f() attributes {a = #blockscale.recipe<quest, fprop_w = #r>}

// -----

// expected-error @+1 {{expects one value of held, but got two}}
func.func private @f() attributes {a = #blockscale.recipe<ue5m3, held = 4, held = 8>}

// -----

#x = #blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level>>
#y = #blockscale.site<plain>
// expected-error @+1 {{expects one value of fprop_x, but got two}}
func.func private @f() attributes {a = #blockscale.recipe<fprop_x = #x, fprop_w = #x, fprop_x = #y>}

// -----

#x = #blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<two_level>>
// expected-error @+1 {{expects backward before dgrad_w, which it would replace}}
func.func private @f() attributes {a = #blockscale.recipe<te_nvfp4, dgrad_w = #x, backward = plain>}
