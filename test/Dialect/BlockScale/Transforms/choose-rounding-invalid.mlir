// RUN: blockscale-opt %s --split-input-file --blockscale-choose-rounding --verify-diagnostics -o /dev/null

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

func.func @while(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %init: tensor<8x64xf4E2M1FN>, %more: i1,
                 %seed: tensor<i64>) -> tensor<8x64xf4E2M1FN> {
  // expected-note @+1 {{only iterations of scf.for are counted, by bounds that do not change in a loop around it}}
  %r:2 = scf.while (%q = %init, %u = %seed) : (tensor<8x64xf4E2M1FN>, tensor<i64>) -> (tensor<8x64xf4E2M1FN>, tensor<i64>) {
    scf.condition(%more) %q, %u : tensor<8x64xf4E2M1FN>, tensor<i64>
  } do {
  ^bb0(%q: tensor<8x64xf4E2M1FN>, %u: tensor<i64>):
    %same = blockscale.derive_seed %u {site = 1} : tensor<i64>
    // expected-error @+1 {{expects a seed that changes in its loop, where every iteration would draw the same bits: carry it through the loop, or give each iteration its own by blockscale.derive_seed %seed[%iteration]}}
    %a = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
        seed(%same : tensor<i64>) {blockscale.role = #blockscale.role<wgrad_dy>} -> tensor<8x64xf4E2M1FN>
    scf.yield %a, %u : tensor<8x64xf4E2M1FN>, tensor<i64>
  }
  return %r#0 : tensor<8x64xf4E2M1FN>
}

// -----

#mxfp4 = #blockscale.format<mxfp4>

// A triangle: the iterations before are not counted by a product.
func.func @triangle(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %init: tensor<8x64xf4E2M1FN>, %n: index,
                    %seed: tensor<i64> {blockscale.seed}) -> tensor<8x64xf4E2M1FN> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%q = %init) -> tensor<8x64xf4E2M1FN> {
    // expected-note @+1 {{only iterations of scf.for are counted}}
    %t = scf.for %j = %zero to %i step %one iter_args(%u = %q) -> tensor<8x64xf4E2M1FN> {
      // expected-error @+1 {{expects a seed that changes in its loop}}
      %a = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
          {blockscale.role = #blockscale.role<wgrad_dy>} -> tensor<8x64xf4E2M1FN>
      scf.yield %a : tensor<8x64xf4E2M1FN>
    }
    scf.yield %t : tensor<8x64xf4E2M1FN>
  }
  return %r : tensor<8x64xf4E2M1FN>
}

// -----

#mxfp4 = #blockscale.format<mxfp4>

// A loop of blocks.
// expected-note @+1 {{only iterations of scf.for are counted}}
func.func @blocks(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %init: tensor<8x64xf4E2M1FN>, %more: i1,
                  %seed: tensor<i64>) -> tensor<8x64xf4E2M1FN> {
  cf.br ^again(%init, %seed : tensor<8x64xf4E2M1FN>, tensor<i64>)
^again(%q: tensor<8x64xf4E2M1FN>, %u: tensor<i64>):
  // expected-error @+1 {{expects a seed that changes in its loop}}
  %a = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
      seed(%u : tensor<i64>) {blockscale.role = #blockscale.role<wgrad_dy>} -> tensor<8x64xf4E2M1FN>
  cf.cond_br %more, ^again(%a, %u : tensor<8x64xf4E2M1FN>, tensor<i64>), ^done
^done:
  return %a : tensor<8x64xf4E2M1FN>
}

// -----

#mxfp4 = #blockscale.format<mxfp4>

// Drawn once for each element of a generated tensor.
func.func @generate(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>, %n: index,
                    %seed: tensor<i64> {blockscale.seed}) -> tensor<?xf32> {
  // expected-note @+1 {{only iterations of scf.for are counted}}
  %r = tensor.generate %n {
  ^bb0(%i: index):
    // expected-error @+1 {{expects a seed that changes in its loop}}
    %a = blockscale.quantize %x : tensor<8x64xf32> scales(%s : tensor<8x2xf8E8M0FNU>) to #mxfp4
        {blockscale.role = #blockscale.role<wgrad_dy>} -> tensor<8x64xf4E2M1FN>
    %d = blockscale.dequantize %a : tensor<8x64xf4E2M1FN> scales(%s : tensor<8x2xf8E8M0FNU>) from #mxfp4 -> tensor<8x64xf32>
    %zero = arith.constant 0 : index
    %e = tensor.extract %d[%zero, %zero] : tensor<8x64xf32>
    tensor.yield %e : f32
  } : tensor<?xf32>
  return %r : tensor<?xf32>
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

// -----

#mxfp4 = #blockscale.format<mxfp4>

// What is written out is not changed; the value and the residual of one tensor
// are meant to agree.
func.func @same_bits_fake(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>, %seed: tensor<i64>, %n: index)
    -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
  // expected-note @+1 {{the other one}}
  %a = blockscale.fake_quantize %x : tensor<8x64xf32> to #mxfp4 by #blockscale.scale_rule<rceil>
      round stochastic seed(%seed : tensor<i64>)
  %b = blockscale.fake_quantize residual %x : tensor<8x64xf32> to #mxfp4 by #blockscale.scale_rule<rceil>
      round stochastic seed(%seed : tensor<i64>)
  // expected-remark @+1 {{draws the same random bits as another quantization}}
  %c = blockscale.fake_quantize %y : tensor<8x64xf32> to #mxfp4 by #blockscale.scale_rule<rceil>
      round stochastic seed(%seed : tensor<i64>)
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %own = blockscale.derive_seed %seed {site = 32768} : tensor<i64>
  %r = scf.for %i = %zero to %n step %one iter_args(%q = %c) -> tensor<8x64xf32> {
    // expected-remark @+1 {{draws the same random bits in every iteration of its loop: give it a seed by blockscale.derive_seed %seed[%iteration]}}
    %d = blockscale.fake_quantize %q : tensor<8x64xf32> to #mxfp4 by #blockscale.scale_rule<rceil>
        round stochastic seed(%own : tensor<i64>)
    scf.yield %d : tensor<8x64xf32>
  }
  return %a, %b, %r : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
}
