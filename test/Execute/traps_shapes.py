# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Mistakes of shapes and layouts that others made; a check is named by their
report. Products are exact: codes and scales are small multiples of powers of
two, so that every order of summation gives the same f64."""
from support import *

random = np.random.default_rng(8)
E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
E4M3 = magnitudes_of("e4m3")


def sides(shape, block=16):
    """Codes, scale codes and values of nvfp4 without its tensor scale."""
    codes = random.integers(0, 16, shape, np.uint8)
    scales = random.integers(40, 72, (*shape[:-1], shape[-1] // block),
                             np.uint8)
    values = np.where(codes & 8, -1, 1) * E2M1[codes & 7]
    return codes, scales, values * np.repeat(E4M3[scales], block, -1)


def product(name, m, n, k, batch="", shared=False, preset="nvfp4", element="f4E2M1FN",
            scale="f8E4M3FN", block=16, tiled=("", "")):
    a, b = f"{batch}{m}", n if shared else f"{batch}{n}"
    layout = [", #blockscale.tiled_128x4" if t else "" for t in tiled]
    g = (", %g0", ", %g1", ", tensor<f32>") if preset == "nvfp4" \
        else ("", "", "")
    arguments = "%g0: tensor<f32>, %g1: tensor<f32>, " if g[0] else ""
    sa = f"tensor<{a}x{k // block}x{scale}{layout[0]}>"
    sb = f"tensor<{b}x{k // block}x{scale}{layout[1]}>"
    qa, qb = f"tensor<{a}x{k}x{element}>", f"tensor<{b}x{k}x{element}>"
    y = f"tensor<{a}x{n}xf32>"
    return f"""
func.func @{name}({arguments}%a: {qa}, %sa: {sa}, %b: {qb}, %sb: {sb}) -> {y} {{
  %y = blockscale.scaled_matmul
      lhs(%a, %sa{g[0]} : {qa}, {sa}{g[2]} as #blockscale.format<{preset}>)
      rhs(%b, %sb{g[1]} : {qb}, {sb}{g[2]} as #blockscale.format<{preset}>)
      : {y}
  return %y : {y}
}}"""


def call(library, a, b, levels=(1, 1)):
    g = [np.float32(level) for level in levels]
    return library.f(*g, pack(a[0], "e2m1"), a[1], pack(b[0], "e2m1"), b[1])


def rounded(exact):
    return exact.astype(np.float32)


# The last columns were garbage where N is no multiple of the tile.
a, b = sides((3, 8224)), sides((1296, 8224))
same("aiter#4748 N = 1296, K = 8224",
     call(compile(product("f", "?", 1296, 8224)), a, b),
     rounded(a[2] @ b[2].T))
for n, k in [(1, 16), (31, 48), (33, 1040), (65, 2064), (127, 16)]:
    library = compile(product("f", "?", "?", k))
    for m in (1, 2, 5, 67):
        a, b = sides((m, k)), sides((n, k))
        same(f"aiter#4748 {m}x{n}x{k}", call(library, a, b),
             rounded(a[2] @ b[2].T))

# Strides of batches: M, N and K all different; a right side for all.
library = compile(product("f", "?", "?", 48, batch="?x?x"))
a, b = sides((2, 3, 5, 48)), sides((2, 3, 9, 48))
same("cudnn-frontend#223", call(library, a, b),
     rounded(np.einsum("xymk,xynk->xymn", a[2], b[2])))
library = compile(product("f", "?", "?", 48, batch="3x", shared=True))
a, b = sides((3, 7, 48)), sides((9, 48))
same("triton#11733 batched, shared right side", call(library, a, b),
     rounded(np.einsum("xmk,nk->xmn", a[2], b[2])))

# Tensor scales of either side are applied.
library = compile(product("f", 4, 8, 32))
a, b = sides((4, 32)), sides((8, 32))
plain = call(library, a, b)
same("xla#32525 left", call(library, a, b, (0.5, 1)), plain * np.float32(.5))
same("xla#32525 right", call(library, a, b, (1, 4)), plain * np.float32(4))

# MXFP8 with K no multiple of 128.
for k in (32, 96, 160, 8160):
    library = compile(product("f", 5, 33, k, preset="mxfp8_e4m3",
                              element="f8E4M3FN", scale="f8E8M0FNU", block=32))
    codes = [random.integers(0, 100, (rows, k), np.uint8) for rows in (5, 33)]
    scales = [random.integers(125, 130, (rows, k // 32), np.uint8)
              for rows in (5, 33)]
    values = [E4M3[c] * np.repeat(2.0 ** (s.astype(float) - 127), 32, -1)
              for c, s in zip(codes, scales)]
    same(f"pytorch#152665 K = {k}",
         library.f(codes[0], scales[0], codes[1], scales[1]),
         rounded(values[0] @ values[1].T))

# Scales in tiles, with NaN in the padding of either side.
tile = np.array(refs("swizzle_128x4.json")["tile"])
same("torch-mlir#4598 row 1", tile[1, 0], 16)


def tiled(scales, padding):
    rows, cols = scales.shape
    down, across = -(-rows // 128), -(-cols // 4)
    memory = np.full(down * across * 512, padding, np.uint8)
    r, c = np.indices(scales.shape)
    memory[(r // 128 * across + c // 4) * 512 + tile[r % 128, c % 4]] = scales
    return memory


for m, n, k in [(130, 40, 80), (1, 129, 16), (128, 128, 128)]:
    a, b = sides((m, k)), sides((n, k))
    exact = rounded(a[2] @ b[2].T)
    for which in [(True, False), (False, True), (True, True)]:
        library = compile(product("f", m, n, k, tiled=which))
        operands = [(codes, tiled(scales, 0x7F) if t else scales)
                    for (codes, scales, _), t in zip((a, b), which)]
        same(f"TransformerEngine#3070 {m}x{n}x{k} tiles {which}",
             call(library, *operands), exact)

# To tiles and back and to tiles again: layouts do not add up.
library = compile("""
func.func @f(%s: tensor<200x10xf8E4M3FN>) -> tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4> {
  %t = blockscale.relayout %s : tensor<200x10xf8E4M3FN>
      -> tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4>
  %u = blockscale.relayout %t : tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4>
      -> tensor<200x10xf8E4M3FN>
  %v = blockscale.relayout %u : tensor<200x10xf8E4M3FN>
      -> tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4>
  return %v : tensor<200x10xf8E4M3FN, #blockscale.tiled_128x4>
}""")
scales = random.integers(1, 127, (200, 10), np.uint8)
memory = library.f(scales).view(np.uint8)
same("modular#6600 tiled once", memory, tiled(scales, 0))
same("torch-mlir#4598", memory[16], scales[1, 0])

# Code does not grow with the sizes of the product.
sizes = []
for m, n, k in [(64, 128, 128), (4096, 4096, 4096)]:
    text = product("f", m, n, k)
    done = subprocess.run([os.environ["BLOCKSCALE_COMPILE"], "-",
                           "--emit=llvm"], input=text, text=True,
                          capture_output=True)
    check("triton#10918 compiles", done.returncode == 0, done.stderr)
    sizes.append(done.stdout.count("\n"))
check("triton#10918", max(sizes) < 5000 and sizes[1] < 1.2 * sizes[0], sizes)
finish(at_least=40)
