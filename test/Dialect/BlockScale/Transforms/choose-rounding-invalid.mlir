// RUN: blockscale-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(blockscale-choose-rounding))' --verify-diagnostics -o /dev/null

#mxfp4 = #blockscale.format<mxfp4>

func.func @no_seed(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xf4E2M1FN> {
  // expected-error @+1 {{expects a seed for stochastic rounding of wgrad_dy: give the function an argument tensor<i64> {blockscale.seed}, or the pass the option seed}}
  %a = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      {blockscale.role = #blockscale.role<wgrad_dy>} -> tensor<8x64xf4E2M1FN>
  return %a : tensor<8x64xf4E2M1FN>
}

// -----

// expected-error @+1 {{expects an argument of type 'tensor<i64>' with blockscale.seed, but got 'tensor<i32>'}}
func.func @seed_type(%seed: tensor<i32> {blockscale.seed}) {
  return
}

// -----

// expected-error @+1 {{expects one argument with blockscale.seed, but got two}}
func.func @two_seeds(%a: tensor<i64> {blockscale.seed}, %b: tensor<i64> {blockscale.seed}) {
  return
}

// -----

#mxfp4 = #blockscale.format<mxfp4>

func.func @loop(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %init: tensor<8x64xf4E2M1FN>, %n: index,
                %seed: tensor<i64> {blockscale.seed}) -> tensor<8x64xf4E2M1FN> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%q = %init) -> tensor<8x64xf4E2M1FN> {
    // expected-error @+1 {{expects a seed that changes in its loop, where every iteration would draw the same bits}}
    %a = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
        {blockscale.role = #blockscale.role<wgrad_dy>} -> tensor<8x64xf4E2M1FN>
    scf.yield %a : tensor<8x64xf4E2M1FN>
  }
  return %r : tensor<8x64xf4E2M1FN>
}

// -----

#mxfp4 = #blockscale.format<mxfp4>

func.func @same_bits(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %seed: tensor<i64>)
    -> (tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>) {
  // expected-note @+1 {{the other one}}
  %a = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      round stochastic seed(%seed : tensor<i64>) -> tensor<8x64xf4E2M1FN>
  // expected-remark @+1 {{draws the same random bits as another quantization: give one of them a seed by blockscale.derive_seed}}
  %b = blockscale.quantize %y : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      round stochastic seed(%seed : tensor<i64>) -> tensor<8x64xf4E2M1FN>
  return %a, %b : tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>
}
