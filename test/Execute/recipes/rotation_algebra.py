# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Programs that blockscale-fuse-rotations rewrites, against the same programs
run step by step, an op at a time, so that nothing is rewritten. Equal bits where
equality is claimed, a bound elsewhere; random shapes, sizes, signs. Moves through
other ops: rotation_moves.py."""
import re

from common import *

random = np.random.default_rng(2)


def draw_signs(size):
    return np.where(random.random(size) < 0.5, -1, 1)


def exact_rotation(x, size, signs, inverse):
    """Along the last axis, in float64."""
    d = np.ones(size) if signs is None else signs
    runs = np.float64(x).reshape(-1, size)
    runs = runs @ hadamard(size) * d if inverse else runs * d @ hadamard(size)
    return runs.reshape(x.shape)


merged = []
for trial in range(6):
    size = int(2 ** random.integers(1, 7))
    rows, cols = int(random.integers(1, 9)), size * int(random.integers(1, 4))
    x = random.standard_normal((rows, cols)).astype(np.float32)
    t = f"tensor<{rows}x{cols}xf32>"

    # Three in a row: signs before or after, plain ones between; any that leave
    # signs on one side become one, the others stay three.
    a, b, c = draw_signs(size), draw_signs(size), draw_signs(size)
    a[0], b[0], c[0] = -1, -1, -1
    ways, text = [], ""
    for way in range(8):
        chosen = [s if random.random() < 0.7 else None for s in (a, b, c)]
        options = list(zip(chosen, [bool(way & 1), bool(way & 2), bool(way & 4)]))
        ways.append(options)
        text += f"""
func.func @three{way}(%x: {t}) -> {t} {{
  %a = blockscale.rotate %x {{size = {size}{signs_text(*options[0])}}} : {t}
  %b = blockscale.rotate %a {{size = {size}{signs_text(*options[1])}}} : {t}
  %c = blockscale.rotate %b {{size = {size}{signs_text(*options[2])}}} : {t}
  return %c : {t}
}}"""
    ways.append([(a, False), (b, True), (c, False)])
    text += f"""
func.func @three8(%x: {t}) -> {t} {{
  %a = blockscale.rotate %x {{size = {size}{signs_text(a)}}} : {t}
  %b = blockscale.rotate %a {{size = {size}{signs_text(b, True)}}} : {t}
  %c = blockscale.rotate %b {{size = {size}{signs_text(c)}}} : {t}
  return %c : {t}
}}"""
    library, left = compile(text), rotations_by_function(text)
    for way, options in enumerate(ways):
        stepwise = x
        for signs, inverse in options:
            stepwise = exact_rotation(stepwise, size, signs, inverse)
        merged.append(left[way])
        check(f"three, way {way}", left[way] in (1, 3) and
              np.abs(library.call(f"three{way}", x) - stepwise).max() < 1e-5, (left, options))
    check("three become one", left[8] == 1)

    # A constant: equal bits, for every type and axis.
    for dtype in ["f32", "bf16"]:
        values = (random.integers(-64, 64, (rows, cols)) / 8).astype(np.float32)
        body = ", ".join("[" + ", ".join(f"{v:e}" for v in row) + "]" for row in values)
        ct = f"tensor<{rows}x{cols}x{dtype}>"
        text = f"""
func.func @constant() -> {ct} {{
  %c = arith.constant dense<[{body}]> : {ct}
  %r = blockscale.rotate %c {{size = {size}{signs_text(c, True)}}} : {ct}
  return %r : {ct}
}}
func.func @argument(%c: {ct}) -> {ct} {{
  %r = blockscale.rotate %c {{size = {size}{signs_text(c, True)}}} : {ct}
  return %r : {ct}
}}"""
        check("the constant is folded", rotations_left(text) == 1)
        library = compile(text)
        stored = values if dtype == "f32" else blockscale.to_bf16(values)
        same(f"constant {dtype}", library.constant().view(np.uint8),
             library.argument(stored).view(np.uint8))

    # Both plain sides of a product: the exact product does not change.
    w = random.standard_normal((5, cols)).astype(np.float32)
    wt, yt = f"tensor<5x{cols}xf32>", f"tensor<{rows}x5xf32>"
    text = f"""
func.func @product(%x: {t}, %w: {wt}) -> {yt} {{
  %a = blockscale.rotate %x {{size = {size}{signs_text(a)}}} : {t}
  %b = blockscale.rotate %w {{size = {size}{signs_text(a)}}} : {wt}
  %y = blockscale.scaled_matmul lhs(%a : {t}) rhs(%b : {wt}) : {yt}
  return %y : {yt}
}}"""
    check("the pair goes", rotations_left(text) == 0)
    exact = x.astype(np.float64) @ w.T.astype(np.float64)
    same("product", compile(text).product(x, w), exact.astype(np.float32))

# Large constants, of which parts are rotated at a time, by a matrix as well.
for shape, axis, size, matrix in (((3, 80, 1100), 1, 16, False), ((5, 33, 2048), 2, 128, False), ((60, 700), 0, 12, True),
                                  ((90, 2400), 1, 24, True), ((0, 64), 1, 32, False)):
    x = random.standard_normal(shape).astype(np.float32)
    m = np.linalg.qr(random.standard_normal((size, size)))[0].astype(np.float32)
    t, mt = f"tensor<{'x'.join(map(str, shape))}xf32>", f"tensor<{size}x{size}xf32>"
    by = f"matrix(%m : {mt})" if matrix else ""
    text = ""
    for name, arguments, prologue in (("kernel", f"%x: {t}, %m: {mt}", ""), ("folded", "", "".join(
            f'%{v} = arith.constant dense<"0x{a.tobytes().hex()}"> : {k}\n  ' if a.size else
            f"%{v} = arith.constant dense<> : {k}\n  " for v, a, k in (("x", x, t), ("m", m, mt))))):
        text += f"""
func.func @{name}({arguments}) -> {t} {{
  {prologue}%y = blockscale.rotate %x {by} {{size = {size}, axis = {axis}{signs_text(draw_signs(size), True)}}} : {t}
  return %y : {t}
}}"""
    text = text.replace(re.findall("signs = array<i8: [^>]*>", text)[1], re.findall("signs = array<i8: [^>]*>", text)[0])
    check(f"{shape} is folded", rotations_by_function(text) == [1, 0])
    library = compile(text)
    same(f"constant {shape} along {axis}", bits(library.folded()), bits(library.kernel(x, m)))

check("some of the three merge, some do not", set(merged) == {1, 3}, merged)

# Both parts of a split dimension: H_m (x) H_n = H_mn.
for m, n, outer in [(2, 4, False), (4, 8, True), (16, 16, False), (8, 4, True)]:
    x = random.standard_normal((3, 2 * m * n)).astype(np.float32)
    t, e = f"tensor<3x{2 * m * n}xf32>", f"tensor<3x2x{m}x{n}xf32>"
    # The first rotation's signs, of the inner or of the outer part.
    own = draw_signs(m if outer else n)
    first, second = ((m, 2), (n, 3)) if outer else ((n, 3), (m, 2))
    text = f"""
func.func @kronecker(%x: {t}) -> {t} {{
  %e = tensor.expand_shape %x [[0], [1, 2, 3]] output_shape [3, 2, {m}, {n}] : {t} into {e}
  %a = blockscale.rotate %e {{size = {first[0]}, axis = {first[1]}{signs_text(own)}}} : {e}
  %b = blockscale.rotate %a {{size = {second[0]}, axis = {second[1]}}} : {e}
  %c = tensor.collapse_shape %b [[0], [1, 2, 3]] : {e} into {t}
  return %c : {t}
}}"""
    check("two parts become one", rotations_left(text) == 1)
    split = rotate(rotate(x.reshape(3, 2, m, n), *first, signs=own), *second)
    check(f"kronecker {m} {n}",
          np.abs(compile(text).kronecker(x) - split.reshape(x.shape)).max() < 1e-5)
finish(90)
