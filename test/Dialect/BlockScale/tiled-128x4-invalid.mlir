// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{#blockscale.tiled_128x4 expects 8-bit scales, but got 'f32'}}
func.func private @wide(tensor<200x10xf32, #blockscale.tiled_128x4>)

// -----

// expected-error@+1 {{#blockscale.tiled_128x4 expects 8-bit scales, but got 'index'}}
func.func private @index(tensor<200x10xindex, #blockscale.tiled_128x4>)

// -----

// expected-error@+1 {{expected non-function type}}
func.func private @no_element(tensor<, #blockscale.tiled_128x4>)

// -----

// expected-error@+1 {{#blockscale.tiled_128x4 expects a tensor of rank 2 or more, but got rank 1}}
func.func private @flat(tensor<200xf8E4M3FN, #blockscale.tiled_128x4>)
