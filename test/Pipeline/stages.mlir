// RUN: blockscale-opt %s --blockscale-stage-prepare -o %t.1
// RUN: FileCheck %s --check-prefix=PREPARE --input-file=%t.1
// RUN: blockscale-opt %t.1 --blockscale-stage-recipe --blockscale-stage-rotate --blockscale-stage-round --blockscale-stage-fold --blockscale-choose-layouts -o %t.middle
// RUN: blockscale-opt %t.middle --blockscale-stage-cpu-kernels -o %t.2
// RUN: FileCheck %s --check-prefix=KERNELS --input-file=%t.2
// RUN: blockscale-opt %t.2 --blockscale-stage-bufferize -o %t.3
// RUN: FileCheck %s --check-prefix=BUFFERIZE --input-file=%t.3
// RUN: blockscale-opt %t.3 --blockscale-stage-cpu-lower -o %t.4
// RUN: FileCheck %s --check-prefix=LOWER --input-file=%t.4

// The stages one by one are the pipeline, and are what the compiler runs.
// RUN: blockscale-opt %s --blockscale-to-cpu -o %t.all
// RUN: diff %t.4 %t.all
// RUN: blockscale-compile %s --cpu=x86-64-v4 --emit=mlir | blockscale-opt -o %t.compiled
// RUN: diff %t.4 %t.compiled

// PREPARE: blockscale.entry
// PREPARE: blockscale.quantize
// PREPARE-NOT: memref

// KERNELS-NOT: blockscale.quantize
// KERNELS: func.func @quantize(%{{.*}}: tensor<?x64xf32>{{.*}}, %{{.*}}: tensor<?x2xi8>{{.*}}) -> tensor<?x32xi8>
// KERNELS: call @blockscale_quantize.parallel
// KERNELS: bufferization.to_tensor

// BUFFERIZE-NOT: tensor.
// BUFFERIZE-NOT: bufferization
// BUFFERIZE: func.func @quantize(%{{.*}}: memref<?x64xf32>{{.*}}, %{{.*}}: memref<?x2xi8>{{.*}}) -> memref<?x32xi8>
// BUFFERIZE: memref.alloc
// BUFFERIZE: return

// LOWER: llvm.mlir.global external constant @blockscale_manifest
// LOWER: llvm.func @blockscale_entry_quantize
// LOWER: llvm.func internal @quantize
// LOWER: llvm.call @blockscaleParallelFor
// LOWER-NOT: {{(memref|scf|arith|func|vector|cf)\.[a-z]}}
func.func @quantize(%x: tensor<?x64xf32>, %s: tensor<?x2xf8E8M0FNU>) -> tensor<?x64xf4E2M1FN> {
  %q = blockscale.quantize %x : tensor<?x64xf32> scales(%s : tensor<?x2xf8E8M0FNU>)
      to #blockscale.format<mxfp4> -> tensor<?x64xf4E2M1FN>
  return %q : tensor<?x64xf4E2M1FN>
}
