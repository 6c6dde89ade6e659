// RUN: blockscale-opt %s --split-input-file --verify-diagnostics

func.func @rank(%w: tensor<2x8x64xf32>) -> (tensor<2x8x64xf32>, tensor<64xf32>) {
  // expected-error @+1 {{expects a source of rank 2, but got 'tensor<2x8x64xf32>'}}
  %b, %c = blockscale.balance %w {block = 64, steps = 16} : tensor<2x8x64xf32> -> tensor<2x8x64xf32>, tensor<64xf32>
  return %b, %c : tensor<2x8x64xf32>, tensor<64xf32>
}

// -----

func.func @dynamic(%w: tensor<8x?xf32>) -> (tensor<8x?xf32>, tensor<?xf32>) {
  // expected-error @+1 {{expects a static innermost extent of its source, but got 'tensor<8x?xf32>'; use tensor.cast to say what it is}}
  %b, %c = blockscale.balance %w {block = 64, steps = 16} : tensor<8x?xf32> -> tensor<8x?xf32>, tensor<?xf32>
  return %b, %c : tensor<8x?xf32>, tensor<?xf32>
}

// -----

func.func @block(%w: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<64xf32>) {
  // expected-error @+1 {{expects block from 2 to 65536, but got 1}}
  %b, %c = blockscale.balance %w {block = 1, steps = 16} : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<64xf32>
  return %b, %c : tensor<8x64xf32>, tensor<64xf32>
}

// -----

func.func @steps(%w: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<64xf32>) {
  // expected-error @+1 {{expects steps from 1 to 1024, but got 0}}
  %b, %c = blockscale.balance %w {block = 64, steps = 0} : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<64xf32>
  return %b, %c : tensor<8x64xf32>, tensor<64xf32>
}

// -----

func.func @type(%w: tensor<8x64xbf16>) -> (tensor<8x64xbf16>, tensor<64xf32>) {
  // expected-error @+1 {{expects a balanced weight of type 'tensor<8x64xf32>', but got 'tensor<8x64xbf16>'}}
  %b, %c = blockscale.balance %w {block = 64, steps = 16} : tensor<8x64xbf16> -> tensor<8x64xbf16>, tensor<64xf32>
  return %b, %c : tensor<8x64xbf16>, tensor<64xf32>
}

// -----

func.func @columns(%w: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>) {
  // expected-error @+1 {{expects columns of type 'tensor<64xf32>', but got 'tensor<8xf32>'}}
  %b, %c = blockscale.balance %w {block = 64, steps = 16} : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8xf32>
  return %b, %c : tensor<8x64xf32>, tensor<8xf32>
}
