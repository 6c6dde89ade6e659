// RUN: blockscale-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expects a rotation by a power of two from 2 to 256, but got 24}}
func.func private @f() attributes {a = #blockscale.site<plain rotate 24>}

// -----

// expected-error @+1 {{expects 4 signs, but got 2}}
func.func private @f() attributes {a = #blockscale.site<plain rotate 4 signs [1, -1]>}

// -----

// expected-error @+1 {{expects every sign to be 1 or -1, but got 3}}
func.func private @f() attributes {a = #blockscale.site<plain rotate 2 signs [1, 3]>}

// -----

// expected-error @+1 {{expects no rounding of a plain operand, but got stochastic}}
func.func private @f() attributes {a = #blockscale.site<plain round stochastic>}

// -----

// expected-error @+1 {{expects scale = e8m0 with order = floor, but got scale = ue4m3}}
func.func private @f() attributes {a = #blockscale.site<#blockscale.format<nvfp4> by #blockscale.scale_rule<floor>>}

// -----

// expected-error @+1 {{expects a rounding of elements, but got up, which rounds scales}}
func.func private @f() attributes {a = #blockscale.site<#blockscale.format<mxfp4> by #blockscale.scale_rule<floor> round up>}

// -----

// expected-error @+1 {{expects a rotation with signs, but got none; add `rotate n` with n from 2 to 256 or drop the signs}}
func.func private @f() attributes {a = #blockscale.site<plain rotate 0 signs seeded>}

// -----

// expected-error @+1 {{expects a rotation with signs, but got none}}
func.func private @f() attributes {a = #blockscale.site<plain rotate 0 signs []>}
