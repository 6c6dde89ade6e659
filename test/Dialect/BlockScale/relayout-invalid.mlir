// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @shape(%s: tensor<200x10xf8E4M3FN>) {
  // expected-error@+1 {{expects a result of shape and element type of its source, 'tensor<200x10xf8E4M3FN>', but got 'tensor<256x12xf8E4M3FN, #blockscale.tiled_128x4>'}}
  %0 = blockscale.relayout %s : tensor<200x10xf8E4M3FN> -> tensor<256x12xf8E4M3FN, #blockscale.tiled_128x4>
  return
}

// -----

func.func @element(%s: tensor<200x10xf8E4M3FN>) {
  // expected-error@+1 {{expects a result of shape and element type of its source}}
  %0 = blockscale.relayout %s : tensor<200x10xf8E4M3FN> -> tensor<200x10xi8, #blockscale.tiled_128x4>
  return
}

// -----

func.func @source(%s: tensor<200x10xi8, "diagonal">) {
  // expected-error@+1 {{expects a source in row-major layout or #blockscale.tiled_128x4, but got "diagonal"}}
  %0 = blockscale.relayout %s : tensor<200x10xi8, "diagonal"> -> tensor<200x10xi8>
  return
}

// -----

func.func @result(%s: tensor<200x10xi8>) {
  // expected-error@+1 {{expects a result in row-major layout or #blockscale.tiled_128x4, but got "diagonal"}}
  %0 = blockscale.relayout %s : tensor<200x10xi8> -> tensor<200x10xi8, "diagonal">
  return
}

// -----

func.func @wide(%s: tensor<200x10xf32>) {
  // expected-error@+1 {{#blockscale.tiled_128x4 expects 8-bit scales, but got 'f32'}}
  %0 = blockscale.relayout %s : tensor<200x10xf32> -> tensor<200x10xf32, #blockscale.tiled_128x4>
  return
}
