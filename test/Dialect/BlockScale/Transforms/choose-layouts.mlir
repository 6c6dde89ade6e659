// RUN: blockscale-opt %s --split-input-file --blockscale-choose-layouts=scales=tiled_128x4 | FileCheck %s
// RUN: blockscale-opt %s --split-input-file --blockscale-choose-layouts=scales=linear | FileCheck %s --check-prefix=LINEAR
// RUN: blockscale-opt %s --split-input-file --blockscale-choose-layouts | FileCheck %s --check-prefix=ANY

// The scale op makes what the product reads; a conversion on the way is gone,
// and quantize reads the new layout.
// CHECK-LABEL: func @made_as_read
//       CHECK: %[[S:.*]] = blockscale.scale {{.*}} -> tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4>
//       CHECK: blockscale.quantize {{.*}} scales(%[[S]] : tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4>)
//   CHECK-NOT: blockscale.relayout
//       CHECK: blockscale.scaled_matmul lhs(%{{.*}}, %[[S]] :
// LINEAR-LABEL: func @made_as_read
//       LINEAR: blockscale.scale {{.*}} -> tensor<8x2xf8E8M0FNU>
//   LINEAR-NOT: blockscale.relayout
//       LINEAR: return
// ANY-LABEL: func @made_as_read
//   ANY-NOT: blockscale.relayout
//       ANY: return
#mxfp4 = #blockscale.format<mxfp4>
func.func @made_as_read(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>) -> tensor<8x16xf32> {
  %s = blockscale.scale %x : tensor<8x64xf32> to #mxfp4 by #blockscale.scale_rule<floor> -> tensor<8x2xf8E8M0FNU>
  %q = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4 -> tensor<8x64xf4E2M1FN>
  %t = blockscale.relayout %s : tensor<8x2xf8E8M0FNU> -> tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4>
  %y = blockscale.scaled_matmul lhs(%q, %t : tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4> as #mxfp4)
      rhs(%w : tensor<16x64xf32>) : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// Scales from elsewhere are converted once, for all products; those in the
// right layout are not touched.
// CHECK-LABEL: func @argument
//  CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<8x2xf8E8M0FNU>, %[[T:[a-z0-9]+]]: tensor<16x2xf8E8M0FNU, #blockscale.tiled_128x4>
//       CHECK: %[[R:.*]] = blockscale.relayout %[[S]]
//   CHECK-NOT: blockscale.relayout
//       CHECK: blockscale.scaled_matmul lhs(%{{.*}}, %[[R]] : {{.*}} rhs(%{{.*}}, %[[T]] :
//       CHECK: blockscale.scaled_matmul lhs(%{{.*}}, %[[R]] :
// ANY-LABEL: func @argument
//   ANY-NOT: blockscale.relayout
//       ANY: return
#mxfp4 = #blockscale.format<mxfp4>
func.func @argument(%s: tensor<8x2xf8E8M0FNU>, %t: tensor<16x2xf8E8M0FNU, #blockscale.tiled_128x4>,
                    %q: tensor<8x64xf4E2M1FN>, %w: tensor<16x64xf4E2M1FN>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %y = blockscale.scaled_matmul lhs(%q, %s : tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU> as #mxfp4)
      rhs(%w, %t : tensor<16x64xf4E2M1FN>, tensor<16x2xf8E8M0FNU, #blockscale.tiled_128x4> as #mxfp4) : tensor<8x16xf32>
  %z = blockscale.scaled_matmul lhs(%q, %s : tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU> as #mxfp4)
      rhs(%w, %t : tensor<16x64xf4E2M1FN>, tensor<16x2xf8E8M0FNU, #blockscale.tiled_128x4> as #mxfp4) : tensor<8x16xf32>
  return %y, %z : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// Who needs the scales as they were gets them back.
// CHECK-LABEL: func @returned
//       CHECK: %[[S:.*]] = blockscale.scale {{.*}} -> tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4>
//       CHECK: %[[L:.*]] = blockscale.relayout %[[S]] {{.*}} -> tensor<8x2xf8E8M0FNU>
//       CHECK: return %{{.*}}, %[[L]]
#mxfp4 = #blockscale.format<mxfp4>
func.func @returned(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>) -> (tensor<8x16xf32>, tensor<8x2xf8E8M0FNU>) {
  %s = blockscale.scale %x : tensor<8x64xf32> to #mxfp4 by #blockscale.scale_rule<floor> -> tensor<8x2xf8E8M0FNU>
  %q = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4 -> tensor<8x64xf4E2M1FN>
  %y = blockscale.scaled_matmul lhs(%q, %s : tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU> as #mxfp4)
      rhs(%w : tensor<16x64xf32>) : tensor<8x16xf32>
  return %y, %s : tensor<8x16xf32>, tensor<8x2xf8E8M0FNU>
}

// -----

// Linear scales of unknown rows can be tiled, but not the other way round: they
// are made as the return needs them, and the product gets a conversion.
// CHECK-LABEL: func @returned_unknown_rows
//       CHECK: %[[S:.*]] = blockscale.scale {{.*}} -> tensor<?x2xf8E8M0FNU>
//       CHECK: %[[T:.*]] = blockscale.relayout %[[S]] : tensor<?x2xf8E8M0FNU> -> tensor<?x2xf8E8M0FNU, #blockscale.tiled_128x4>
//   CHECK-NOT: blockscale.relayout
//       CHECK: blockscale.scaled_matmul lhs(%{{.*}}, %[[T]] :
//       CHECK: return %{{.*}}, %[[S]]
#mxfp4 = #blockscale.format<mxfp4>
func.func @returned_unknown_rows(%x: tensor<?x64xf32>, %w: tensor<16x64xf32>) -> (tensor<?x16xf32>, tensor<?x2xf8E8M0FNU>) {
  %s = blockscale.scale %x : tensor<?x64xf32> to #mxfp4 by #blockscale.scale_rule<floor> -> tensor<?x2xf8E8M0FNU>
  %q = blockscale.quantize %x : tensor<?x64xf32> scales(%s : tensor<?x2xf8E8M0FNU>) to #mxfp4 -> tensor<?x64xf4E2M1FN>
  %y = blockscale.scaled_matmul lhs(%q, %s : tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU> as #mxfp4)
      rhs(%w : tensor<16x64xf32>) : tensor<?x16xf32>
  return %y, %s : tensor<?x16xf32>, tensor<?x2xf8E8M0FNU>
}

// -----

// A constant changes its type; scales of 16 bits have no tiles.
// CHECK-LABEL: func @constant
//   CHECK-DAG: arith.constant dense<{{.*}}> : tensor<16x2xf8E8M0FNU, #blockscale.tiled_128x4>
//   CHECK-NOT: blockscale.relayout
//       CHECK: as #blockscale.format<e2m1, block = 32, scale = f16
#mxfp4 = #blockscale.format<mxfp4>
#wide = #blockscale.format<mxfp4, scale = f16>
func.func @constant(%q: tensor<8x64xf4E2M1FN>, %s: tensor<8x2xf16>, %w: tensor<16x64xf4E2M1FN>) -> tensor<8x16xf32> {
  %t = arith.constant dense<2.0> : tensor<16x2xf8E8M0FNU>
  %y = blockscale.scaled_matmul lhs(%q, %s : tensor<8x64xf4E2M1FN>, tensor<8x2xf16> as #wide)
      rhs(%w, %t : tensor<16x64xf4E2M1FN>, tensor<16x2xf8E8M0FNU> as #mxfp4) : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// Tiles do not tell how many rows there are: without that, they stay.
// LINEAR-LABEL: func @unknown_rows
//   LINEAR-NOT: blockscale.relayout
//       LINEAR: return
#mxfp4 = #blockscale.format<mxfp4>
func.func @unknown_rows(%x: tensor<8x64xf32>, %q: tensor<?x64xf4E2M1FN>, %s: tensor<?x2xf8E8M0FNU, #blockscale.tiled_128x4>)
    -> tensor<8x?xf32> {
  %y = blockscale.scaled_matmul lhs(%x : tensor<8x64xf32>)
      rhs(%q, %s : tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU, #blockscale.tiled_128x4> as #mxfp4) : tensor<8x?xf32>
  return %y : tensor<8x?xf32>
}

// -----

// Chains that no product reads are shortened as well.
// CHECK-LABEL: func @chain
//       CHECK: %[[T:.*]] = blockscale.relayout
//   CHECK-NOT: blockscale.relayout
//       CHECK: return %[[T]]
func.func @chain(%s: tensor<8x2xf8E8M0FNU>) -> tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4> {
  %a = blockscale.relayout %s : tensor<8x2xf8E8M0FNU> -> tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4>
  %b = blockscale.relayout %a : tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4> -> tensor<8x2xf8E8M0FNU>
  %c = blockscale.relayout %b : tensor<8x2xf8E8M0FNU> -> tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4>
  return %c : tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4>
}

// -----

// With consumers between, in other blocks too, each layout is made once, from
// what there was first.
// CHECK-LABEL: func @consumers_between
//  CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<8x2xf8E8M0FNU>
//       CHECK: %[[T:.*]] = blockscale.relayout %[[S]] : tensor<8x2xf8E8M0FNU> -> tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4>
//   CHECK-NOT: blockscale.relayout
//       CHECK: blockscale.scaled_matmul lhs(%{{.*}}, %[[T]] :
//       CHECK: scf.if
//       CHECK:   scf.yield %[[T]]
//       CHECK:   scf.yield %[[T]]
//       CHECK: return %{{.*}}, %[[T]], %[[S]], %{{.*}}
// LINEAR-LABEL: func @consumers_between
//  LINEAR-SAME: %[[S:[a-z0-9]+]]: tensor<8x2xf8E8M0FNU>
//       LINEAR: %[[T:.*]] = blockscale.relayout %[[S]]
//   LINEAR-NOT: blockscale.relayout
//       LINEAR: blockscale.scaled_matmul lhs(%{{.*}}, %[[S]] :
#mxfp4 = #blockscale.format<mxfp4>
!tiles = tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4>
func.func @consumers_between(%s: tensor<8x2xf8E8M0FNU>, %q: tensor<8x64xf4E2M1FN>, %w: tensor<16x64xf32>, %c: i1)
    -> (tensor<8x16xf32>, !tiles, tensor<8x2xf8E8M0FNU>, !tiles) {
  %a = blockscale.relayout %s : tensor<8x2xf8E8M0FNU> -> !tiles
  %b = blockscale.relayout %a : !tiles -> tensor<8x2xf8E8M0FNU>
  %d = blockscale.relayout %b : tensor<8x2xf8E8M0FNU> -> !tiles
  %y = blockscale.scaled_matmul lhs(%q, %d : tensor<8x64xf4E2M1FN>, !tiles as #mxfp4) rhs(%w : tensor<16x64xf32>)
      : tensor<8x16xf32>
  %e = scf.if %c -> !tiles {
    %f = blockscale.relayout %s : tensor<8x2xf8E8M0FNU> -> !tiles
    scf.yield %f : !tiles
  } else {
    %g = blockscale.relayout %b : tensor<8x2xf8E8M0FNU> -> !tiles
    scf.yield %g : !tiles
  }
  return %y, %a, %b, %e : tensor<8x16xf32>, !tiles, tensor<8x2xf8E8M0FNU>, !tiles
}

// -----

// Scales that are made as the product reads them are given back once.
// CHECK-LABEL: func @given_back
//       CHECK: %[[S:.*]] = blockscale.scale {{.*}} -> tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4>
//       CHECK: %[[L:.*]] = blockscale.relayout %[[S]] {{.*}} -> tensor<8x2xf8E8M0FNU>
//   CHECK-NOT: blockscale.relayout
//       CHECK: return %{{.*}}, %[[L]], %[[S]], %[[L]]
#mxfp4 = #blockscale.format<mxfp4>
!tiles = tensor<8x2xf8E8M0FNU, #blockscale.tiled_128x4>
func.func @given_back(%x: tensor<8x64xf32>, %w: tensor<16x64xf32>)
    -> (tensor<8x16xf32>, tensor<8x2xf8E8M0FNU>, !tiles, tensor<8x2xf8E8M0FNU>) {
  %s = blockscale.scale %x : tensor<8x64xf32> to #mxfp4 by #blockscale.scale_rule<floor> -> tensor<8x2xf8E8M0FNU>
  %q = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4 -> tensor<8x64xf4E2M1FN>
  %t = blockscale.relayout %s : tensor<8x2xf8E8M0FNU> -> !tiles
  %l = blockscale.relayout %t : !tiles -> tensor<8x2xf8E8M0FNU>
  %y = blockscale.scaled_matmul lhs(%q, %l : tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU> as #mxfp4)
      rhs(%w : tensor<16x64xf32>) : tensor<8x16xf32>
  return %y, %s, %t, %l : tensor<8x16xf32>, tensor<8x2xf8E8M0FNU>, !tiles, tensor<8x2xf8E8M0FNU>
}
