# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Hopper's products on the FP8 tensor cores, in the simulator: equal to the
exact ones; and which rows take part, told by a library whose bf16 kernel
negates its results."""
from matmul_support import *

REMARK = "exact via e4m3 wgmma.m64k32, both sides folded"
TILE = ("{blockscale.tile = array<i64: 256, 128, 128, 4>, "
        "blockscale.operands = \"e4m3\"}")
rng = np.random.default_rng(20)


def values_of(exponent_bits, mantissa_bits):
    """All codes of a float without specials, from OCP MX's definition."""
    bias = 2 ** (exponent_bits - 1) - 1
    values = []
    for code in range(1 << (exponent_bits + mantissa_bits)):
        e, m = code >> mantissa_bits, code % (1 << mantissa_bits)
        fraction = m / (1 << mantissa_bits)
        values.append(fraction * 2.0 ** (1 - bias) if e == 0 else
                      (1 + fraction) * 2.0 ** (e - bias))
    return np.array(values + [-x for x in values])


# Values, block, and how many binades a row's scales may spread: E4M3 has
# multiples of 2^-9 up to 448. The largest of e2m1, 6, may be moved up by 6
# binades, its unit, 1/2, down by 8; e2m3: 7.5 by 5, 1/8 by 6; e3m2: 28 by 4,
# 1/16 by 5.
TABLES = {"mxfp4": (values_of(2, 1), 32, 14), "fp4_e8m0": (values_of(2, 1), 16, 14),
          "mxfp6_e2m3": (values_of(2, 3), 32, 11),
          "mxfp6_e3m2": (values_of(3, 2), 32, 9)}


class Operand:
    def __init__(self, kind, rows, k, batch=(), around=124, spread=0):
        self.kind, self.k = kind, k
        self.table, self.block, _ = TABLES[kind]
        self.codes = rng.integers(0, len(self.table), (*batch, rows, k))
        self.scales = rng.integers(around - spread, around + 1,
                                   (*batch, rows, k // self.block))
        self.tensor = rng.uniform(0.5, 2) if kind == "fp4_e8m0" else None

    def values(self):
        scales = np.where(self.scales == 255, np.nan,
                          2.0 ** (self.scales - 127.0))
        return self.table[self.codes] * np.repeat(scales, self.block, -1)

    def arrays(self, tiled):
        codes, scales = (x.astype(np.uint8) for x in (self.codes, self.scales))
        if len(self.table) == 16:
            codes = codes[..., 0::2] | codes[..., 1::2] << 4
        result = [codes, tile_scales(scales) if tiled else scales]
        if self.tensor:
            result.append(np.array(self.tensor, np.float32))
        return result

    def declare(self, name, tiled, dynamic):
        *dims, k = self.codes.shape
        dims = ["?" if dynamic else str(d) for d in dims]

        def tensor(cols, element, encoding=""):
            return f"tensor<{'x'.join([*dims, str(cols), element])}{encoding}>"
        layout = ", #blockscale.tiled_128x4" if tiled else ""
        types = [tensor(k, mlir_type(FORMATS[self.kind][0])),
                 tensor(k // self.block, "f8E8M0FNU", layout)]
        types += ["tensor<f32>"] * bool(self.tensor)
        names = [f"%{name}{i}" for i in range(len(types))]
        return ([f"{n}: {t}" for n, t in zip(names, types)],
                f"{', '.join(names)} : {', '.join(types)} "
                f"as #blockscale.format<{self.kind}>")


def library_of(a, b, tiled=False, dynamic=False, tile=TILE, telling=False):
    """`telling`: products of the bf16 kernel come out negative."""
    (pa, ca), (pb, cb) = (x.declare(name, tiled, dynamic)
                          for x, name in ((a, "a"), (b, "b")))
    m, n = a.codes.shape[-2], b.codes.shape[-2]
    dims = [*a.codes.shape[:-2], m, n]
    y = f"tensor<{'x'.join('?' if dynamic else str(d) for d in dims)}xf32>"
    text = f"""
func.func @f({', '.join(pa + pb)}) -> {y} {{
  %y = blockscale.scaled_matmul lhs({ca}) rhs({cb}) {tile} : {y}
  return %y : {y}
}}"""
    return compile_for("sm_90a", text, negate if telling else None)


def negate(library):
    """The bf16 kernel's wgmma take B with the other sign."""
    changed = library.replace(b", p, 1, 1, 0;", b", p, 1,-1, 0;")
    assert changed != library
    return changed


def product(a, b):
    y = a.values() @ np.swapaxes(b.values(), -1, -2)
    return y * (a.tensor or 1) * (b.tensor or 1)


def tensor_core_error(a, b):
    """Rule matmul_c7: what sums of FP8 products may be off by."""
    va, vb = a.values()[..., :, None, :], b.values()[..., None, :, :]
    bound = 0
    for start in range(0, a.k, 128):
        partial = 0
        for k in range(start, min(start + 128, a.k), 32):
            products = va[..., k:k + 32] * vb[..., k:k + 32]
            largest = np.maximum(np.abs(products).max(-1), np.abs(partial))
            partial = partial + products.sum(-1)
            bound += 34 * 2.0 ** -13 * np.maximum(largest, np.abs(partial))
    return bound


def agrees(name, actual, a, b, sign=1):
    """Within rule matmul_c6, NaN where it belongs. The simulator's tensor core
    adds exactly, a GPU's as rule matmul_c7 says."""
    with np.errstate(invalid="ignore"):
        expected = product(a, b) * sign
        bound = np.abs(a.values()) @ np.swapaxes(np.abs(b.values()), -1, -2)
        bound *= (a.k / 16 + 4) * 2.0 ** -23
        if not os.environ.get("BLOCKSCALE_GPU_DEVICE", "sim").startswith("sim"):
            bound += tensor_core_error(a, b)
        bound *= abs((a.tensor or 1) * (b.tensor or 1))
        near = np.abs(actual - expected) <= bound
    good = near | (np.isnan(actual) & np.isnan(expected))
    check(name, actual.shape == expected.shape and good.all(),
          f"{(~good).sum()} of {good.size} wrong, first at "
          f"{[int(i[0]) for i in np.nonzero(~good)] if (~good).any() else ''}")


def run(library, a, b, tiled=False):
    return np.asarray(one(library.call("f", *a.arrays(tiled), *b.arrays(tiled))),
                      np.float64)


def case(name, a, b, tiled=False, dynamic=False):
    library, remarks = library_of(a, b, tiled, dynamic)
    check(f"{name}: remark", REMARK in remarks[0], remarks[0])
    agrees(name, run(library, a, b, tiled), a, b)


# Every pair of formats; sizes with tails, both layouts, run-time sizes.
for i, lhs in enumerate(TABLES):
    for j, rhs in enumerate(TABLES):
        m, n = (5, 130, 300, 257)[(i + j) % 4], (8, 129, 40, 260)[j]
        tiled = (i + j) % 2 == 1
        k = (32 if tiled else 128) * (1 + (3 * i + j) % 5)
        spreads = [TABLES[x][2] // 2 for x in (lhs, rhs)]
        case(f"{lhs} x {rhs} {m}x{n}x{k}", Operand(lhs, m, k, spread=spreads[0]),
             Operand(rhs, n, k, spread=spreads[1]), tiled, dynamic=j % 2 == 0)
# Batches, whose B is their own or shared; a row without a fit in one of them.
for shared in (False, True):
    a = Operand("mxfp4", 40, 128, (3,))
    b = Operand("mxfp4", 200, 128, () if shared else (3,))
    a.scales[1, 7, 2] = 60
    b.scales[(150, 1) if shared else (2, 150, 1)] = 60
    case(f"batches, shared: {shared}", a, b)

# Which tiles the bf16 kernel does: those with a row that does not fit. Tiles
# have 256 rows of A and 128 of B.
for kind, (table, block, spread) in TABLES.items():
    k = 128
    largest, smallest = len(table) // 2 - 1, 1
    a, b = Operand(kind, 300, k), Operand(kind, 300, k)
    # The whole range of a row whose scales spread as far as they may, ...
    for x, row in ((a, 3), (b, 290)):
        x.scales[row] = 124
        x.scales[row, 0] = 124 - spread
        x.codes[row, :block] = smallest
        x.codes[row, block:2 * block] = largest
    # ... and, in the second tile of rows and the first of columns, further.
    for x, row in ((a, 299), (b, 127)):
        x.scales[row] = 124
        x.scales[row, 1] = 123 - spread
        x.codes[row, block] = smallest
    # Blocks of zeros may have any scale, and rows of them.
    half = len(table) // 2  # -0
    a.scales[9, 0], a.codes[9, :block] = 254, 0
    b.scales[200, 1], b.codes[200, block:2 * block] = 0, half
    a.codes[10], b.codes[201] = half, 0
    a.scales[10] = rng.integers(0, 255, a.scales[10].shape)
    b.scales[201] = rng.integers(0, 255, b.scales[201].shape)
    # NaN makes a row's products NaN, whatever it multiplies.
    a.scales[11, 1] = b.scales[202, 0] = 255
    a.codes[11, block:2 * block] = 0
    library, _ = library_of(a, b, telling=True)
    sign = np.ones((300, 300))
    sign[256:] = -1
    sign[:, :128] = -1
    agrees(f"{kind}: tiles of the bf16 kernel", run(library, a, b), a, b, sign)

# Scales so large or small that factors of rows would leave the range of f32.
for where, other, fits in ((187, 67, True), (188, 66, False), (68, 186, True),
                           (66, 188, False)):
    a, b = Operand("mxfp4", 3, 128, around=where), Operand("mxfp4", 3, 128)
    b.scales[:] = other
    library, _ = library_of(a, b, telling=True)
    agrees(f"scales of 2^{where - 127} times 2^{other - 127}",
           run(library, a, b), a, b, 1 if fits else -1)

# The smallest elements alone: nothing that is larger hides them.
a, b = Operand("mxfp4", 20, 128, spread=14), Operand("mxfp4", 20, 128)
a.scales[:, 0], a.scales[:, 1:] = 124, 110
a.codes[:, 0] = 1
b.codes[:, :32] = 0
case("small blocks", a, b)

# Rows and sizes choose between the kernels.
a, b = Operand("mxfp4", 1, 1024), Operand("mxfp4", 1024, 1024)
_, remarks = library_of(a, b, tile="")
check("few rows", REMARK not in remarks[0] and "mma.m16n8k16" in remarks[0],
      remarks[0])
finish(at_least=45)
