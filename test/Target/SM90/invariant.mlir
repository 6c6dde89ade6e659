// RUN: blockscale-opt %s -split-input-file -blockscale-lower-to-nvidia=chip=sm_90a 2>/dev/null | FileCheck %s

// A kernel for few rows may start while the one before still runs. Weights
// that the caller promises not to be writing come at once, all else waits.

// CHECK-LABEL: func.func @blockscale_decode(
// CHECK-SAME: overlaps
// CHECK: griddepcontrol.launch_dependents
// CHECK: griddepcontrol.wait
// CHECK: mma.sync
// CHECK: cp.async.bulk.tensor.3d
// CHECK: griddepcontrol.wait
// CHECK: cp.async.bulk.tensor.3d
// CHECK-NOT: griddepcontrol.wait
// CHECK: nvvm.cp.async.shared.global
// CHECK-LABEL: func.func @promised(
func.func @promised(%x: tensor<4x4096xbf16>, %w: tensor<4096x4096xf4E2M1FN> {blockscale.invariant},
                    %s: tensor<4096x128xf8E8M0FNU> {blockscale.invariant}) -> tensor<4x4096xbf16> {
  %y = blockscale.scaled_matmul lhs(%x : tensor<4x4096xbf16>)
      rhs(%w, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU> as #blockscale.format<mxfp4>)
      : tensor<4x4096xbf16>
  return %y : tensor<4x4096xbf16>
}

// -----

// The scales are not promised.
// CHECK-LABEL: func.func @blockscale_decode(
// CHECK: mma.sync
// CHECK-NOT: cp.async.bulk.tensor.3d
// CHECK: griddepcontrol.wait
// CHECK: cp.async.bulk.tensor.3d
// CHECK: griddepcontrol.wait
// CHECK: nvvm.cp.async.shared.global
// CHECK-LABEL: func.func @half_promised(
func.func @half_promised(%x: tensor<4x4096xbf16>, %w: tensor<4096x4096xf4E2M1FN> {blockscale.invariant},
                         %s: tensor<4096x128xf8E8M0FNU>) -> tensor<4x4096xbf16> {
  %y = blockscale.scaled_matmul lhs(%x : tensor<4x4096xbf16>)
      rhs(%w, %s : tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU> as #blockscale.format<mxfp4>)
      : tensor<4x4096xbf16>
  return %y : tensor<4x4096xbf16>
}
