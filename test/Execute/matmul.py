# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Quantized operands and their product, as the vectors have them: the exact
sum, rounded once to f32."""
from support import *

vectors = refs("gemm_vectors.json")
K = vectors["K"]


def layer(name, preset, block, scale, rule, tensor):
    s = f"tensor<?x{K // block}x{mlir_type(scale)}>"
    x, q = f"tensor<?x{K}xf32>", f"tensor<?x{K}xf4E2M1FN>"
    e, g = f"tensor<?x{K // block}xf32>", "tensor<f32>"

    def side(i):
        if tensor:
            return f"""
  %s{i}, %g{i}, %e{i} = blockscale.scale %x{i} : {x} to #blockscale.format<{preset}>
      by #blockscale.scale_rule<{rule}> -> {s}, {g}, {e}
  %q{i} = blockscale.quantize %x{i} : {x} encode(%e{i} : {e})
      to #blockscale.format<{preset}> -> {q}"""
        return f"""
  %s{i} = blockscale.scale %x{i} : {x} to #blockscale.format<{preset}>
      by #blockscale.scale_rule<{rule}> -> {s}
  %q{i} = blockscale.quantize %x{i} : {x} scales(%s{i} : {s})
      to #blockscale.format<{preset}> -> {q}"""

    def operand(i):
        if tensor:
            return (f"%q{i}, %s{i}, %g{i} : {q}, {s}, {g} "
                    f"as #blockscale.format<{preset}>")
        return f"%q{i}, %s{i} : {q}, {s} as #blockscale.format<{preset}>"

    return f"""
func.func @{name}(%x0: {x}, %x1: {x}) -> ({q}, {s}, {q}, {s}, tensor<?x?xf32>) {{
  {side(0)}
  {side(1)}
  %y = blockscale.scaled_matmul lhs({operand(0)}) rhs({operand(1)})
      : tensor<?x?xf32>
  return %q0, %s0, %q1, %s1, %y : {q}, {s}, {q}, {s}, tensor<?x?xf32>
}}"""


library = compile(
    layer("nvfp4_te", "nvfp4", 16, "ue4m3", "two_level", True)
    + layer("mxfp4_rceil", "mxfp4", 32, "e8m0", "rceil", False))
a, b = (floats(vectors[side]).reshape(4, K) for side in "ab")
for name in ("nvfp4_te", "mxfp4_rceil"):
    expected = vectors[name]
    qa, sa, qb, sb, product = library.call(name, a, b)
    for side, codes, scales in (("A", qa, sa), ("B", qb, sb)):
        same(f"{name} {side} codes", unpack(codes, "e2m1").reshape(-1),
             expected[side]["codes"])
        same(f"{name} {side} scales", scales.view(np.uint8).reshape(-1),
             expected[side]["scales"])
    same(f"{name} product", product.reshape(-1),
         np.array(expected["exact"]).astype(np.float32))
finish(at_least=10)
