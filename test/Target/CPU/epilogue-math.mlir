// RUN: blockscale-compile %s --emit=shared -o %t.so
// RUN: blockscale-compile %s --emit=shared --cpu=x86-64-v3 -o %t.v3.so
// RUN: blockscale-run %t.v3.so --random-inputs=1 --convert-inputs

// Functions without a good polynomial are libm's; bf16 arithmetic needs no
// instruction and no other library.
func.func @f(%x: tensor<4x64xbf16>, %w: tensor<8x64xbf16>, %b: tensor<8xbf16>) -> tensor<4x8xbf16> {
  %y = blockscale.scaled_matmul lhs(%x : tensor<4x64xbf16>) rhs(%w : tensor<8x64xbf16>) epilogue(%b : tensor<8xbf16>) {
  ^bb0(%acc: f32, %bias: bf16):
    %0 = math.asinh %acc : f32
    %1 = math.acosh %0 : f32
    %2 = math.atanh %1 : f32
    %3 = math.cbrt %2 : f32
    %4 = math.log %3 : f32
    %5 = math.cos %4 : f32
    %6 = arith.truncf %5 : f32 to bf16
    %7 = arith.addf %6, %bias : bf16
    %8 = math.sin %7 : bf16
    blockscale.yield %8 : bf16
  } : tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}
