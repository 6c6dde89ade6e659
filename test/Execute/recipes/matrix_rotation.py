# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Rotations by a matrix: each bit is that of f32 sums in ascending order; the
inverse undoes them; Hadamard's matrix does what the butterflies do."""
from common import *

random = np.random.default_rng(1)


def module(shape, size, axis, signs, inverse, dtype="f32"):
    x, m = f"tensor<{shape}x{dtype}>", f"tensor<{size}x{size}xf32>"
    s = f"tensor<{size}xi8>"
    by = f"signs(%s : {s}) " if signs == "operand" else ""
    attr = f", signs = array<i8: {signs}>" if signs not in ("operand", "") else ""
    return f"""
func.func @rotate(%x: {x}, %m: {m}, %s: {s}) -> {x} {{
  %y = blockscale.rotate %x {by}matrix(%m : {m})
      {{size = {size}, axis = {axis}{attr}{", inverse" if inverse else ""}}} : {x}
  return %y : {x}
}}"""


def expected(x, matrix, signs, axis, size, inverse):
    runs = np.moveaxis(x, axis, -1)
    shape = runs.shape
    runs = runs.reshape(-1, size)
    p = matrix.T * signs[None, :] if inverse else matrix * signs[:, None]
    total = np.zeros_like(runs)
    for i in range(size):
        total = total + runs[:, i:i + 1] * p[i].astype(np.float32)
    return np.moveaxis(total.reshape(shape), -1, axis)


for size, shape, axis in [(12, (7, 24), 1), (24, (3, 5, 48), 2), (20, (60, 37), 0),
                          (40, (2, 80, 19), 1), (28, (4, 56), 1), (3, (9, 33), 1),
                          (16, (5, 64), 1)]:
    matrix = np.linalg.qr(random.standard_normal((size, size)))[0].astype(np.float32)
    given = np.where(random.random(size) < 0.5, -1, 1).astype(np.int8)
    x = random.standard_normal(shape).astype(np.float32)
    dynamic = "x".join(["?" if i == 0 and axis != 0 else str(n)
                        for i, n in enumerate(shape)])
    for signs in ["", "operand", ", ".join(map(str, given))]:
        used = np.ones(size, np.int8) if signs == "" else given
        results = []
        for inverse in (False, True):
            library = compile(module(dynamic, size, axis, signs, inverse))
            y = library.rotate(x, matrix, given)
            name = f"{size} of {shape} along {axis}, signs {signs}, inverse {inverse}"
            same(name, bits(y), bits(expected(x, matrix, used, axis, size, inverse)))
            results.append(library)
        back = results[1].rotate(results[0].rotate(x, matrix, given), matrix, given)
        check(f"{size} of {shape}: back", np.abs(back - x).max() < 1e-5)

# Hadamard's matrix as a matrix, against the butterflies: the same up to rounding.
x = random.standard_normal((6, 64)).astype(np.float32)
h = hadamard(32).astype(np.float32)
by_matrix = compile(module("?x64", 32, 1, "", False)).rotate(x, h, np.ones(32, np.int8))
butterflies = compile("""
func.func @rotate(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = blockscale.rotate %x {size = 32} : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}""").rotate(x)
check("Hadamard", np.abs(by_matrix - butterflies).max() < 1e-5)
finish(60)
