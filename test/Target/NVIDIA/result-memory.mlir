// RUN: blockscale-opt %s -blockscale-nvidia-result-memory | FileCheck %s
// RUN: blockscale-opt %s -blockscale-nvidia-result-memory -finalize-memref-to-llvm=use-generic-functions=1 -convert-arith-to-llvm -convert-index-to-llvm -convert-func-to-llvm -reconcile-unrealized-casts -canonicalize | FileCheck %s --check-prefix=LLVM

// The memory of each result is asked for as soon as its size is known, before
// anything is launched. ?x1024 of bf16 has 2 * 1024 * ? bytes.

// CHECK-LABEL: func.func @entry
// CHECK:         %[[N:.+]] = memref.dim %arg0
// CHECK-NOT:     call @k
// CHECK:         %[[ROWS:.+]] = arith.index_cast %[[N]] : index to i64
// CHECK:         %[[ELEMENTS:.+]] = arith.muli %{{.+}}, %[[ROWS]] : i64
// CHECK:         %[[BYTES:.+]] = arith.muli %[[ELEMENTS]], %c2_i64
// CHECK:         %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK:         %[[P:.+]] = llvm.call @blockscaleGpuResult(%[[ZERO]], %[[BYTES]]) : (i32, i64) -> !llvm.ptr
// CHECK:         %[[Y:.+]] = builtin.unrealized_conversion_cast %{{.+}} : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)> to memref<?x1024xbf16>
// CHECK:         memref.alloc() : memref<f32>
// CHECK:         call @k(%[[Y]])
// CHECK:         return %[[Y]]

// LLVM-LABEL: llvm.func @entry
// LLVM:         %[[P:.+]] = llvm.call @blockscaleGpuResult(
// LLVM-NOT:     unrealized
// LLVM:         llvm.call @k(%[[P]], %[[P]], %{{.+}}) :
// LLVM:         llvm.return
func.func @entry(%a: memref<?x64xbf16>) -> memref<?x1024xbf16> attributes {blockscale.entry = {}} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?x64xbf16>
  %scratch = memref.alloc() : memref<f32>
  call @s(%scratch) : (memref<f32>) -> ()
  %y = memref.alloc(%n) {alignment = 64 : i64} : memref<?x1024xbf16>
  call @k(%y) : (memref<?x1024xbf16>) -> ()
  return %y : memref<?x1024xbf16>
}

// An alias of the whole counts, a result of another function does not.

// CHECK-LABEL: func.func @several
// CHECK:         %[[ONE:.+]] = arith.constant 1 : i32
// CHECK:         call @blockscaleGpuResult(%[[ONE]],
// CHECK-NOT:     call @blockscaleGpuResult
// CHECK:         call @private
// CHECK:         memref.cast
// CHECK:         return
func.func @several(%a: memref<4xf32>) -> (memref<4xf32>, memref<?xf32>, memref<4xf32>) attributes {blockscale.entry = {}} {
  %p = call @private() : () -> memref<4xf32>
  %y = memref.alloc() : memref<2x4xf32>
  %flat = memref.collapse_shape %y [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  %cast = memref.cast %flat : memref<8xf32> to memref<?xf32>
  return %p, %cast, %a : memref<4xf32>, memref<?xf32>, memref<4xf32>
}

// Memory that is returned twice has no place of its own; a part of it is not
// the result's.

// CHECK-LABEL: func.func @shared
// CHECK-NOT:     call @blockscaleGpuResult
// CHECK:         return
func.func @shared() -> (memref<4xf32>, memref<4xf32>, memref<2xf32>) attributes {blockscale.entry = {}} {
  %y = memref.alloc() : memref<4xf32>
  %large = memref.alloc() : memref<4xf32>
  %part = memref.reinterpret_cast %large to offset: [0], sizes: [2], strides: [1] : memref<4xf32> to memref<2xf32>
  return %y, %y, %part : memref<4xf32>, memref<4xf32>, memref<2xf32>
}

// An entry that is called by another would take that one's memory.

// CHECK-LABEL: func.func @outer
// CHECK-NOT:     call @blockscaleGpuResult
// CHECK-LABEL: func.func @inner
// CHECK-NOT:     call @blockscaleGpuResult
// CHECK-LABEL: func.func private @private
// CHECK-NOT:     call @blockscaleGpuResult
func.func @outer() -> memref<4xf32> attributes {blockscale.entry = {}} {
  %y = call @inner() : () -> memref<4xf32>
  return %y : memref<4xf32>
}
func.func @inner() -> memref<4xf32> attributes {blockscale.entry = {}} {
  %y = memref.alloc() : memref<4xf32>
  return %y : memref<4xf32>
}
func.func private @private() -> memref<4xf32> {
  %y = memref.alloc() : memref<4xf32>
  return %y : memref<4xf32>
}

func.func private @s(memref<f32>)
func.func private @k(memref<?x1024xbf16>)
