// RUN: blockscale-opt %s --blockscale-emit-entries | FileCheck %s
// RUN: blockscale-opt %s --blockscale-emit-entries | FileCheck %s --check-prefix=MANIFEST

// The manifest names each entry and says what its numbers are and what memory
// holds (docs/Runtime.md).
// MANIFEST: llvm.mlir.global external constant @blockscale_manifest(
// MANIFEST-SAME: {\22entries\22:[
// MANIFEST-SAME: {\22inputs\22:[{
// MANIFEST-SAME: \22dtype\22:\22f4E2M1FN\22
// MANIFEST-SAME: \22layout\22:\22linear\22
// MANIFEST-SAME: \22shape\22:[-1,64]
// MANIFEST-SAME: \22storage\22:{\22dtype\22:\22u8\22,\22shape\22:[-1,32]}
// MANIFEST-SAME: \22type\22:\22tensor<?x64xf4E2M1FN>\22
// MANIFEST-SAME: \22layout\22:\22tiled_128x4\22
// MANIFEST-SAME: \22shape\22:[200,10]
// MANIFEST-SAME: \22storage\22:{\22dtype\22:\22u8\22,\22shape\22:[3072]}
// MANIFEST-SAME: \22name\22:\22entry\22
// MANIFEST-SAME: \22results\22:[{\22dtype\22:\22f32\22
// MANIFEST-SAME: \22storage\22:{\22dtype\22:\22f32\22,\22shape\22:[]}
// MANIFEST-SAME: \22target\22:\22cpu\22
// MANIFEST-SAME: \00")

// An entry loads the words of each descriptor (two pointers, then 1 + 2 * rank
// integers), calls, and stores the results' descriptors where it is told.
// CHECK: llvm.func @blockscale_entry_entry(%[[ARGS:.*]]: !llvm.ptr) {
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[ARGS]][1]
// CHECK: %[[FIRST:.*]] = llvm.load %[[SLOT]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[WORD:.*]] = llvm.getelementptr %[[FIRST]][0]
// CHECK: %[[P0:.*]] = llvm.load %[[WORD]] : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.getelementptr %[[FIRST]][6]
// CHECK: llvm.getelementptr %[[ARGS]][2]
// CHECK: %[[RESULT:.*]] = llvm.call @entry(%[[P0]],
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[ARGS]][0]
// CHECK: %[[ROOM:.*]] = llvm.load %[[SLOT]]
// CHECK: llvm.store %[[RESULT]], %[[ROOM]]
// CHECK: llvm.return

// Only entries are visible from outside.
// CHECK: llvm.func internal @entry(
// CHECK-NOT: blockscale.entry
llvm.func @entry(%a0: !llvm.ptr, %a1: !llvm.ptr, %a2: i64, %a3: i64, %a4: i64,
                 %a5: i64, %a6: i64, %b0: !llvm.ptr, %b1: !llvm.ptr, %b2: i64,
                 %b3: i64, %b4: i64) -> !llvm.struct<(ptr, ptr, i64)>
    attributes {blockscale.entry = {
      inputs = [tensor<?x64xf4E2M1FN>,
                tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4>],
      results = [tensor<f32>]}} {
  %r = llvm.mlir.undef : !llvm.struct<(ptr, ptr, i64)>
  llvm.return %r : !llvm.struct<(ptr, ptr, i64)>
}

// CHECK: llvm.func internal @helper
llvm.func @helper() {
  llvm.return
}

// What is declared stays a declaration.
// CHECK: llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @malloc(i64) -> !llvm.ptr
