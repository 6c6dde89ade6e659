// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s

// CHECK-LABEL: @rotate
func.func @rotate(%x: tensor<?x4096xbf16>, %s: tensor<16xi8>) {
  // CHECK: blockscale.rotate %{{.*}} {size = 16} : tensor<?x4096xbf16>
  %0 = blockscale.rotate %x {size = 16} : tensor<?x4096xbf16>
  // CHECK: {size = 256, axis = 1} : tensor<?x4096xbf16>
  %1 = blockscale.rotate %x {axis = 1, size = 256} : tensor<?x4096xbf16>
  // A dynamic extent is a promise to be a multiple of the size.
  // CHECK: {size = 2, axis = 0, signs = array<i8: 1, -1>, inverse} : tensor<?x4096xbf16>
  %2 = blockscale.rotate %x {size = 2, axis = 0, inverse, signs = array<i8: 1, -1>} : tensor<?x4096xbf16>
  // CHECK: blockscale.rotate %{{.*}} signs(%{{.*}} : tensor<16xi8>) {size = 16, inverse} : tensor<?x4096xbf16>
  %3 = blockscale.rotate %x signs(%s : tensor<16xi8>) {size = 16, inverse} : tensor<?x4096xbf16>
  // CHECK: {size = 16, flag, note = "x", "odd key" = 3 : i64} : tensor<?x4096xbf16>
  %4 = blockscale.rotate %x {size = 16, note = "x", "odd key" = 3, flag} : tensor<?x4096xbf16>
  return
}

// CHECK-LABEL: @matrix
func.func @matrix(%x: tensor<?x96xf32>, %m: tensor<24x24xf32>, %s: tensor<24xi8>) {
  // CHECK: blockscale.rotate %{{.*}} matrix(%{{.*}} : tensor<24x24xf32>) {size = 24} : tensor<?x96xf32>
  %0 = blockscale.rotate %x matrix(%m : tensor<24x24xf32>) {size = 24} : tensor<?x96xf32>
  // CHECK: blockscale.rotate %{{.*}} signs(%{{.*}} : tensor<24xi8>) matrix(%{{.*}} : tensor<24x24xf32>) {size = 24, inverse}
  %1 = blockscale.rotate %x signs(%s : tensor<24xi8>) matrix(%m : tensor<24x24xf32>) {size = 24, inverse} : tensor<?x96xf32>
  return
}
