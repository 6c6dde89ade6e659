// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @size(%x: tensor<8x96xf32>) {
  // expected-error@+1 {{expects a size that is a power of two from 2 to 256, but got 48; rotate by a matrix of another size}}
  %0 = blockscale.rotate %x {size = 48} : tensor<8x96xf32>
  return
}

// -----

func.func @one(%x: tensor<8x96xf32>) {
  // expected-error@+1 {{expects a size that is a power of two from 2 to 256, but got 1}}
  %0 = blockscale.rotate %x {size = 1} : tensor<8x96xf32>
  return
}

// -----

func.func @large(%x: tensor<8x512xf32>) {
  // expected-error@+1 {{expects a size that is a power of two from 2 to 256, but got 512}}
  %0 = blockscale.rotate %x {size = 512} : tensor<8x512xf32>
  return
}

// -----

func.func @extent(%x: tensor<8x40xf32>) {
  // expected-error@+1 {{expects an extent of axis 1 that is a multiple of the size 16, but got 40}}
  %0 = blockscale.rotate %x {size = 16} : tensor<8x40xf32>
  return
}

// -----

func.func @axis(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{expects an axis from 0 to 1, but got 2}}
  %0 = blockscale.rotate %x {size = 16, axis = 2} : tensor<8x64xf32>
  return
}

// -----

func.func @negative_axis(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{expects an axis from 0 to 1, but got -1}}
  %0 = blockscale.rotate %x {size = 16, axis = -1} : tensor<8x64xf32>
  return
}

// -----

func.func @count(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{expects 4 signs, but got 3}}
  %0 = blockscale.rotate %x {size = 4, signs = array<i8: 1, 1, 1>} : tensor<8x64xf32>
  return
}

// -----

func.func @sign(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{expects every sign to be 1 or -1, but got 0}}
  %0 = blockscale.rotate %x {size = 4, signs = array<i8: 1, 0, 1, 1>} : tensor<8x64xf32>
  return
}

// -----

func.func @operand_count(%x: tensor<8x64xf32>, %s: tensor<8xi8>) {
  // expected-error@+1 {{expects signs of type tensor<4xi8>, but got 'tensor<8xi8>'}}
  %0 = blockscale.rotate %x signs(%s : tensor<8xi8>) {size = 4} : tensor<8x64xf32>
  return
}

// -----

func.func @both(%x: tensor<8x64xf32>, %s: tensor<2xi8>) {
  // expected-error@+1 {{expects signs as an attribute or as an operand, but got both}}
  %0 = blockscale.rotate %x signs(%s : tensor<2xi8>) {size = 2, signs = array<i8: 1, 1>} : tensor<8x64xf32>
  return
}

// -----

func.func @result(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{expects a result of the type of its source, 'tensor<8x64xf32>', but got 'tensor<8x32xf32>'}}
  %0 = "blockscale.rotate"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0>, size = 2 : i64}> : (tensor<8x64xf32>) -> tensor<8x32xf32>
  return
}

// -----

func.func @no_size(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{requires attribute 'size'}}
  %0 = blockscale.rotate %x : tensor<8x64xf32>
  return
}

// -----

func.func @no_size(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{attribute 'size' failed to satisfy constraint}}
  %0 = blockscale.rotate %x {size = 2 : i32} : tensor<8x64xf32>
  return
}

// -----

func.func @matrix_type(%x: tensor<8x96xf32>, %m: tensor<24x12xf32>) {
  // expected-error@+1 {{expects a matrix of type 'tensor<24x24xf32>', but got 'tensor<24x12xf32>'}}
  %0 = blockscale.rotate %x matrix(%m : tensor<24x12xf32>) {size = 24} : tensor<8x96xf32>
  return
}

// -----

func.func @matrix_size(%x: tensor<8x300xf32>, %m: tensor<300x300xf32>) {
  // expected-error@+1 {{expects a size from 2 to 256, but got 300}}
  %0 = blockscale.rotate %x matrix(%m : tensor<300x300xf32>) {size = 300} : tensor<8x300xf32>
  return
}

// -----

func.func @matrix_extent(%x: tensor<8x100xf32>, %m: tensor<24x24xf32>) {
  // expected-error@+1 {{expects an extent of axis 1 that is a multiple of the size 24, but got 100}}
  %0 = blockscale.rotate %x matrix(%m : tensor<24x24xf32>) {size = 24} : tensor<8x100xf32>
  return
}
