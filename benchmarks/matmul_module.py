"""One scaled_matmul as the text of a module: its sides, its epilogue, and the
format that its result is quantized to."""
from kernels import FORMATS

# The operands of an epilogue for an MxN result, and its body from %acc to the
# element type of the result.
EPILOGUES = {
    "gelu": ("%bias : tensor<{n}xf32>", "bf16", """
    %x = arith.addf %acc, %bias_e : f32
    %c = arith.constant 0.70710677 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %s = arith.mulf %x, %c : f32
    %e = math.erf %s : f32
    %p = arith.addf %e, %one : f32
    %h = arith.mulf %x, %half : f32
    %r = arith.mulf %h, %p : f32"""),
    "silu": ("%bias : tensor<{n}xf32>", "bf16", """
    %x = arith.addf %acc, %bias_e : f32
    %one = arith.constant 1.0 : f32
    %m = arith.negf %x : f32
    %e = math.exp %m : f32
    %d = arith.addf %e, %one : f32
    %r = arith.divf %x, %d : f32"""),
    "scales": ("%rows, %cols : tensor<{m}x1xf32>, tensor<{n}xf32>", "bf16", """
    %x = arith.mulf %acc, %rows_e : f32
    %r = arith.mulf %x, %cols_e : f32"""),
    "cast": ("", "f16", """
    %one = arith.constant 1.0 : f32
    %r = arith.mulf %acc, %one : f32"""),
}
# Of a quantized result: the rule, and whether the amax is given.
RESULTS = {"mxfp8_e4m3": "rceil", "mxfp4": "floor", "nvfp4": "four_over_six"}


def _side(name, kind, rows, k):
    """Parameters and the op's clause."""
    if kind not in FORMATS:
        t = f"tensor<{rows}x{k}x{kind}>"
        return [f"%{name}: {t}"], f"%{name} : {t}"
    element, scale, block, tensor, zero, *_ = FORMATS[kind]
    types = [f"tensor<{rows}x{k}x{element}>",
             f"tensor<{rows}x{k // block}x{scale}>"]
    types += ["tensor<f32>"] * tensor
    types += [f"tensor<{rows}x{k // block}xi8>"] * zero
    names = [f"%{name}{i}" for i in range(len(types))]
    return ([f"{n}: {t}" for n, t in zip(names, types)],
            f"{', '.join(names)} : {', '.join(types)} "
            f"as #blockscale.format<{kind}>")


def _epilogue(name, m, n):
    """Parameters, the op's clause and the element type of the result."""
    if not name:
        return [], "", "bf16"
    operands, element, body = EPILOGUES[name]
    operands = operands.format(m=m, n=n)
    names, _, types = operands.partition(" : ")
    names = names.split(", ") if operands else []
    pairs = list(zip(names, types.split(", ")))
    arguments = ", ".join(["%acc: f32"] + [f"{n}_e: f32" for n in names])
    clause = (f"epilogue({operands}) " if operands else "epilogue ") + (
        f"{{\n  ^bb0({arguments}):{body}\n"
        f"    %t = arith.truncf %r : f32 to {element}\n"
        f"    blockscale.yield %t : {element}\n  }}")
    return [f"{n}: {t}" for n, t in pairs], clause, element


def _quantized(kind, m, n, y):
    """Parameters, the ops after the product, and the types of the results."""
    if not kind:
        return [], f"  return %y : {y}", y
    element, scale, block, tensor, *_ = FORMATS[kind]
    q, s = f"tensor<{m}x{n}x{element}>", f"tensor<{m}x{n // block}x{scale}>"
    e = f"tensor<{m}x{n // block}xf32>"
    amax = " amax(%amax : tensor<f32>)" if tensor else ""
    results = f"{s}, tensor<f32>, {e}" if tensor else s
    by = f"encode(%e : {e})" if tensor else f"scales(%s : {s})"
    return (["%amax: tensor<f32>"] * tensor, f"""\
  {'%s, %g, %e' if tensor else '%s'} = blockscale.scale %y : {y}{amax}
      to #blockscale.format<{kind}> by #blockscale.scale_rule<{RESULTS[kind]}>
      -> {results}
  %q = blockscale.quantize %y : {y} {by}
      to #blockscale.format<{kind}> -> {q}
  return %q, %s : {q}, {s}""", f"{q}, {s}")


def module(lhs, rhs, m, n, k, epilogue="", quantized="", tile=""):
    """`lhs` and `rhs` are formats or real types; sizes are numbers or "?";
    `tile` is "m, n, k, stages"."""
    a, lhs = _side("a", lhs, m, k)
    b, rhs = _side("b", rhs, n, k)
    operands, clause, element = _epilogue(epilogue, m, n)
    y = f"tensor<{m}x{n}x{element}>"
    amax, tail, results = _quantized(quantized, m, n, y)
    if tile:
        clause += f" {{blockscale.tile = array<i64: {tile}>}}"
    return f"""\
func.func @f({', '.join(a + b + operands + amax)}) -> ({results}) {{
  %y = blockscale.scaled_matmul lhs({lhs}) rhs({rhs}) {clause} : {y}
{tail}
}}
"""
