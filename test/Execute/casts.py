# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Elements and scales are encoded as the cast vectors say.

A block scale of 1 (E8M0 byte 127) makes quantize an element cast. A scale is
cast by `scale` on blocks with one number, elements int2 (largest magnitude 1)
and the order of operations that leaves the number alone.
"""
from support import *

vectors = refs("cast_vectors.json")["formats"]
SCALES = {"e8m0fnu": "e8m0", "ue5m3_fnu": "ue5m3"}


def quantizer(name, element, rounding, rows):
    type = mlir_type(element)
    return f"""
func.func @{name}(%x: tensor<{rows}x32xf32>, %s: tensor<{rows}x1xf8E8M0FNU>)
    -> tensor<{rows}x32x{type}> {{
  %q = blockscale.quantize %x : tensor<{rows}x32xf32>
      scales(%s : tensor<{rows}x1xf8E8M0FNU>)
      to #blockscale.format<{element}, block = 32, scale = e8m0>
      round {rounding} -> tensor<{rows}x32x{type}>
  return %q : tensor<{rows}x32x{type}>
}}"""


def cast_elements(name, vector):
    element = ELEMENTS.get(name, name)
    special = vector["special"]
    x = [row["x"] for row in vector["rows"]]
    x += ["7f800000", "ff800000", "7fc00000", "ffc00000", "80000000"]
    rows = (len(x) + 31) // 32
    padded = np.zeros(rows * 32, np.float32)
    padded[:len(x)] = floats(x)
    library = compile("".join(quantizer(short, element, rounding, rows)
                              for short, rounding in ROUNDINGS.items()))
    ones = np.full((rows, 1), 127, np.uint8)
    for short in ROUNDINGS:
        expected = [row[short] for row in vector["rows"]]
        expected += [special["inf_satfinite"], special["neginf_satfinite"],
                     special["nan_recommended"], special["nan_recommended"],
                     special["negzero"]]
        codes = unpack(library.call(short, padded.reshape(rows, 32), ones),
                       element)
        same(f"{name} {short}", codes.reshape(-1)[:len(x)], expected)


def scaler(name, scale, rule, rows):
    type = mlir_type(scale)
    encode = f", tensor<{rows}x1xf32>" if rule == "reciprocal" else ""
    results = "%s, %e" if encode else "%s"
    return f"""
func.func @{name}(%x: tensor<{rows}x8xf32>) -> tensor<{rows}x1x{type}> {{
  {results} = blockscale.scale %x : tensor<{rows}x8xf32>
      to #blockscale.format<int2, block = 8, scale = {scale}>
      by #blockscale.scale_rule<{rule}> -> tensor<{rows}x1x{type}>{encode}
  return %s : tensor<{rows}x1x{type}>
}}"""


def cast_scales(name, vector):
    scale = SCALES[name]
    x = [row["x"] for row in vector["rows"]]
    # An infinite block is a NaN block where the scale is E8M0 (scale_c12).
    extra = ["7fc00000"] + (["7f800000"] if scale != "e8m0" else [])
    extra_codes = [vector["special"]["nan_recommended"],
                   vector["special"]["inf_satfinite"]][:len(extra)]
    x += extra
    blocks = np.zeros((len(x), 8), np.float32)
    blocks[:, 3] = floats(x)
    rules = {"rne": "reciprocal"}
    if scale == "e8m0":
        rules |= {"rtz": "floor", "ru": "ceil"}
    library = compile("".join(scaler(short, scale, rule, len(x))
                              for short, rule in rules.items()))
    for short in rules:
        codes = library.call(short, blocks).view(np.uint8).reshape(-1)
        expected = [row[short] for row in vector["rows"]] + extra_codes
        same(f"{name} {short}", codes, expected)


for name, vector in vectors.items():
    (cast_scales if name in SCALES else cast_elements)(name, vector)
finish(at_least=9 * 4 + 4)
