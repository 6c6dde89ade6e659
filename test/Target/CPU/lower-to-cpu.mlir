// RUN: blockscale-opt %s --blockscale-lower-to-cpu --canonicalize --cse --split-input-file | FileCheck %s
// RUN: blockscale-opt %s --blockscale-lower-to-cpu=vector-bits=512 --split-input-file | FileCheck %s --check-prefix=WIDE
// RUN: blockscale-opt %s --blockscale-lower-to-cpu=vector-bits=256 --split-input-file | FileCheck %s --check-prefix=NARROW
// RUN: blockscale-opt %s --blockscale-lower-to-cpu=fma=0 --split-input-file | FileCheck %s --check-prefix=UNFUSED

// An op becomes a buffer for its result and a launch; the kernel is a private
// function over flat buffers, its work items rows.
// CHECK-LABEL: func.func @quantize(
// CHECK-SAME: %[[X:.*]]: tensor<4x64xbf16>, %[[S:.*]]: tensor<4x4xi8>, %[[G:.*]]: tensor<f32>) -> tensor<4x32xi8>
// CHECK-DAG: bufferization.to_buffer %[[X]] read_only
// CHECK-DAG: bufferization.to_buffer %[[S]] read_only
// CHECK-DAG: %[[RESULT:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4x32xi8>
// CHECK: call @blockscale_quantize.parallel(%c4,
// CHECK: %[[Q:.*]] = bufferization.to_tensor %[[RESULT]] restrict writable
// CHECK: return %[[Q]]
// CHECK: func.func private @blockscale_quantize(%[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index,
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: scf.for
// A block is loaded, divided by fl(g * s), rounded and stored as eight bytes.
// CHECK: vector.load {{.*}} vector<16xbf16>
// CHECK: arith.extf {{.*}} vector<16xbf16> to vector<16xf32>
// CHECK: arith.divf {{.*}} : vector<16xf32>
// CHECK-NOT: arith.divf
// CHECK: vector.deinterleave
// CHECK: vector.store {{.*}} vector<8xi8>
// CHECK: func.func private @blockscale_quantize.parallel({{.*}}) attributes {blockscale.parallel = @blockscale_quantize}
func.func @quantize(%x: tensor<4x64xbf16>, %s: tensor<4x4xf8E4M3FN>, %g: tensor<f32>) -> tensor<4x64xf4E2M1FN> {
  %q = blockscale.quantize %x : tensor<4x64xbf16> scales(%s : tensor<4x4xf8E4M3FN>) tensor(%g : tensor<f32>)
      to #blockscale.format<nvfp4> -> tensor<4x64xf4E2M1FN>
  return %q : tensor<4x64xf4E2M1FN>
}

// -----

// The same work is one kernel, other work another one.
// CHECK-LABEL: func.func @shared(
// CHECK: call @[[K:blockscale_dequantize]].parallel(
// CHECK: call @[[K]].parallel(
// CHECK: call @[[OTHER:blockscale_dequantize_[0-9]+]].parallel(
// CHECK: func.func private @[[K]](
// CHECK: func.func private @[[OTHER]](
// CHECK-NOT: func.func private @blockscale_dequantize_1(
func.func @shared(%q: tensor<4x64xf8E4M3FN>, %s: tensor<4x2xf8E8M0FNU>, %r: tensor<9x64xf8E4M3FN>,
                  %t: tensor<9x2xf8E8M0FNU>) -> (tensor<4x64xf32>, tensor<9x64xf32>, tensor<9x64xbf16>) {
  %a = blockscale.dequantize %q : tensor<4x64xf8E4M3FN> scales(%s : tensor<4x2xf8E8M0FNU>)
      from #blockscale.format<mxfp8_e4m3> -> tensor<4x64xf32>
  %b = blockscale.dequantize %r : tensor<9x64xf8E4M3FN> scales(%t : tensor<9x2xf8E8M0FNU>)
      from #blockscale.format<mxfp8_e4m3> -> tensor<9x64xf32>
  %c = blockscale.dequantize %r : tensor<9x64xf8E4M3FN> scales(%t : tensor<9x2xf8E8M0FNU>)
      from #blockscale.format<mxfp8_e4m3> -> tensor<9x64xbf16>
  return %a, %b, %c : tensor<4x64xf32>, tensor<9x64xf32>, tensor<9x64xbf16>
}

// -----

// Sizes that must agree and are not known are checked where it runs.
// CHECK-LABEL: func.func @checked(
// CHECK: %[[ROWS:.*]] = tensor.dim
// CHECK: %[[SCALE_ROWS:.*]] = tensor.dim
// CHECK: %[[DIFFERS:.*]] = arith.cmpi ne, %[[SCALE_ROWS]], %[[ROWS]]
// CHECK: scf.if %[[DIFFERS]] {
// CHECK: llvm.call @blockscaleFailSize(
// CHECK: llvm.mlir.global internal constant @blockscale.what{{.*}}("dequantize: scales, dimension 0\00")
func.func @checked(%q: tensor<?x64xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU>) -> tensor<?x64xf32> {
  %a = blockscale.dequantize %q : tensor<?x64xf8E4M3FN> scales(%s : tensor<?x2xf8E8M0FNU>)
      from #blockscale.format<mxfp8_e4m3> -> tensor<?x64xf32>
  return %a : tensor<?x64xf32>
}

// -----

// A tensor scale needs the tensor's amax first: two kernels.
// CHECK-LABEL: func.func @two_level(
// CHECK: call @blockscale_amax.parallel(
// CHECK: call @blockscale_scale.parallel(
// A held one does not.
// CHECK-LABEL: func.func @held(
// CHECK-NOT: call @blockscale_amax
// CHECK: call @blockscale_scale
// CHECK: func.func private @blockscale_amax(
// CHECK: memref.atomic_rmw maxu
// CHECK: func.func private @blockscale_scale(
func.func @two_level(%x: tensor<4x64xf32>) -> (tensor<4x4xf8E4M3FN>, tensor<f32>, tensor<4x4xf32>) {
  %s, %g, %e = blockscale.scale %x : tensor<4x64xf32> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level> -> tensor<4x4xf8E4M3FN>, tensor<f32>, tensor<4x4xf32>
  return %s, %g, %e : tensor<4x4xf8E4M3FN>, tensor<f32>, tensor<4x4xf32>
}
func.func @held(%x: tensor<4x64xf32>, %a: tensor<f32>) -> (tensor<4x4xf8E4M3FN>, tensor<f32>, tensor<4x4xf32>) {
  %s, %g, %e = blockscale.scale %x : tensor<4x64xf32> amax(%a : tensor<f32>) to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level> -> tensor<4x4xf8E4M3FN>, tensor<f32>, tensor<4x4xf32>
  return %s, %g, %e : tensor<4x4xf8E4M3FN>, tensor<f32>, tensor<4x4xf32>
}

// -----

// Tiles are cleared before scales are put in.
// CHECK-LABEL: func.func @tiled(
// CHECK: %[[TILES:.*]] = memref.alloc() {{.*}} : memref<1024xi8>
// CHECK: linalg.fill
// CHECK: call @blockscale_relayout.parallel(
func.func @tiled(%s: tensor<130x3xf8E4M3FN>) -> tensor<130x3xf8E4M3FN, #blockscale.tiled_128x4> {
  %t = blockscale.relayout %s : tensor<130x3xf8E4M3FN> -> tensor<130x3xf8E4M3FN, #blockscale.tiled_128x4>
  return %t : tensor<130x3xf8E4M3FN, #blockscale.tiled_128x4>
}

// -----

// One load for a run along the last axis; rows of columns along another one.
// CHECK-LABEL: func.func @rotate(
// CHECK: call @blockscale_rotate.parallel(%c8,
// CHECK: call @[[OUTER:blockscale_rotate_[0-9]+]].parallel(%c2,
// CHECK: func.func private @blockscale_rotate(
// CHECK: vector.load {{.*}} vector<16xf32>
// CHECK: vector.shuffle
// CHECK: func.func private @[[OUTER]](
// CHECK-COUNT-4: vector.load {{.*}} vector<16xf32>
// CHECK-NOT: vector.shuffle
// CHECK: return
func.func @rotate(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %a = blockscale.rotate %x {size = 16} : tensor<8x16xf32>
  %b = blockscale.rotate %x {size = 4, axis = 0} : tensor<8x16xf32>
  return %a, %b : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// A product: the left side becomes an f64 panel, then tiles of 32 rows of the
// right side meet it. The epilogue is computed on 16 lanes.
// CHECK-LABEL: func.func @matmul(
// CHECK: memref.alloc() {{.*}} : memref<512xf64>
// CHECK: call @blockscale_panel.parallel(%c8,
// CHECK: call @blockscale_matmul.parallel(%c2,
// CHECK: func.func private @blockscale_panel(
// CHECK: func.func private @blockscale_matmul(
// CHECK: vector.fma {{.*}} : vector<8xf64>
// CHECK: arith.truncf {{.*}} : vector<16xf64> to vector<16xf32>
// CHECK: vector.maskedload {{.*}} memref<?xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: vector.maskedstore {{.*}} memref<?xbf16>

// A register tile has 4 x 4 sums, or 2 x 2 where registers are fewer.
// WIDE-LABEL: func.func private @blockscale_matmul(
// WIDE-COUNT-16: vector.fma
// WIDE-NOT: vector.fma
// WIDE: func.func
// NARROW-LABEL: func.func private @blockscale_matmul(
// NARROW-COUNT-4: vector.fma
// NARROW-NOT: vector.fma
// NARROW: func.func
// UNFUSED-LABEL: func.func private @blockscale_matmul(
// UNFUSED-NOT: vector.fma
// UNFUSED: arith.mulf {{.*}} : vector<8xf64>
// UNFUSED: func.func
func.func @matmul(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>, %b: tensor<64xf32>) -> tensor<8x64xbf16> {
  %y = blockscale.scaled_matmul lhs(%x : tensor<8x64xf32>) rhs(%w : tensor<64x64xf32>)
      epilogue(%b : tensor<64xf32>) {
  ^bb0(%acc: f32, %e: f32):
    %s = arith.addf %acc, %e : f32
    %t = arith.truncf %s : f32 to bf16
    blockscale.yield %t : bf16
  } : tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}
