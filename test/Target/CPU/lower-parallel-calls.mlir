// RUN: blockscale-opt %s --blockscale-cpu-lower-parallel-calls | FileCheck %s

// CHECK: llvm.func internal @kernel(
llvm.func internal @kernel(%begin: i64, %end: i64, %buffer: !llvm.ptr, %n: i64) {
  llvm.return
}

// A launcher stores what the kernel needs in a frame on its own stack and hands
// that to the runtime, which calls the trampoline with ranges of items.
// CHECK: llvm.func internal @kernel.parallel(%[[COUNT:.*]]: i64, %[[GRAIN:.*]]: i64, %[[BUFFER:.*]]: !llvm.ptr, %[[N:.*]]: i64) {
// CHECK: %[[FRAME:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(ptr, i64)>
// CHECK: %[[SLOT0:.*]] = llvm.getelementptr %[[FRAME]][0, 0]
// CHECK: llvm.store %[[BUFFER]], %[[SLOT0]]
// CHECK: %[[SLOT1:.*]] = llvm.getelementptr %[[FRAME]][0, 1]
// CHECK: llvm.store %[[N]], %[[SLOT1]]
// CHECK: %[[BODY:.*]] = llvm.mlir.addressof @kernel.trampoline
// CHECK: llvm.call @blockscaleParallelFor(%[[COUNT]], %[[GRAIN]], %[[BODY]], %[[FRAME]])
llvm.func @kernel.parallel(i64, i64, !llvm.ptr, i64)
    attributes {blockscale.parallel = @kernel}

// CHECK: llvm.func internal @kernel.trampoline(%[[FRAME:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64) {
// CHECK: %[[BUFFER:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[N:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
// CHECK: llvm.call @kernel(%[[BEGIN]], %[[END]], %[[BUFFER]], %[[N]])

// CHECK: llvm.func @caller
// CHECK: llvm.call @kernel.parallel
llvm.func @caller(%buffer: !llvm.ptr, %n: i64) {
  %grain = llvm.mlir.constant(16 : i64) : i64
  llvm.call @kernel.parallel(%n, %grain, %buffer, %n) : (i64, i64, !llvm.ptr, i64) -> ()
  llvm.return
}

// Another declaration is left alone.
// CHECK: llvm.func @other(i64)
llvm.func @other(i64)

// CHECK: llvm.func @blockscaleParallelFor(i64, i64, !llvm.ptr, !llvm.ptr)
