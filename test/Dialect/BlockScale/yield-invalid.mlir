// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @broadcast(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>, %c: tensor<4xf32>) {
  // expected-error@+1 {{expects epilogue operands that broadcast to 'tensor<4x7xf32>', but got 'tensor<4xf32>'}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) epilogue(%c : tensor<4xf32>) {
  ^bb0(%acc: f32, %x: f32):
    blockscale.yield %acc : f32
  } : tensor<4x7xf32>
  return
}

// -----

func.func @broadcast_rank(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>, %c: tensor<1x4x7xf32>) {
  // expected-error@+1 {{expects epilogue operands that broadcast to 'tensor<4x7xf32>', but got 'tensor<1x4x7xf32>'}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) epilogue(%c : tensor<1x4x7xf32>) {
  ^bb0(%acc: f32, %x: f32):
    blockscale.yield %acc : f32
  } : tensor<4x7xf32>
  return
}

// -----

func.func @argument_count(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>, %c: tensor<7xf32>) {
  // expected-error@+1 {{expects an epilogue with 2 arguments (accumulator, then one for each operand), but got 1}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) epilogue(%c : tensor<7xf32>) {
  ^bb0(%acc: f32):
    blockscale.yield %acc : f32
  } : tensor<4x7xf32>
  return
}

// -----

func.func @accumulator_type(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>) {
  // expected-error@+1 {{expects epilogue argument 0 of type 'f32', but got 'f64'}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) epilogue {
  ^bb0(%acc: f64):
    %t = arith.truncf %acc : f64 to f32
    blockscale.yield %t : f32
  } : tensor<4x7xf32>
  return
}

// -----

func.func @argument_type(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>, %c: tensor<7xbf16>) {
  // expected-error@+1 {{expects epilogue argument 1 of type 'bf16', but got 'f32'}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) epilogue(%c : tensor<7xbf16>) {
  ^bb0(%acc: f32, %x: f32):
    blockscale.yield %acc : f32
  } : tensor<4x7xf32>
  return
}

// -----

func.func @yield_type(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>) {
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) epilogue {
  ^bb0(%acc: f32):
    // expected-error@+1 {{expects a value of type 'bf16', the element of the result, but got 'f32'}}
    blockscale.yield %acc : f32
  } : tensor<4x7xbf16>
  return
}

// -----

func.func @terminator(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>) {
  // expected-error@+1 {{expects an epilogue that ends in blockscale.yield, but got ub.unreachable}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) epilogue {
  ^bb0(%acc: f32):
    ub.unreachable
  } : tensor<4x7xf32>
  return
}

// -----

func.func private @log(f32)
func.func @effect(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>) {
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) epilogue {
  ^bb0(%acc: f32):
    // expected-error@+1 {{expects an epilogue free of side effects, but this operation may have some}}
    func.call @log(%acc) : (f32) -> ()
    blockscale.yield %acc : f32
  } : tensor<4x7xf32>
  return
}

// -----

func.func @outside(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>, %c: f32) {
  // expected-note@+1 {{required by region isolation constraints}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) epilogue {
  ^bb0(%acc: f32):
    // expected-error@+1 {{using value defined outside the region}}
    %s = arith.addf %acc, %c : f32
    blockscale.yield %s : f32
  } : tensor<4x7xf32>
  return
}

// -----

func.func @empty(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>) {
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>)
      // expected-error@+1 {{expects an epilogue that yields a value, but got an empty one}}
      epilogue {} : tensor<4x7xf32>
  return
}

// -----

func.func @no_terminator(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>) {
  // expected-error@+1 {{empty block: expect at least a terminator}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) epilogue {
  ^bb0(%acc: f32):
  } : tensor<4x7xf32>
  return
}

// -----

func.func @two_blocks(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>) {
  // expected-error@+1 {{region #0 ('epilogue') failed to verify constraint: region with at most 1 blocks}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) epilogue {
  ^bb0(%acc: f32):
    cf.br ^bb1
  ^bb1:
    blockscale.yield %acc : f32
  } : tensor<4x7xf32>
  return
}

// -----

func.func @operand_types(%a: tensor<4x64xf32>, %b: tensor<7x64xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{expects as many types as operands, but got 2 operands and 1 types}}
  %0 = blockscale.scaled_matmul lhs(%a : tensor<4x64xf32>) rhs(%b : tensor<7x64xf32>) epilogue(%c, %c : tensor<f32>) {
  ^bb0(%acc: f32, %x: f32, %y: f32):
    blockscale.yield %acc : f32
  } : tensor<4x7xf32>
  return
}

// -----

func.func @parent(%x: f32) {
  // expected-error@+1 {{expects parent op 'blockscale.scaled_matmul'}}
  blockscale.yield %x : f32
}
