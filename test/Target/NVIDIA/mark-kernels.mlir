// RUN: blockscale-opt %s -pass-pipeline='builtin.module(gpu.module(blockscale-nvidia-mark-kernels))' | FileCheck %s

// CHECK:      llvm.func @k(%{{.+}}: i64, %{{.+}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant})
// CHECK-SAME:   nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK-SAME:   nvvm.kernel
// CHECK-SAME:   nvvm.minctasm = 3 : i32
// CHECK-SAME:   nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK:      llvm.func @helper()
// CHECK-NOT:    nvvm.kernel
gpu.module @blockscale_kernels {
  llvm.func @k(%n: i64, %map: !llvm.ptr {blockscale.by_value})
      attributes {blockscale.launch = {block = 256 : i32, cluster = 2 : i32, resident = 3 : i32, shared = 0 : i32}} {
    llvm.return
  }
  llvm.func @helper() {
    llvm.return
  }
}
