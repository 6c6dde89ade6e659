// RUN: blockscale-opt %s --blockscale-lower-to-cpu --split-input-file --verify-diagnostics

func.func @half_a_byte(%x: tensor<8x32xf4E2M1FN>) -> tensor<8x5xf4E2M1FN> {
  // expected-error @below {{expects a slice of whole bytes, two elements each: constant even offset and size and stride 1 in the innermost dimension, but got offset 3, size 5 and stride 1}}
  %r = tensor.extract_slice %x[0, 3] [8, 5] [1, 1] : tensor<8x32xf4E2M1FN> to tensor<8x5xf4E2M1FN>
  return %r : tensor<8x5xf4E2M1FN>
}

// -----

func.func @unknown_offset(%x: tensor<8x32xf4E2M1FN>, %i: index) -> tensor<8x4xf4E2M1FN> {
  // expected-error @below {{but got offset ?, size 4 and stride 1}}
  %r = tensor.extract_slice %x[0, %i] [8, 4] [1, 1] : tensor<8x32xf4E2M1FN> to tensor<8x4xf4E2M1FN>
  return %r : tensor<8x4xf4E2M1FN>
}

// -----

func.func @odd_insert(%x: tensor<8x32xi4>, %y: tensor<8x1xi4>) -> tensor<8x32xi4> {
  // expected-error @below {{but got offset 2, size 1 and stride 1}}
  %r = tensor.insert_slice %y into %x[0, 2] [8, 1] [1, 1] : tensor<8x1xi4> into tensor<8x32xi4>
  return %r : tensor<8x32xi4>
}

// -----

func.func @odd_rows(%x: tensor<8x5xf4E2M1FN>) -> tensor<40xf4E2M1FN> {
  // expected-error @below {{expects to keep the innermost dimension, or even innermost extents, of elements that lie two to a byte, but got tensor<8x5xf4E2M1FN> and tensor<40xf4E2M1FN>}}
  %r = tensor.collapse_shape %x [[0, 1]] : tensor<8x5xf4E2M1FN> into tensor<40xf4E2M1FN>
  return %r : tensor<40xf4E2M1FN>
}

// -----

func.func @side_by_side(%x: tensor<8x5xf4E2M1FN>) -> tensor<8x10xf4E2M1FN> {
  // expected-error @below {{expects even extents to put elements side by side that lie two to a byte, but got tensor<8x5xf4E2M1FN>}}
  %r = tensor.concat dim(1) %x, %x : (tensor<8x5xf4E2M1FN>, tensor<8x5xf4E2M1FN>) -> tensor<8x10xf4E2M1FN>
  return %r : tensor<8x10xf4E2M1FN>
}

// -----

func.func @transposed(%x: tensor<8x32xf4E2M1FN>) -> tensor<32x8xf4E2M1FN> {
  %new = tensor.empty() : tensor<32x8xf4E2M1FN>
  // expected-error @below {{expects to keep the innermost dimension of elements that lie two to a byte; transpose real values and quantize them}}
  %t = linalg.transpose ins(%x : tensor<8x32xf4E2M1FN>) outs(%new : tensor<32x8xf4E2M1FN>) permutation = [1, 0]
  return %t : tensor<32x8xf4E2M1FN>
}

// -----

func.func @by_lanes(%x: tensor<8xf4E2M1FN>, %c: tensor<8xi1>) -> tensor<8xf4E2M1FN> {
  // expected-error @below {{expects one condition for elements that lie two to a byte, but got tensor<8xi1>}}
  %r = arith.select %c, %x, %x : tensor<8xi1>, tensor<8xf4E2M1FN>
  return %r : tensor<8xf4E2M1FN>
}

// -----

func.func @unknown_width(%n: index) -> tensor<8x?xf4E2M1FN> {
  // expected-error @below {{expects a constant innermost extent of elements that lie two to a byte, but got tensor<8x?xf4E2M1FN>}}
  %r = tensor.empty(%n) : tensor<8x?xf4E2M1FN>
  return %r : tensor<8x?xf4E2M1FN>
}

// -----

func.func @odd_cast(%x: tensor<8x?xf4E2M1FN>) -> tensor<8x5xf4E2M1FN> {
  // expected-error @below {{expects an even innermost extent of elements that lie two to a byte, but got tensor<8x?xf4E2M1FN> and tensor<8x5xf4E2M1FN>}}
  %r = tensor.cast %x : tensor<8x?xf4E2M1FN> to tensor<8x5xf4E2M1FN>
  return %r : tensor<8x5xf4E2M1FN>
}

// -----

func.func @in_tiles(%s: tensor<200x8xf8E4M3FN, #blockscale.tiled_128x4>) -> tensor<8x8xf8E4M3FN, #blockscale.tiled_128x4> {
  // expected-error @below {{expects scales in a linear layout, but got tensor<200x8xf8E4M3FN, #blockscale.tiled_128x4>; use blockscale.relayout first}}
  %r = tensor.extract_slice %s[0, 0] [8, 8] [1, 1] : tensor<200x8xf8E4M3FN, #blockscale.tiled_128x4> to tensor<8x8xf8E4M3FN, #blockscale.tiled_128x4>
  return %r : tensor<8x8xf8E4M3FN, #blockscale.tiled_128x4>
}

// -----

// What would look at the numbers needs to know what they mean.
func.func @arithmetic(%x: tensor<8x32xf4E2M1FN>) -> tensor<8x32xf32> {
  // expected-error @below {{computes on 'tensor<8x32xf4E2M1FN>', whose elements are codes in bytes here: expects blockscale.dequantize before it and blockscale.quantize after}}
  %r = arith.extf %x : tensor<8x32xf4E2M1FN> to tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}

// -----

func.func @element(%x: tensor<8x32xf8E4M3FN>, %i: index) -> f8E4M3FN {
  // expected-error @below {{computes on 'tensor<8x32xf8E4M3FN>'}}
  %r = tensor.extract %x[%i, %i] : tensor<8x32xf8E4M3FN>
  return %r : f8E4M3FN
}

// -----

func.func @sums(%x: tensor<8xi3>) -> tensor<8xi3> {
  // expected-error @below {{computes on 'tensor<8xi3>'}}
  %r = arith.addi %x, %x : tensor<8xi3>
  return %r : tensor<8xi3>
}
