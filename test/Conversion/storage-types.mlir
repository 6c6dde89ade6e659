// RUN: blockscale-opt %s --blockscale-lower-to-cpu --split-input-file | FileCheck %s

// 4-bit elements lie two in a byte, the even index in the low nibble; each row
// starts a new byte.
// CHECK-LABEL: func.func @constants() -> (tensor<2x3xi8>, tensor<2xi8>, tensor<2xi8>, tensor<i8>)
// CHECK-DAG: dense<{{\[\[}}66, 101, 7], [-54, -19, 15]]> : tensor<2x3xi8>
// CHECK-DAG: dense<[-31, 7]> : tensor<2xi8>
// A splat stays one: 1.5 is the code 3.
// CHECK-DAG: dense<51> : tensor<2xi8>
// CHECK-DAG: dense<7> : tensor<i8>
func.func @constants() -> (tensor<2x5xf4E2M1FN>, tensor<3xi4>, tensor<4xf4E2M1FN>, tensor<f4E2M1FN>) {
  %a = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 6.0], [-1.0, -2.0, -3.0, -4.0, -6.0]]> : tensor<2x5xf4E2M1FN>
  %b = arith.constant dense<[1, -2, 7]> : tensor<3xi4>
  %c = arith.constant dense<1.5> : tensor<4xf4E2M1FN>
  %d = arith.constant dense<6.0> : tensor<f4E2M1FN>
  return %a, %b, %c, %d : tensor<2x5xf4E2M1FN>, tensor<3xi4>, tensor<4xf4E2M1FN>, tensor<f4E2M1FN>
}

// Wider elements take a byte each, the code in its low bits.
// CHECK-LABEL: func.func @bytes() -> (tensor<3xi8>, tensor<2xi8>, tensor<2xi8>, tensor<1xi8>)
// CHECK-DAG: dense<[31, 8, 63]> : tensor<3xi8>
// CHECK-DAG: dense<[126, -72]> : tensor<2xi8>
// CHECK-DAG: dense<[127, 0]> : tensor<2xi8>
// CHECK-DAG: dense<31> : tensor<1xi8>
func.func @bytes() -> (tensor<3xf6E2M3FN>, tensor<2xf8E4M3FN>, tensor<2xf8E8M0FNU>, tensor<1xi5>) {
  %a = arith.constant dense<[7.5, 1.0, -7.5]> : tensor<3xf6E2M3FN>
  %b = arith.constant dense<[448.0, -1.0]> : tensor<2xf8E4M3FN>
  %c = arith.constant dense<[1.0, 5.877472e-39]> : tensor<2xf8E8M0FNU>
  %d = arith.constant dense<-1> : tensor<1xi5>
  return %a, %b, %c, %d : tensor<3xf6E2M3FN>, tensor<2xf8E4M3FN>, tensor<2xf8E8M0FNU>, tensor<1xi5>
}

// What memory holds as it is does not change.
// CHECK-LABEL: func.func @same(%{{.*}}: tensor<?x4xbf16>, %{{.*}}: tensor<4xi1>, %{{.*}}: tensor<4xi16>, %{{.*}}: tensor<4xi8>)
func.func @same(%a: tensor<?x4xbf16>, %b: tensor<4xi1>, %c: tensor<4xi16>, %d: tensor<4xi8>) {
  return
}

// -----

// Scales in tiles are a row of bytes per batch.
// CHECK-LABEL: func.func @tiles(%{{.*}}: tensor<3072xi8>, %{{.*}}: tensor<3x1024xi8>, %{{.*}}: tensor<?x?xi8>)
func.func @tiles(%a: tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4>,
                 %b: tensor<3x128x8xf8E8M0FNU, #blockscale.tiled_128x4>,
                 %c: tensor<?x?x8xi8, #blockscale.tiled_128x4>) {
  return
}

// -----

// The innermost extent counts elements, two in a byte.
// CHECK-LABEL: func.func @dims(
// CHECK-SAME: %[[X:.*]]: tensor<?x?xi8>, %[[Y:.*]]: tensor<?x3xi8>
// CHECK: %[[BYTES:.*]] = tensor.dim %[[X]]
// CHECK: %[[ELEMENTS:.*]] = arith.muli %[[BYTES]], %{{.*}}
// CHECK: arith.select %{{.*}}, %[[ELEMENTS]], %[[BYTES]]
// CHECK: %[[DIM:.*]] = tensor.dim %[[Y]]
// CHECK: %[[FIVE:.*]] = arith.constant 5 : index
// CHECK: arith.select %{{.*}}, %[[FIVE]], %[[DIM]]
func.func @dims(%x: tensor<?x?xf4E2M1FN>, %y: tensor<?x5xi4>, %i: index) -> (index, index) {
  %a = tensor.dim %x, %i : tensor<?x?xf4E2M1FN>
  %b = tensor.dim %y, %i : tensor<?x5xi4>
  return %a, %b : index, index
}

// -----

// Structure passes storage on: loops, branches, calls.
// CHECK-LABEL: func.func @swaps(
// CHECK: scf.for {{.*}} -> (tensor<4x16xi8>, tensor<4x16xi8>)
func.func @swaps(%x: tensor<4x32xf4E2M1FN>, %y: tensor<4x32xf4E2M1FN>, %n: index) -> tensor<4x32xf4E2M1FN> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4x32xf4E2M1FN>, tensor<4x32xf4E2M1FN>) {
    scf.yield %b, %a : tensor<4x32xf4E2M1FN>, tensor<4x32xf4E2M1FN>
  }
  return %r#0 : tensor<4x32xf4E2M1FN>
}

// CHECK-LABEL: func.func @calls(
// CHECK: scf.if {{.*}} -> (tensor<4x16xi8>)
// CHECK: call @swaps({{.*}}) : (tensor<4x16xi8>, tensor<4x16xi8>, index) -> tensor<4x16xi8>
func.func @calls(%x: tensor<4x32xf4E2M1FN>, %n: index, %c: i1) -> tensor<4x32xf4E2M1FN> {
  %r = scf.if %c -> (tensor<4x32xf4E2M1FN>) {
    %s = func.call @swaps(%x, %x, %n) : (tensor<4x32xf4E2M1FN>, tensor<4x32xf4E2M1FN>, index) -> tensor<4x32xf4E2M1FN>
    scf.yield %s : tensor<4x32xf4E2M1FN>
  } else {
    scf.yield %x : tensor<4x32xf4E2M1FN>
  }
  return %r : tensor<4x32xf4E2M1FN>
}

// CHECK-LABEL: func.func @branches(
// CHECK: cf.cond_br %{{.*}}, ^bb1(%{{.*}} : tensor<2xi8>), ^bb2
// CHECK: ^bb1(%{{.*}}: tensor<2xi8>):
func.func @branches(%x: tensor<4xf4E2M1FN>, %y: tensor<4xf4E2M1FN>, %c: i1) -> tensor<4xf4E2M1FN> {
  cf.cond_br %c, ^a(%x : tensor<4xf4E2M1FN>), ^b
^a(%z: tensor<4xf4E2M1FN>):
  return %z : tensor<4xf4E2M1FN>
^b:
  cf.br ^a(%y : tensor<4xf4E2M1FN>)
}

// -----

// Moving elements is moving bytes.
// CHECK-LABEL: func.func @moves(
// CHECK-SAME: %[[X:.*]]: tensor<8x16xi8>, %[[Y:.*]]: tensor<2x16xi8>, %[[C:.*]]: i1
// CHECK: tensor.extract_slice %[[X]][2, 0] [2, 16] [1, 1] : tensor<8x16xi8> to tensor<2x16xi8>
// CHECK: tensor.extract_slice %[[X]][0, 4] [8, 8] [1, 1] : tensor<8x16xi8> to tensor<8x8xi8>
// CHECK: tensor.expand_shape %[[X]] {{\[\[}}0, 1], [2]] output_shape [2, 4, 16] : tensor<8x16xi8> into tensor<2x4x16xi8>
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1, 2]] : tensor<2x4x16xi8> into tensor<128xi8>
// CHECK: tensor.concat dim(0) %{{.*}} : (tensor<8x16xi8>, tensor<2x16xi8>) -> tensor<10x16xi8>
// CHECK: tensor.insert_slice %[[Y]] into %[[X]][2, 0] [2, 16] [1, 1] : tensor<2x16xi8> into tensor<8x16xi8>
// CHECK: arith.select %[[C]], %[[X]], %{{.*}} : tensor<8x16xi8>
// CHECK: tensor.empty() : tensor<8x16xi8>
// CHECK: tensor.cast %[[X]] : tensor<8x16xi8> to tensor<?x16xi8>
func.func @moves(%x: tensor<8x32xf4E2M1FN>, %y: tensor<2x32xf4E2M1FN>, %c: i1)
    -> (tensor<8x16xf4E2M1FN>, tensor<256xf4E2M1FN>, tensor<10x32xf4E2M1FN>, tensor<8x32xf4E2M1FN>,
        tensor<8x32xf4E2M1FN>, tensor<?x32xf4E2M1FN>, tensor<8x32xi4>) {
  %rows = tensor.extract_slice %x[2, 0] [2, 32] [1, 1] : tensor<8x32xf4E2M1FN> to tensor<2x32xf4E2M1FN>
  %cols = tensor.extract_slice %x[0, 8] [8, 16] [1, 1] : tensor<8x32xf4E2M1FN> to tensor<8x16xf4E2M1FN>
  %more = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 4, 32] : tensor<8x32xf4E2M1FN> into tensor<2x4x32xf4E2M1FN>
  %flat = tensor.collapse_shape %more [[0, 1, 2]] : tensor<2x4x32xf4E2M1FN> into tensor<256xf4E2M1FN>
  %long = tensor.concat dim(0) %x, %rows : (tensor<8x32xf4E2M1FN>, tensor<2x32xf4E2M1FN>) -> tensor<10x32xf4E2M1FN>
  %back = tensor.insert_slice %y into %x[2, 0] [2, 32] [1, 1] : tensor<2x32xf4E2M1FN> into tensor<8x32xf4E2M1FN>
  %one = arith.select %c, %x, %back : tensor<8x32xf4E2M1FN>
  %new = tensor.empty() : tensor<8x32xf4E2M1FN>
  %any = tensor.cast %x : tensor<8x32xf4E2M1FN> to tensor<?x32xf4E2M1FN>
  %ints = tensor.bitcast %x : tensor<8x32xf4E2M1FN> to tensor<8x32xi4>
  return %cols, %flat, %long, %one, %new, %any, %ints
      : tensor<8x16xf4E2M1FN>, tensor<256xf4E2M1FN>, tensor<10x32xf4E2M1FN>, tensor<8x32xf4E2M1FN>,
        tensor<8x32xf4E2M1FN>, tensor<?x32xf4E2M1FN>, tensor<8x32xi4>
}

// With a byte per element nothing needs to be even.
// CHECK-LABEL: func.func @moves_bytes(
// CHECK: tensor.extract_slice %{{.*}}[1, 3] [2, 5] [1, 2] : tensor<8x32xi8> to tensor<2x5xi8>
// CHECK: linalg.transpose ins(%{{.*}} : tensor<8x32xi8>) outs(%{{.*}} : tensor<32x8xi8>) permutation = [1, 0]
func.func @moves_bytes(%x: tensor<8x32xf8E4M3FN>) -> (tensor<2x5xf8E4M3FN>, tensor<32x8xf8E4M3FN>) {
  %cut = tensor.extract_slice %x[1, 3] [2, 5] [1, 2] : tensor<8x32xf8E4M3FN> to tensor<2x5xf8E4M3FN>
  %new = tensor.empty() : tensor<32x8xf8E4M3FN>
  %t = linalg.transpose ins(%x : tensor<8x32xf8E4M3FN>) outs(%new : tensor<32x8xf8E4M3FN>) permutation = [1, 0]
  return %cut, %t : tensor<2x5xf8E4M3FN>, tensor<32x8xf8E4M3FN>
}
