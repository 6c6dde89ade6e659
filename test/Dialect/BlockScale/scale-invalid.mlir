// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @ragged(%x: tensor<8x40xf32>) {
  // expected-error@+1 {{expects an innermost extent of its source divisible by 16, the block of #blockscale.format<nvfp4>, but got 40; add `pad` to complete the last block with zeros}}
  %0:3 = blockscale.scale %x : tensor<8x40xf32> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level> -> tensor<8x3xf8E4M3FN>, tensor<f32>, tensor<8x3xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<8x?xf32>) {
  // expected-error@+1 {{expects a static innermost extent of its source, but got 'tensor<8x?xf32>'; use tensor.cast to say what it is}}
  %0 = blockscale.scale %x : tensor<8x?xf32> to #blockscale.format<mxfp4>
      by #blockscale.scale_rule<floor> -> tensor<8x?xf8E8M0FNU>
  return
}

// -----

func.func @empty(%x: tensor<8x0xf32>) {
  // expected-error@+1 {{expects an innermost extent of its source from 1 to 1099511627776, but got 0}}
  %0 = blockscale.scale %x : tensor<8x0xf32> to #blockscale.format<mxfp4>
      by #blockscale.scale_rule<floor> -> tensor<8x0xf8E8M0FNU>
  return
}

// -----

// The padded extent would not fit into 64 bits.
func.func @huge(%x: tensor<8x9223372036854775807xf32>) {
  // expected-error@+1 {{expects an innermost extent of its source from 1 to 1099511627776, but got 9223372036854775807}}
  %0 = blockscale.scale %x : tensor<8x9223372036854775807xf32> to #blockscale.format<mxfp4>
      by #blockscale.scale_rule<floor> {pad} -> tensor<8x1xf8E8M0FNU>
  return
}

// -----

func.func @rank(%x: tensor<64xf32>) {
  // expected-error@+1 {{expects source of rank 2 or more for blocks of 16x16, but got rank 1}}
  %0:3 = blockscale.scale %x : tensor<64xf32> to #blockscale.format<nvfp4, block = 16x16>
      by #blockscale.scale_rule<two_level> -> tensor<4xf8E4M3FN>, tensor<f32>, tensor<4xf32>
  return
}

// -----

func.func @rule(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{expects scale = e8m0 with order = floor, but got scale = ue4m3}}
  %0:2 = blockscale.scale %x : tensor<8x64xf32> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<floor> -> tensor<8x4xf8E4M3FN>, tensor<f32>
  return
}

// -----

func.func @amax(%x: tensor<8x64xf32>, %a: tensor<f32>) {
  // expected-error@+1 {{expects no amax, because #blockscale.format<mxfp4> has no tensor scale; add `tensor = f32` to the format or drop the operand}}
  %0 = blockscale.scale %x : tensor<8x64xf32> amax(%a : tensor<f32>) to #blockscale.format<mxfp4>
      by #blockscale.scale_rule<floor> -> tensor<8x2xf8E8M0FNU>
  return
}

// -----

func.func @count(%x: tensor<8x64xf32>) {
  %0:2 = blockscale.scale %x : tensor<8x64xf32> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level> ->
      // expected-error@+1 {{expects 3 result types from #blockscale.format<nvfp4> by #blockscale.scale_rule<two_level> (scales, tensor scale, encode factors), but got 2}}
      tensor<8x4xf8E4M3FN>, tensor<f32>
  return
}

// -----

func.func @count(%x: tensor<8x64xf32>) {
  %0:2 = blockscale.scale %x : tensor<8x64xf32> to #blockscale.format<uint4>
      by #blockscale.scale_rule<minmax> ->
      // expected-error@+1 {{expects 2 result types from #blockscale.format<uint4> by #blockscale.scale_rule<minmax> (scales, zero points), but got 1}}
      tensor<8x1xf16>
  return
}

// -----

func.func @scales(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{expects scales of type 'tensor<8x2xf8E8M0FNU>', but got 'tensor<8x4xf8E8M0FNU>'}}
  %0 = blockscale.scale %x : tensor<8x64xf32> to #blockscale.format<mxfp4>
      by #blockscale.scale_rule<floor> -> tensor<8x4xf8E8M0FNU>
  return
}

// -----

func.func @layout(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{expects scales in row-major layout or #blockscale.tiled_128x4, but got "diagonal"}}
  %0 = blockscale.scale %x : tensor<8x64xf32> to #blockscale.format<mxfp4>
      by #blockscale.scale_rule<floor> -> tensor<8x2xf8E8M0FNU, "diagonal">
  return
}

// -----

func.func @encode(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{expects encode factors of type 'tensor<8x4xf32>', but got 'tensor<8x2xf32>'}}
  %0:3 = blockscale.scale %x : tensor<8x64xf32> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level> -> tensor<8x4xf8E4M3FN>, tensor<f32>, tensor<8x2xf32>
  return
}

// -----

func.func @missing(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{expects a result for the encode factors of type 'tensor<8x4xf32>', but got none}}
  %0:2 = "blockscale.scale"(%x) <{format = #blockscale.format<nvfp4>, rule = #blockscale.scale_rule<two_level>,
      resultSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<8x64xf32>) -> (tensor<8x4xf8E4M3FN>, tensor<f32>)
  return
}

// -----

func.func @surplus(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{expects no tensor scale from #blockscale.format<mxfp4> by #blockscale.scale_rule<floor>, but got 'tensor<f32>'}}
  %0:2 = "blockscale.scale"(%x) <{format = #blockscale.format<mxfp4>, rule = #blockscale.scale_rule<floor>,
      resultSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<8x64xf32>) -> (tensor<8x2xf8E8M0FNU>, tensor<f32>)
  return
}

// -----

func.func @segments(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{result count (1) does not match with the total size (4)}}
  %0 = "blockscale.scale"(%x) <{format = #blockscale.format<mxfp4>, rule = #blockscale.scale_rule<floor>,
      resultSegmentSizes = array<i32: 1, 1, 1, 1>}> : (tensor<8x64xf32>) -> tensor<8x2xf8E8M0FNU>
  return
}

// -----

func.func @format(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{invalid kind of attribute specified}}
  %0 = blockscale.scale %x : tensor<8x64xf32> to #blockscale.scale_rule<floor>
      by #blockscale.scale_rule<floor> -> tensor<8x2xf8E8M0FNU>
  return
}

// -----

func.func @no_format(%x: tensor<8x64xf32>) {
  // expected-error@+1 {{requires attribute 'format'}}
  %0 = "blockscale.scale"(%x) <{rule = #blockscale.scale_rule<floor>,
      resultSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<8x64xf32>) -> tensor<8x2xf8E8M0FNU>
  return
}
