// RUN: blockscale-opt %s -split-input-file -blockscale-nvidia-lower-launches -verify-diagnostics | FileCheck %s

// The launcher stores its arguments and passes their addresses; a value by copy
// is its own address.
// CHECK:       llvm.mlir.global internal constant @k.launch.name("k\00")
// CHECK-LABEL: llvm.func internal @k.launch(
// CHECK-SAME:    %[[X:.+]]: i64, %[[Y:.+]]: i64, %[[Z:.+]]: i64, %[[N:.+]]: i64, %[[MAP:.+]]: !llvm.ptr
// CHECK:         %[[ADDRESSES:.+]] = llvm.alloca
// CHECK:         %[[SLOT:.+]] = llvm.alloca
// CHECK:         llvm.store %[[N]], %[[SLOT]]
// CHECK:         llvm.store %[[SLOT]], %{{.+}} : !llvm.ptr, !llvm.ptr
// CHECK:         llvm.store %[[MAP]], %{{.+}} : !llvm.ptr, !llvm.ptr
// CHECK:         llvm.call @blockscaleGpuLaunch(%{{.+}}, %[[X]], %[[Y]], %[[Z]], %{{.+}}, %{{.+}}, %{{.+}}, %[[OVERLAPS:.+]], %[[ADDRESSES]], %{{.+}})
llvm.func @k.launch(i64, i64, i64, i64, !llvm.ptr {blockscale.by_value})
    attributes {blockscale.launch = {kernel = "k", block = 128 : i32, cluster = 1 : i32, shared = 0 : i32}}

// -----

// As many blocks as the device runs at a time, if there is work for so many.
// CHECK-LABEL: llvm.func internal @k.launch(
// CHECK-SAME:    %[[X:.+]]: i64, %[[Y:.+]]: i64, %[[Z:.+]]: i64
// CHECK:         %[[RESIDENT:.+]] = llvm.call @blockscaleGpuResidentBlocks(%[[NAME:.+]], %{{.+}}, %{{.+}})
// CHECK:         %[[BLOCKS:.+]] = llvm.intr.umin(%[[X]], %[[RESIDENT]])
// CHECK:         llvm.call @blockscaleGpuLaunch(%[[NAME]], %[[BLOCKS]], %[[Y]], %[[Z]],
llvm.func @k.launch(i64, i64, i64)
    attributes {blockscale.launch = {kernel = "k", block = 128 : i32, cluster = 1 : i32, shared = 0 : i32, persistent}}

// -----

// Blocks may start before the kernel before has ended.
// CHECK-LABEL: llvm.func internal @k.launch(
// CHECK:         %[[YES:.+]] = llvm.mlir.constant(1 : i32)
// CHECK-NEXT:    %[[COUNT:.+]] = llvm.mlir.constant(0 : i64)
// CHECK-NEXT:    llvm.call @blockscaleGpuLaunch({{.+}}, %[[YES]], %{{.+}}, %[[COUNT]])
llvm.func @k.launch(i64, i64, i64)
    attributes {blockscale.launch = {kernel = "k", block = 128 : i32, cluster = 2 : i32, shared = 0 : i32, overlaps}}

// -----

// expected-error@+1 {{expects a declaration with the grid's three extents as first arguments and kernel, block, cluster and shared in blockscale.launch}}
llvm.func @k.launch(i64, i64, i64) attributes {blockscale.launch = {kernel = "k"}}
