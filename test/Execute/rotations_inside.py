# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""A rotation inside the quantizer gives the bits of one before it."""
from support import *

SIGNS = np.where(np.random.default_rng(7).random(256) < 0.5, -1, 1).astype(
    np.int8)


def functions(name, size, signs, inverse, source, cols, rounding):
    """`together` rotates and quantizes; `turn` and `rest` do it apart."""
    nvfp4 = name == "nvfp4"
    block = 16 if nvfp4 else 32
    x, q = f"tensor<?x{cols}x{source}>", f"tensor<?x{cols}xf4E2M1FN>"
    shape = f"?x{cols // block}"
    s = f"tensor<{shape}x{'f8E4M3FN' if nvfp4 else 'f8E8M0FNU'}>"
    names, types, rule = "%s", s, "rceil"
    by, results, result_types = f"scales(%s : {s})", "%q, %s", f"{q}, {s}"
    if nvfp4:
        names, rule = "%s, %g, %e", "two_level"
        types = f"{s}, tensor<f32>, tensor<{shape}xf32>"
        by = f"encode(%e : tensor<{shape}xf32>)"
        results, result_types = "%q, %s, %g", f"{q}, {s}, tensor<f32>"
    listed = ", ".join(map(str, SIGNS[:size]))
    operand = f" signs(%signs : tensor<{size}xi8>)" if signs == "operand" else ""
    fixed = f", signs = array<i8: {listed}>" if signs == "fixed" else ""
    turn = (f"  %r = blockscale.rotate %x{operand} {{size = {size}{fixed}"
            f"{', inverse' if inverse else ''}}} : {x}\n")
    seed = " seed(%seed : tensor<i64>)" if rounding == "stochastic" else ""
    rest = f"""  {names} = blockscale.scale %r : {x} to #blockscale.format<{name}> by #blockscale.scale_rule<{rule}> -> {types}
  %q = blockscale.quantize %r : {x} {by} to #blockscale.format<{name}> round {rounding}{seed} -> {q}
  return {results} : {result_types}
"""
    arguments = f"%signs: tensor<{size}xi8>, %seed: tensor<i64>"
    return f"""
func.func @together(%x: {x}, {arguments}) -> ({result_types}) {{
{turn}{rest}}}
func.func @turn(%x: {x}, %signs: tensor<{size}xi8>) -> {x} {{
{turn}  return %r : {x}
}}
func.func @rest(%r: {x}, %seed: tensor<i64>) -> ({result_types}) {{
{rest}}}"""


cases = [("nvfp4", size, signs, inverse, "bf16", 512, "nearest_even")
         for size, signs, inverse in [
             (16, None, False), (32, "fixed", False), (64, "operand", False),
             (128, "fixed", True), (256, "operand", True)]]
cases += [("mxfp4", 16, "operand", False, "bf16", 288, "nearest_even"),
          ("mxfp4", 128, None, False, "f32", 384, "nearest_even"),
          ("nvfp4", 16, "fixed", False, "f16", 48, "stochastic")]
for case in cases:
    name, size, signs, inverse, source, cols, rounding = case
    library = compile(functions(*case))
    x = np.random.default_rng(size).standard_t(3, (37, cols)).astype(np.float32)
    x[3, 5], x[4, 20] = np.nan, np.inf
    x[6] = 0
    x = blockscale.to_bf16(x) if source == "bf16" else x.astype(
        np.float16 if source == "f16" else np.float32)
    seed = np.array(11, np.int64)
    got = library.together(x, SIGNS[:size].copy(), seed)
    expected = library.rest(library.turn(x, SIGNS[:size].copy()), seed)
    for i, results in enumerate(zip(got, expected)):
        a, b = (np.frombuffer(np.asarray(r).tobytes(), np.uint8)
                for r in results)
        same(f"{case}, result {i}", a, b)
finish(at_least=20)
