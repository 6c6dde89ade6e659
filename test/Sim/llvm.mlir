// A kernel by way of LLVM's back end: sqrt(x) summed over the block.
// REQUIRES: blockscale-sim, numpy
// RUN: rm -rf %t && mkdir %t
// RUN: mlir-translate --mlir-to-llvmir %s | llc -mtriple=nvptx64 -mcpu=sm_90a -mattr=+ptx80 -o %t/k.ptx
// RUN: %python -c "import numpy; numpy.save('%t/x.npy', (numpy.arange(64) ** 2).astype('f4'))"
// RUN: blockscale-sim %t/k.ptx --block 64 in:%t/x.npy out:%t/y.npy:f32:64
// RUN: %python -c "import numpy; print(numpy.load('%t/y.npy')[:3])" | FileCheck %s
// CHECK: [496. 496. 496.]

llvm.mlir.global internal @partial() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<2 x f32>

llvm.func @sum(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %at = llvm.getelementptr %x[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = llvm.load %at : !llvm.ptr<1> -> f32
  %r = llvm.intr.sqrt(%v) : (f32) -> f32
  %all = llvm.mlir.constant(-1 : i32) : i32
  %clamp = llvm.mlir.constant(31 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %c8 = llvm.mlir.constant(8 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c2 = llvm.mlir.constant(2 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %s0 = nvvm.shfl.sync bfly %all, %r, %c16, %clamp : f32 -> f32
  %r0 = llvm.fadd %r, %s0 : f32
  %s1 = nvvm.shfl.sync bfly %all, %r0, %c8, %clamp : f32 -> f32
  %r1 = llvm.fadd %r0, %s1 : f32
  %s2 = nvvm.shfl.sync bfly %all, %r1, %c4, %clamp : f32 -> f32
  %r2 = llvm.fadd %r1, %s2 : f32
  %s3 = nvvm.shfl.sync bfly %all, %r2, %c2, %clamp : f32 -> f32
  %r3 = llvm.fadd %r2, %s3 : f32
  %s4 = nvvm.shfl.sync bfly %all, %r3, %c1, %clamp : f32 -> f32
  %r4 = llvm.fadd %r3, %s4 : f32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %isFirst = llvm.icmp "eq" %tid, %zero : i32
  llvm.cond_br %isFirst, ^first, ^meet
^first:
  %p = llvm.mlir.addressof @partial : !llvm.ptr<3>
  llvm.store %r4, %p : f32, !llvm.ptr<3>
  llvm.br ^meet
^meet:
  nvvm.barrier0
  %q = llvm.mlir.addressof @partial : !llvm.ptr<3>
  %total = llvm.load %q : !llvm.ptr<3> -> f32
  %to = llvm.getelementptr %y[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %total, %to : f32, !llvm.ptr<1>
  llvm.return
}
