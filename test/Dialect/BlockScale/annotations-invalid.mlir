// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @misspelt(%a: tensor<64x256xbf16>) -> tensor<64x64xf32> {
  // expected-error@below {{expects blockscale.tile or blockscale.operands on an op, but got "blockscale.tiles"}}
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x256xbf16>) rhs(%a : tensor<64x256xbf16>)
      {blockscale.tiles = array<i64: 16, 64, 64, 3>} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// expected-error@below {{expects blockscale.tile or blockscale.operands on an op, but got "blockscale.fast"}}
func.func @function() attributes {blockscale.fast} {
  return
}

// -----

func.func @elsewhere(%x: f32) -> f32 {
  // expected-error@below {{expects blockscale.tile on blockscale.scaled_matmul, whose kernel it chooses}}
  %y = arith.addf %x, %x {blockscale.tile = array<i64: 16, 64, 64, 3>} : f32
  return %y : f32
}

// -----

func.func @words(%a: tensor<64x256xbf16>) -> tensor<64x64xf32> {
  // expected-error@below {{expects blockscale.tile = array<i64: m, n, k, stages>, but got array<i64: 16, 64>}}
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x256xbf16>) rhs(%a : tensor<64x256xbf16>)
      {blockscale.tile = array<i64: 16, 64>} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

func.func @huge(%a: tensor<64x256xbf16>) -> tensor<64x64xf32> {
  // expected-error@below {{expects blockscale.tile of sizes from 1 to 65536, but got array<i64: 16, 64, 64, 4611686018427387904>}}
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x256xbf16>) rhs(%a : tensor<64x256xbf16>)
      {blockscale.tile = array<i64: 16, 64, 64, 4611686018427387904>} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

func.func @number(%a: tensor<64x256xbf16>) -> tensor<64x64xf32> {
  // expected-error@below {{expects blockscale.operands = a string such as "e4m3", but got 3 : i64}}
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x256xbf16>) rhs(%a : tensor<64x256xbf16>)
      {blockscale.tile = array<i64: 16, 64, 64, 3>, blockscale.operands = 3} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

func.func @alone(%a: tensor<64x256xbf16>) -> tensor<64x64xf32> {
  // expected-error@below {{expects blockscale.tile beside blockscale.operands, whose tile it is}}
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x256xbf16>) rhs(%a : tensor<64x256xbf16>)
      {blockscale.operands = "e4m3"} : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// expected-error@below {{expects blockscale.seed or blockscale.invariant on an argument, but got "blockscale.sead"}}
func.func @argument(%seed: tensor<i64> {blockscale.sead}) {
  return
}

// -----

// expected-error@below {{expects blockscale.invariant without a value, but got true}}
func.func private @invariant(tensor<4xf32> {blockscale.invariant = true})

// -----

// expected-error@below {{expects no attribute blockscale.* on a result, but got "blockscale.seed"}}
func.func private @result() -> (tensor<i64> {blockscale.seed})
