// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @contraction(%a: tensor<4x32xf32>, %b: tensor<7x64xf32>) {
  // expected-error@+1 {{expects sides of equal innermost extent, but got 32 in lhs and 64 in rhs}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x32xf32>) rhs(%b : tensor<7x64xf32>) : tensor<4x7xf32>
  return
}

// -----

func.func @dynamic(%a: tensor<4x?xf32>, %b: tensor<7x64xf32>) {
  // expected-error@+1 {{expects a static innermost extent of its lhs, but got 'tensor<4x?xf32>'; use tensor.cast to say what it is}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x?xf32>) rhs(%b : tensor<7x64xf32>) : tensor<4x7xf32>
  return
}

// -----

func.func @empty(%a: tensor<4x0xf32>, %b: tensor<7x0xf32>) {
  // expected-error@+1 {{expects an innermost extent of its lhs from 1 to 1099511627776, but got 0}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x0xf32>) rhs(%b : tensor<7x0xf32>) : tensor<4x7xf32>
  return
}

// -----

func.func @rank(%a: tensor<64xf32>, %b: tensor<7x64xf32>) {
  // expected-error@+1 {{expects lhs of rank 2 or more, but got 'tensor<64xf32>'}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<64xf32>) rhs(%b : tensor<7x64xf32>) : tensor<7xf32>
  return
}

// -----

func.func @batch(%a: tensor<2x4x64xf32>, %b: tensor<3x7x64xf32>) {
  // expected-error@+1 {{expects rhs of rank 2 or with the batch of lhs, 'tensor<2x4x64xf32>', but got 'tensor<3x7x64xf32>'}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<2x4x64xf32>) rhs(%b : tensor<3x7x64xf32>) : tensor<2x4x7xf32>
  return
}

// -----

func.func @rhs_batch(%a: tensor<4x64xf32>, %b: tensor<3x7x64xf32>) {
  // expected-error@+1 {{expects rhs of rank 2 or with the batch of lhs, 'tensor<4x64xf32>', but got 'tensor<3x7x64xf32>'}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<3x7x64xf32>) : tensor<3x4x7xf32>
  return
}

// -----

func.func @result(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>) {
  // expected-error@+1 {{expects a result of type 'tensor<4x7xbf16>', but got 'tensor<7x4xbf16>'}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) : tensor<7x4xbf16>
  return
}

// -----

func.func @result_element(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>) {
  // expected-error@+1 {{result #0 must be tensor of f32, bf16 or f16}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) : tensor<4x7xi32>
  return
}

// -----

func.func @acc(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>, %c: tensor<7xf32>) {
  // expected-error@+1 {{expects acc of the shape of the result, 'tensor<4x7xf32>', but got 'tensor<7xf32>'}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) acc(%c : tensor<7xf32>) : tensor<4x7xf32>
  return
}

// -----

func.func @plain_element(%a: tensor<4x64xi8>, %b: tensor<7x64xf32>) {
  // expected-error@+1 {{expects a plain lhs of f32, bf16 or f16, but got 'i8'; name the format of its elements}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xi8>) rhs(%b : tensor<7x64xf32>) : tensor<4x7xf32>
  return
}

// -----

func.func @element(%a: tensor<4x64xi8>, %as: tensor<4x2xf8E8M0FNU>, %b: tensor<7x64xf32>) {
  // expected-error@+1 {{expects lhs elements of 'f4E2M1FN', the element type of #blockscale.format<mxfp4>, but got 'i8'}}
  %0 = blockscale.scaled_matmul lhs(%a, %as : tensor<4x64xi8>, tensor<4x2xf8E8M0FNU> as #blockscale.format<mxfp4>)
      rhs(%b : tensor<7x64xf32>) : tensor<4x7xf32>
  return
}

// -----

func.func @scales(%a: tensor<4x64xf32>, %b: tensor<7x64xf4E2M1FN>, %bs: tensor<7x4xf8E8M0FNU>) {
  // expected-error@+1 {{expects scales of rhs of type 'tensor<7x2xf8E8M0FNU>', but got 'tensor<7x4xf8E8M0FNU>'}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>)
      rhs(%b, %bs : tensor<7x64xf4E2M1FN>, tensor<7x4xf8E8M0FNU> as #blockscale.format<mxfp4>) : tensor<4x7xf32>
  return
}

// -----

func.func @zeros(%a: tensor<4x64xf32>, %b: tensor<7x64xi4>, %bs: tensor<7x1xf16>, %bz: tensor<7x2xi8>) {
  // expected-error@+1 {{expects zero points of rhs of type 'tensor<7x1xi8>', but got 'tensor<7x2xi8>'}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>)
      rhs(%b, %bs, %bz : tensor<7x64xi4>, tensor<7x1xf16>, tensor<7x2xi8> as #blockscale.format<uint4>) : tensor<4x7xf32>
  return
}

// -----

func.func @ragged(%a: tensor<4x40xf4E2M1FN>, %as: tensor<4x2xf8E8M0FNU>, %b: tensor<7x40xf32>) {
  // expected-error@+1 {{expects an innermost extent of its lhs divisible by 32, the block of #blockscale.format<mxfp4>, but got 40; padded elements have an extent of 64}}
  %0 = blockscale.scaled_matmul lhs(%a, %as : tensor<4x40xf4E2M1FN>, tensor<4x2xf8E8M0FNU> as #blockscale.format<mxfp4>)
      rhs(%b : tensor<7x40xf32>) : tensor<4x7xf32>
  return
}

// -----

func.func @too_few(%a: tensor<4x64xf4E2M1FN>, %as: tensor<4x4xf8E4M3FN>, %b: tensor<7x64xf32>) {
  %0 = blockscale.scaled_matmul
      // expected-error@+1 {{expects 3 operands of #blockscale.format<nvfp4> (elements, scales, tensor scale), but got 2}}
      lhs(%a, %as : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN> as #blockscale.format<nvfp4>)
      rhs(%b : tensor<7x64xf32>) : tensor<4x7xf32>
  return
}

// -----

func.func @no_format(%a: tensor<4x64xf4E2M1FN>, %as: tensor<4x4xf8E4M3FN>, %b: tensor<7x64xf32>) {
  %0 = blockscale.scaled_matmul
      // expected-error@+1 {{expects 1 operand of a plain side, but got 2; add `as` and the format of the elements}}
      lhs(%a, %as : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>)
      rhs(%b : tensor<7x64xf32>) : tensor<4x7xf32>
  return
}

// -----

func.func @types(%a: tensor<4x64xf4E2M1FN>, %as: tensor<4x4xf8E4M3FN>, %b: tensor<7x64xf32>) {
  %0 = blockscale.scaled_matmul
      // expected-error@+1 {{expects as many types as operands, but got 2 operands and 1 types}}
      lhs(%a, %as : tensor<4x64xf4E2M1FN>)
      rhs(%b : tensor<7x64xf32>) : tensor<4x7xf32>
  return
}

// -----

func.func @generic_no_scales(%a: tensor<4x64xf4E2M1FN>, %b: tensor<7x64xf32>) {
  // expected-error@+1 {{expects scales of lhs, because it has the format #blockscale.format<mxfp4>, but got none}}
  %0 = "blockscale.scaled_matmul"(%a, %b) <{lhs_format = #blockscale.format<mxfp4>,
      operandSegmentSizes = array<i32: 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0>}> ({}) : (tensor<4x64xf4E2M1FN>, tensor<7x64xf32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @generic_plain(%a: tensor<4x64xf32>, %as: tensor<4x2xf32>, %b: tensor<7x64xf32>) {
  // expected-error@+1 {{expects no scales of a plain lhs, but got some; name the format of its elements}}
  %0 = "blockscale.scaled_matmul"(%a, %as, %b) <{
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0>}> ({}) : (tensor<4x64xf32>, tensor<4x2xf32>, tensor<7x64xf32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @generic_operands(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>, %c: tensor<7xf32>) {
  // expected-error@+1 {{expects no epilogue operands without an epilogue, but got 1}}
  %0 = "blockscale.scaled_matmul"(%a, %b, %c) <{
      operandSegmentSizes = array<i32: 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1>}> ({}) : (tensor<4x64xf32>, tensor<7x64xf32>, tensor<7xf32>) -> tensor<4x7xf32>
  return
}
