# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Rotations against the vectors' f64 results, and back."""
from support import *

cases = refs("hadamard_vectors.json")["cases"]
EPSILON = 2.0 ** -24


def rotation(name, rows, size, signs, inverse=""):
    type = f"tensor<{rows}x{size}xf32>"
    return f"""
func.func @{name}(%x: {type}) -> {type} {{
  %y = blockscale.rotate %x {{size = {size}, signs = array<i8: {signs}>{inverse}}} : {type}
  return %y : {type}
}}
func.func @{name}_operand(%x: {type}, %s: tensor<{size}xi8>) -> {type} {{
  %y = blockscale.rotate %x signs(%s : tensor<{size}xi8>) {{size = {size}{inverse}}} : {type}
  return %y : {type}
}}"""


def hadamard(n):
    h = np.ones((1, 1))
    while len(h) < n:
        h = np.block([[h, h], [h, -h]])
    return h


for text, case in cases.items():
    size = int(text)
    x = floats(case["x"]).reshape(-1, size)
    signs = ", ".join(map(str, case["sign"]))
    library = compile(rotation("there", len(x), size, signs)
                      + rotation("back", len(x), size, signs, ", inverse"))
    same(f"row 1 of H{size}", hadamard(size)[1, :8], case["row1"])
    y = np.array(case["y_f64"]).reshape(-1, size)
    actual = library.there(x)
    # log2(size) additions and a product, each half an ulp of a partial sum
    # that is at most the sum of magnitudes.
    sums = np.abs(x).astype(np.float64).sum(-1, keepdims=True) / np.sqrt(size)
    bound = EPSILON * (np.log2(size) + 2) * sums
    check(f"H{size}", (np.abs(actual - y) <= bound).all(),
          f"off by {np.abs(actual - y).max()}")
    check(f"H{size} and its inverse",
          (np.abs(library.back(actual) - x) <= 4 * bound).all())
    s = np.array(case["sign"], np.int8)
    same(f"H{size} with signs in memory", library.there_operand(x, s), actual)
    same(f"inverse H{size} with signs in memory",
         library.back_operand(actual, s), library.back(actual))
    # Small integers are exact until the last product, which is rounded.
    small = (np.arange(x.size).reshape(x.shape) * 7 % 31 - 15).astype(
        np.float32)
    exact = (small * s).astype(np.float64) @ hadamard(size)
    same(f"H{size} of small integers", library.there(small),
         exact.astype(np.float32) * np.float32(1 / np.sqrt(size)))
finish(at_least=4 * 6)
