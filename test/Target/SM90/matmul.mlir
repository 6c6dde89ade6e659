// RUN: blockscale-opt %s -blockscale-lower-to-nvidia=chip=sm_90a -o %t.mlir 2> %t.remarks
// RUN: FileCheck %s --implicit-check-not=m64n8k16 < %t.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

#nvfp4 = #blockscale.format<nvfp4>
#mxfp4 = #blockscale.format<mxfp4>

// Few rows: weights by TMA to mma.sync.
// CHECK-LABEL: func.func @blockscale_decode(%arg0: !llvm.ptr {blockscale.by_value}, %arg1: !llvm.ptr {blockscale.by_value}
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK-NOT: wgmma
// CHECK: cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes

// Some rows: activations reordered before, wgmma.
// CHECK-LABEL: func.func @blockscale_reorder(
// CHECK-LABEL: func.func @blockscale_batch(
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16

// More rows: TMA with a tensor map by value, wgmma with A in registers.
// CHECK-LABEL: func.func @blockscale_prefill(%arg0: !llvm.ptr {blockscale.by_value}, %arg1: !llvm.ptr {blockscale.by_value}
// CHECK-SAME: resident = 1 : i32
// CHECK: wgmma.mma_async.sync.aligned.m64n160k16.f32.bf16.bf16
// CHECK: cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes

// Groups of warps take turns, three up to 16 rows, then two: stages
// are a multiple of their number.
// REMARK: remark: scaled_matmul bf16 x nvfp4: exact via bf16 mma.m16n8k16, rhs unpacked in registers, tile 8x64x256, {{[369]}} stages
func.func @one_row(%a: tensor<1x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN>, %bs: tensor<8192x512xf8E4M3FN>,
                   %bg: tensor<f32>) -> tensor<1x8192xbf16> {
  %y = blockscale.scaled_matmul lhs(%a : tensor<1x8192xbf16>)
      rhs(%b, %bs, %bg : tensor<8192x8192xf4E2M1FN>, tensor<8192x512xf8E4M3FN>, tensor<f32> as #nvfp4)
      : tensor<1x8192xbf16>
  return %y : tensor<1x8192xbf16>
}

// Up to 40 rows, if a block for each multiprocessor holds the sums of all.
// REMARK: remark: scaled_matmul bf16 x nvfp4: exact via bf16 mma.m16n8k16, rhs unpacked in registers, tile 24x64x256, {{[369]}} stages
func.func @twenty_rows(%a: tensor<20x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN>, %bs: tensor<8192x512xf8E4M3FN>,
                       %bg: tensor<f32>) -> tensor<20x8192xbf16> {
  %y = blockscale.scaled_matmul lhs(%a : tensor<20x8192xbf16>)
      rhs(%b, %bs, %bg : tensor<8192x8192xf4E2M1FN>, tensor<8192x512xf8E4M3FN>, tensor<f32> as #nvfp4)
      : tensor<20x8192xbf16>
  return %y : tensor<20x8192xbf16>
}
// REMARK: remark: scaled_matmul bf16 x nvfp4: exact via bf16 wgmma.m64k16, rhs unpacked in registers, tile 24x128x256, {{[2468]}} stages
func.func @twenty_rows_of_many(%a: tensor<20x4096xbf16>, %b: tensor<14336x4096xf4E2M1FN>, %bs: tensor<14336x256xf8E4M3FN>,
                               %bg: tensor<f32>) -> tensor<20x14336xbf16> {
  %y = blockscale.scaled_matmul lhs(%a : tensor<20x4096xbf16>)
      rhs(%b, %bs, %bg : tensor<14336x4096xf4E2M1FN>, tensor<14336x256xf8E4M3FN>, tensor<f32> as #nvfp4)
      : tensor<20x14336xbf16>
  return %y : tensor<20x14336xbf16>
}

// A block for each multiprocessor, with rows for all of them.
// REMARK: remark: scaled_matmul bf16 x nvfp4: exact via bf16 mma.m16n8k16, rhs unpacked in registers, tile 16x48x256, {{[369]}} stages
func.func @fewer_columns(%a: tensor<9x8192xbf16>, %b: tensor<5120x8192xf4E2M1FN>, %bs: tensor<5120x512xf8E4M3FN>,
                         %bg: tensor<f32>) -> tensor<9x5120xbf16> {
  %y = blockscale.scaled_matmul lhs(%a : tensor<9x8192xbf16>)
      rhs(%b, %bs, %bg : tensor<5120x8192xf4E2M1FN>, tensor<5120x512xf8E4M3FN>, tensor<f32> as #nvfp4)
      : tensor<9x5120xbf16>
  return %y : tensor<9x5120xbf16>
}

// REMARK: remark: scaled_matmul bf16 x nvfp4: exact via bf16 wgmma.m64k16, rhs unpacked in registers, tile 64x128x512, {{[468]}} stages
func.func @some_rows(%a: tensor<64x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN>, %bs: tensor<8192x512xf8E4M3FN>,
                     %bg: tensor<f32>) -> tensor<64x8192xbf16> {
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x8192xbf16>)
      rhs(%b, %bs, %bg : tensor<8192x8192xf4E2M1FN>, tensor<8192x512xf8E4M3FN>, tensor<f32> as #nvfp4)
      : tensor<64x8192xbf16>
  return %y : tensor<64x8192xbf16>
}

// REMARK: remark: scaled_matmul bf16 x mxfp4: exact via bf16 wgmma.m64k16, rhs unpacked in registers, tile 160x128x64
func.func @more_rows(%a: tensor<300x8192xbf16>, %b: tensor<8192x8192xf4E2M1FN>, %bs: tensor<8192x256xf8E8M0FNU>)
    -> tensor<300x8192xbf16> {
  %y = blockscale.scaled_matmul lhs(%a : tensor<300x8192xbf16>)
      rhs(%b, %bs : tensor<8192x8192xf4E2M1FN>, tensor<8192x256xf8E8M0FNU> as #mxfp4)
      : tensor<300x8192xbf16>
  return %y : tensor<300x8192xbf16>
}

// With many rows it pays to make the weights bf16 first.
// CHECK-LABEL: func.func @blockscale_dequantize_bf16(
// CHECK-LABEL: func.func @blockscale_unpacked(%arg0: !llvm.ptr {blockscale.by_value}, %arg1: !llvm.ptr {blockscale.by_value}
// CHECK-SAME: resident = 1 : i32
// CHECK: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16

// REMARK: remark: scaled_matmul bf16 x mxfp4: exact via bf16 wgmma.m64k16, rhs unpacked before, tile 128x256x64 of bf16, 4 stages
func.func @many_rows(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xf4E2M1FN>, %bs: tensor<4096x128xf8E8M0FNU>)
    -> tensor<4096x4096xbf16> {
  %y = blockscale.scaled_matmul lhs(%a : tensor<4096x4096xbf16>)
      rhs(%b, %bs : tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU> as #mxfp4)
      : tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}

// Tiles of fewer columns where these fill the chip better: 32 by 16 of them
// take four turns of 132 multiprocessors, 20 by 16 of 256 columns would take
// three of more than four fifths as much each.
// CHECK: wgmma.mma_async.sync.aligned.m64n160k16.f32.bf16.bf16
// REMARK: remark: scaled_matmul bf16 x nvfp4: {{.*}}, tile 128x160x64 of bf16, 4 stages
func.func @fewer_columns_many_rows(%a: tensor<2048x8192xbf16>, %b: tensor<5120x8192xf4E2M1FN>,
                                   %bs: tensor<5120x512xf8E4M3FN>, %bg: tensor<f32>) -> tensor<2048x5120xbf16> {
  %y = blockscale.scaled_matmul lhs(%a : tensor<2048x8192xbf16>)
      rhs(%b, %bs, %bg : tensor<5120x8192xf4E2M1FN>, tensor<5120x512xf8E4M3FN>, tensor<f32> as #nvfp4)
      : tensor<2048x5120xbf16>
  return %y : tensor<2048x5120xbf16>
}

// REMARK: remark: scaled_matmul nvfp4 x nvfp4: exact via bf16 mma.m16n8k16 or wgmma.m64k16, rhs unpacked in registers or, for many rows, before, lhs unpacked before
// REMARK-SAME: up to 8 rows, else tile 16x
// REMARK-SAME: else tile 40x32x256, {{[369]}} stages up to 40 rows, else tile 48x64x512
// REMARK-SAME: else tile 64x128x256, 4 stages up to 256 rows, else tile 128x128x64, 4 stages up to 512 rows, else tile 192x128x64, 4 stages up to 768 rows, else tile 256x128x64, 4 stages up to 1024 rows, else tile 128x128x64 of bf16, 4 stages up to 2048 rows, else tile 128x256x64 of bf16, 4 stages
func.func @both(%a: tensor<?x4096xf4E2M1FN>, %as: tensor<?x256xf8E4M3FN>, %ag: tensor<f32>,
                %b: tensor<4096x4096xf4E2M1FN>, %bs: tensor<4096x256xf8E4M3FN>, %bg: tensor<f32>) -> tensor<?x4096xbf16> {
  %y = blockscale.scaled_matmul
      lhs(%a, %as, %ag : tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN>, tensor<f32> as #nvfp4)
      rhs(%b, %bs, %bg : tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN>, tensor<f32> as #nvfp4)
      : tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}

// Both sides are powers of two times small floats: folded to E4M3, unless rows
// are few; tiles that can't be are done by the kernel above afterwards.
// CHECK-LABEL: func.func @blockscale_fold(
// CHECK: red.relaxed.gpu.global.or.b32
// CHECK: nvvm.prmt
// CHECK-LABEL: func.func @blockscale_folded(%arg0: !llvm.ptr {blockscale.by_value}, %arg1: !llvm.ptr {blockscale.by_value}
// CHECK-SAME: resident = 1 : i32
// CHECK: wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3
// CHECK: arith.addf
// CHECK-LABEL: func.func @blockscale_prefill_{{[0-9]+}}(
// CHECK-LABEL: func.func @many_rows(
// CHECK: call @blockscale_dequantize_bf16.launch
// CHECK: call @blockscale_unpacked.launch
// CHECK-LABEL: func.func @folded(
// CHECK: call @blockscale_fold.launch
// CHECK: call @blockscale_fold.launch
// CHECK: call @blockscale_folded.launch
// CHECK: call @blockscale_dequantize_bf16_{{[0-9]+}}.launch
// CHECK: call @blockscale_prefill_{{[0-9]+}}.launch

// REMARK: remark: scaled_matmul mxfp4 x mxfp4: exact via e4m3 wgmma.m64k32, both sides folded, or where scales spread too far via bf16 wgmma.m64k16, tile 256x128x128 of e4m3, 4 stages
func.func @folded(%a: tensor<4096x4096xf4E2M1FN>, %as: tensor<4096x128xf8E8M0FNU>, %b: tensor<4096x4096xf4E2M1FN>,
                  %bs: tensor<4096x128xf8E8M0FNU>) -> tensor<4096x4096xbf16> {
  %y = blockscale.scaled_matmul lhs(%a, %as : tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU> as #mxfp4)
      rhs(%b, %bs : tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU> as #mxfp4)
      : tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}

// REMARK: remark: scaled_matmul mxfp6_e2m3 x mxfp4: exact via e4m3 wgmma.m64k32, both sides folded, or via bf16 mma.m16n8k16 or wgmma.m64k16, rhs unpacked in registers, lhs unpacked before, tile 8x
// REMARK-SAME: else tile 256x128x128 of e4m3, 4 stages
func.func @folded_if_many(%a: tensor<?x4096xf6E2M3FN>, %as: tensor<?x128xf8E8M0FNU>, %b: tensor<4096x4096xf4E2M1FN>,
                          %bs: tensor<4096x128xf8E8M0FNU>) -> tensor<?x4096xbf16> {
  %y = blockscale.scaled_matmul lhs(%a, %as : tensor<?x4096xf6E2M3FN>, tensor<?x128xf8E8M0FNU> as #blockscale.format<mxfp6_e2m3>)
      rhs(%b, %bs : tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU> as #mxfp4)
      : tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}

// Elements of 8 bits leave no room for a second scale.
// REMARK: remark: scaled_matmul mxfp8_e4m3 x mxfp4: exact via bf16 wgmma.m64k16, rhs unpacked before, lhs unpacked before
func.func @not_folded(%a: tensor<4096x4096xf8E4M3FN>, %as: tensor<4096x128xf8E8M0FNU>, %b: tensor<4096x4096xf4E2M1FN>,
                      %bs: tensor<4096x128xf8E8M0FNU>) -> tensor<4096x4096xbf16> {
  %y = blockscale.scaled_matmul lhs(%a, %as : tensor<4096x4096xf8E4M3FN>, tensor<4096x128xf8E8M0FNU> as #blockscale.format<mxfp8_e4m3>)
      rhs(%b, %bs : tensor<4096x4096xf4E2M1FN>, tensor<4096x128xf8E8M0FNU> as #mxfp4)
      : tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}

// Products of an element and its scale that bf16 does not hold, and rows that
// are no whole vectors: the generic path.
// REMARK: remark: scaled_matmul bf16 x nf4: emulated via bf16 mma.m16n8k16
func.func @codebook(%a: tensor<64x4096xbf16>, %b: tensor<512x4096xi4>, %bs: tensor<512x64xf32>) -> tensor<64x512xf32> {
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x4096xbf16>)
      rhs(%b, %bs : tensor<512x4096xi4>, tensor<512x64xf32> as #blockscale.format<nf4>) : tensor<64x512xf32>
  return %y : tensor<64x512xf32>
}

// REMARK: remark: scaled_matmul bf16 x nvfp4: emulated via bf16 mma.m16n8k16
func.func @odd_rows(%a: tensor<64x48xbf16>, %b: tensor<512x48xf4E2M1FN>, %bs: tensor<512x3xf8E4M3FN>, %bg: tensor<f32>)
    -> tensor<64x512xf32> {
  %y = blockscale.scaled_matmul lhs(%a : tensor<64x48xbf16>)
      rhs(%b, %bs, %bg : tensor<512x48xf4E2M1FN>, tensor<512x3xf8E4M3FN>, tensor<f32> as #nvfp4) : tensor<64x512xf32>
  return %y : tensor<64x512xf32>
}
