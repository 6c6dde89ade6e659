// RUN: blockscale-opt %s --blockscale-cpu-expand-copies | FileCheck %s

// Rows that lie apart are copied by a loop, which needs no runtime.
// CHECK-LABEL: func.func @strided(
// CHECK-SAME: %[[FROM:.*]]: memref<4x8xf32>, %[[TO:.*]]: memref<4x8xf32, strided<[32, 1], offset: ?>>
// CHECK: linalg.generic {{.*}} ins(%[[FROM]] : {{.*}}) outs(%[[TO]] :
// CHECK-NOT: memref.copy
func.func @strided(%from: memref<4x8xf32>, %to: memref<4x8xf32, strided<[32, 1], offset: ?>>) {
  memref.copy %from, %to : memref<4x8xf32> to memref<4x8xf32, strided<[32, 1], offset: ?>>
  return
}

// Memory without gaps is one memcpy.
// CHECK-LABEL: func.func @whole(
// CHECK: memref.copy
func.func @whole(%from: memref<4x8xf32>, %to: memref<4x8xf32>) {
  memref.copy %from, %to : memref<4x8xf32> to memref<4x8xf32>
  return
}
