# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Programs that blockscale-fuse-rotations rewrites, against the same programs
run step by step, an op at a time, so that nothing is rewritten. Equal bits where
equality is claimed, a bound elsewhere; random shapes, sizes, signs."""
from common import *

random = np.random.default_rng(2)
REWRITTEN = os.environ["BLOCKSCALE_COMPILE"].replace("blockscale-compile", "blockscale-opt")


def rotations_left(text):
    done = subprocess.run([REWRITTEN, "-", "--blockscale-fuse-rotations=remarks=false",
                           "--canonicalize"], input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.count("blockscale.rotate")


def signs_text(signs, inverse=False):
    text = f", signs = array<i8: {', '.join(map(str, signs))}>" if signs is not None else ""
    return text + (", inverse" if inverse else "")


_single = {}


def rotate(x, size, axis=None, signs=None, inverse=False):
    """One rotation, compiled alone."""
    axis = x.ndim - 1 if axis is None else axis
    options = f"size = {size}, axis = {axis}{signs_text(signs, inverse)}"
    t = f"tensor<{'x'.join(map(str, x.shape))}xf32>"
    key = (t, options)
    if key not in _single:
        _single[key] = compile(f"""
func.func @rotate(%x: {t}) -> {t} {{
  %y = blockscale.rotate %x {{{options}}} : {t}
  return %y : {t}
}}""")
    return _single[key].rotate(x)


def draw_signs(size):
    return np.where(random.random(size) < 0.5, -1, 1)


for trial in range(6):
    size = int(2 ** random.integers(1, 7))
    rows, cols = int(random.integers(1, 9)), size * int(random.integers(1, 4))
    x = random.standard_normal((rows, cols)).astype(np.float32)
    t = f"tensor<{rows}x{cols}xf32>"

    # Three in a row.
    a, c = draw_signs(size), draw_signs(size)
    b = draw_signs(size)
    text = f"""
func.func @three(%x: {t}) -> {t} {{
  %a = blockscale.rotate %x {{size = {size}{signs_text(a)}}} : {t}
  %b = blockscale.rotate %a {{size = {size}{signs_text(b, True)}}} : {t}
  %c = blockscale.rotate %b {{size = {size}{signs_text(c)}}} : {t}
  return %c : {t}
}}"""
    # If b happens to undo a, c remains, which is one rotation as well.
    check("three become one", rotations_left(text) == 1)
    stepwise = rotate(rotate(rotate(x, size, signs=a), size, signs=b, inverse=True),
                      size, signs=c)
    check("three", np.abs(compile(text).three(x) - stepwise).max() < 1e-5)

    # Through a transpose: equal bits.
    tt = f"tensor<{cols}x{rows}xf32>"
    text = f"""
func.func @transposed(%x: {t}) -> {tt} {{
  %a = blockscale.rotate %x {{size = {size}{signs_text(a)}}} : {t}
  %e = tensor.empty() : {tt}
  %b = linalg.transpose ins(%a : {t}) outs(%e : {tt}) permutation = [1, 0]
  return %b : {tt}
}}"""
    same("transpose", bits(compile(text).transposed(x)), bits(rotate(x, size, signs=a).T))

    # Through a reshape of leading dimensions, and a negation: equal bits.
    x3 = random.standard_normal((3, rows, cols)).astype(np.float32)
    t3, flat = f"tensor<3x{rows}x{cols}xf32>", f"tensor<{3 * rows}x{cols}xf32>"
    text = f"""
func.func @reshaped(%x: {t3}) -> {flat} {{
  %a = blockscale.rotate %x {{size = {size}}} : {t3}
  %n = arith.negf %a : {t3}
  %b = tensor.collapse_shape %n [[0, 1], [2]] : {t3} into {flat}
  return %b : {flat}
}}"""
    same("reshape", compile(text).reshaped(x3), -rotate(x3, size).reshape(3 * rows, cols))

    # Sums and row factors: up to rounding; by a power of two, equal bits.
    y = random.standard_normal((rows, cols)).astype(np.float32)
    text = f"""
func.func @sum(%x: {t}, %y: {t}) -> {t} {{
  %a = blockscale.rotate %x {{size = {size}}} : {t}
  %b = blockscale.rotate %y {{size = {size}}} : {t}
  %s = arith.addf %a, %b : {t}
  return %s : {t}
}}
func.func @half(%x: {t}) -> {t} {{
  %h = arith.constant dense<0.5> : {t}
  %a = blockscale.rotate %x {{size = {size}}} : {t}
  %s = arith.mulf %a, %h : {t}
  return %s : {t}
}}
func.func @rows(%x: {t}, %f: tensor<{rows}xf32>) -> {t} {{
  %e = tensor.empty() : {t}
  %b = linalg.broadcast ins(%f : tensor<{rows}xf32>) outs(%e : {t}) dimensions = [1]
  %a = blockscale.rotate %x {{size = {size}}} : {t}
  %s = arith.divf %a, %b : {t}
  return %s : {t}
}}"""
    check("sums rotate once", rotations_left(text) == 3)
    library = compile(text)
    check("sum", np.abs(library.sum(x, y) - (rotate(x, size) + rotate(y, size))).max() < 1e-5)
    same("half", bits(library.half(x)), bits(rotate(x, size) * np.float32(0.5)))
    f = (random.random(rows) + 0.5).astype(np.float32)
    check("rows", np.abs(library.rows(x, f) - rotate(x, size) / f[:, None]).max() < 1e-5)

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

# Both parts of a split dimension: H_m (x) H_n = H_mn.
for m, n in [(2, 4), (4, 8), (16, 16)]:
    x = random.standard_normal((3, 2 * m * n)).astype(np.float32)
    t, e = f"tensor<3x{2 * m * n}xf32>", f"tensor<3x2x{m}x{n}xf32>"
    own = draw_signs(n)
    text = f"""
func.func @kronecker(%x: {t}) -> {t} {{
  %e = tensor.expand_shape %x [[0], [1, 2, 3]] output_shape [3, 2, {m}, {n}] : {t} into {e}
  %a = blockscale.rotate %e {{size = {n}{signs_text(own)}}} : {e}
  %b = blockscale.rotate %a {{size = {m}, axis = 2}} : {e}
  %c = tensor.collapse_shape %b [[0], [1, 2, 3]] : {e} into {t}
  return %c : {t}
}}"""
    check("two parts become one", rotations_left(text) == 1)
    split = rotate(rotate(x.reshape(3, 2, m, n), n, signs=own), m, axis=2)
    check(f"kronecker {m} {n}",
          np.abs(compile(text).kronecker(x) - split.reshape(x.shape)).max() < 1e-5)
finish(60)
