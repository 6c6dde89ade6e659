// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s

// CHECK-LABEL: func @error
func.func @error(%w: tensor<4096x4096xbf16>) -> tensor<2xf64> {
  // CHECK: blockscale.quantization_error %{{.*}} : tensor<4096x4096xbf16> to #blockscale.format<mxfp4> by #blockscale.scale_rule<rceil> round toward_zero -> tensor<2xf64>
  %e = blockscale.quantization_error %w : tensor<4096x4096xbf16>
      to #blockscale.format<mxfp4> by #blockscale.scale_rule<rceil> round toward_zero -> tensor<2xf64>
  return %e : tensor<2xf64>
}
