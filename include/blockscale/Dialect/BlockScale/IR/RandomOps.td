//===-- RandomOps.td - derive_seed, random_signs -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef BLOCKSCALE_RANDOM_OPS_TD
#define BLOCKSCALE_RANDOM_OPS_TD

include "blockscale/Dialect/BlockScale/IR/QuantizationOps.td"

def BlockScale_DeriveSeedOp : BlockScale_Op<"derive_seed", [
    Pure, AllTypesMatch<["seed", "result"]>]> {
  let summary = "the seed of one draw of many";
  let description = [{
    A seed for draw number `site`, from 0 to 65535, of those that `seed` is the
    base of (random_c4). Different sites have different seeds, and so have
    different base seeds that are less than 2^47 apart, such as the numbers of
    training steps: no two draws share bits. In a loop `iteration` tells apart
    what it draws; then base seeds are less than 2^31 apart, and iterations
    fewer than 2^16.

    ```mlir
    func.func @two(%step: tensor<i64>, %i: index) -> (tensor<i64>, tensor<i64>) {
      %a = blockscale.derive_seed %step {site = 0} : tensor<i64>
      %b = blockscale.derive_seed %step[%i] {site = 1} : tensor<i64>
      return %a, %b : tensor<i64>, tensor<i64>
    }
    ```
  }];
  let arguments = (ins BlockScale_ScalarI64:$seed, Optional<Index>:$iteration,
                   I64Attr:$site);
  let results = (outs BlockScale_ScalarI64:$result);
  let assemblyFormat = [{
    $seed (`[` $iteration^ `]`)? attr-dict `:` type($seed)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def BlockScale_RandomSignsOp : BlockScale_Op<"random_signs", [Pure]> {
  let summary = "signs of a rotation, drawn by a seed";
  let description = [{
    As many values 1 and -1 as the result holds, at most 256 (random_c5). Their
    bits are none of those that a stochastic quantize draws with the same seed.

    ```mlir
    func.func @signs(%x: tensor<?x4096xbf16>, %seed: tensor<i64>) -> tensor<?x4096xbf16> {
      %s = blockscale.random_signs %seed : tensor<i64> -> tensor<64xi8>
      %y = blockscale.rotate %x signs(%s : tensor<64xi8>) {size = 64} : tensor<?x4096xbf16>
      return %y : tensor<?x4096xbf16>
    }
    ```
  }];
  let arguments = (ins BlockScale_ScalarI64:$seed);
  let results = (outs BlockScale_SignsTensor:$result);
  let assemblyFormat = "$seed attr-dict `:` type($seed) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // BLOCKSCALE_RANDOM_OPS_TD
