// RUN: blockscale-opt %s -blockscale-nvidia-check-host --split-input-file --verify-diagnostics
// RUN: not blockscale-compile %S/Inputs/returns-its-argument.mlir --target=sm_120a --emit=ptx -o %t.ptx 2>&1 | FileCheck %s

// RUN: not blockscale-compile %S/Inputs/loop-carries-a-tensor.mlir --target=sm_90a --emit=ptx -o %t.ptx 2>&1 | FileCheck %s --check-prefix=LOOP

// CHECK: returns-its-argument.mlir:1:14: error: expects results of blockscale ops, each returned once, on a GPU target
// LOOP: loop-carries-a-tensor.mlir:5:8: error: {{.*}}a tensor that a loop carries from one iteration to the next
// LOOP-NOT: error:

func.func @passes_on(%a: memref<?x8xf32>) -> memref<?x8xf32> {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?x8xf32>
  %b = memref.alloc(%n) : memref<?x8xf32>
  %address = memref.extract_aligned_pointer_as_index %b : memref<?x8xf32> -> index
  return %b : memref<?x8xf32>
}

// -----

func.func @copies(%a: memref<8xf32>) -> memref<8xf32> {
  %b = memref.alloc() : memref<8xf32>
  // expected-error @below {{expects results of blockscale ops, each returned once, on a GPU target, but this copies a tensor}}
  memref.copy %a, %b : memref<8xf32> to memref<8xf32>
  return %b : memref<8xf32>
}

// -----

memref.global "private" constant @half : memref<f32> = dense<0.5>
func.func @constant() -> memref<f32> {
  // expected-error @below {{expects no constant tensor on a GPU target}}
  %c = memref.get_global @half : memref<f32>
  return %c : memref<f32>
}

// -----

func.func @computes(%a: memref<4x8xf32>, %b: memref<8x4xf32>) {
  // expected-error @below {{expects blockscale ops alone to compute with tensors on a GPU target, but got 'linalg.transpose'; do it in an epilogue or outside of the function}}
  linalg.transpose ins(%a : memref<4x8xf32>) outs(%b : memref<8x4xf32>) permutation = [1, 0]
  return
}

// -----

func.func @reads(%a: memref<f32>) {
  // expected-error @below {{but got 'memref.load'}}
  %x = memref.load %a[] : memref<f32>
  return
}
