// RUN: blockscale-opt %s --blockscale-record-entries --split-input-file | FileCheck %s

// The logical types of a public function are written down, and its arguments
// are the caller's: nobody writes to them.
// CHECK: func.func @entry(
// CHECK-SAME: %{{.*}}: tensor<?x64xf4E2M1FN> {bufferization.writable = false}
// CHECK-SAME: %{{.*}}: tensor<8x8xf8E4M3FN, #blockscale.tiled_128x4> {bufferization.writable = false}
// CHECK-SAME: attributes {blockscale.entry = {
// CHECK-SAME: inputs = [tensor<?x64xf4E2M1FN>, tensor<8x8xf8E4M3FN, #blockscale.tiled_128x4>]
// CHECK-SAME: results = [tensor<?x64xf4E2M1FN>]
func.func @entry(%q: tensor<?x64xf4E2M1FN>,
                 %s: tensor<8x8xf8E4M3FN, #blockscale.tiled_128x4>)
    -> tensor<?x64xf4E2M1FN> {
  return %q : tensor<?x64xf4E2M1FN>
}

// A private function is nobody's entry: it may take what it likes.
// CHECK: func.func private @helper(%{{.*}}: f32, %{{.*}}: memref<4xf32>)
// CHECK-NOT: blockscale.entry
func.func private @helper(%x: f32, %m: memref<4xf32>) -> f32 {
  return %x : f32
}

// Nobody calls it, so that it needs no body.
// CHECK: func.func private @unused()
// CHECK-NOT: blockscale.entry
func.func private @unused()

// -----

// Every element type that has a place in memory.
// CHECK: func.func @types(
// CHECK-SAME: blockscale.entry
func.func @types(%0: tensor<f64>, %1: tensor<f32>, %2: tensor<f16>, %3: tensor<bf16>,
                 %4: tensor<f8E5M2>, %5: tensor<f6E3M2FN>, %6: tensor<f4E2M1FN>,
                 %7: tensor<i64>, %8: tensor<i32>, %9: tensor<i16>, %10: tensor<i8>,
                 %11: tensor<i6>, %12: tensor<i4>, %13: tensor<i1>) {
  return
}
