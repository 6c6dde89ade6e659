# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Stochastic rounding of compiled code, bit for bit: Philox4x32-10 and the law
of the vectors, both written down again here in NumPy; and its mean."""
from support import *


def philox4x32_10(counter, key):
    """Words of Salmon et al., SC 2011; counter is 4 x n, key two numbers."""
    c = [np.asarray(word, np.uint64) for word in counter]
    k = [np.uint64(word) for word in key]
    mask = np.uint64(0xFFFFFFFF)
    for round in range(10):
        if round:
            k = [(k[0] + np.uint64(0x9E3779B9)) & mask,
                 (k[1] + np.uint64(0xBB67AE85)) & mask]
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        shift = np.uint64(32)
        c = [(p1 >> shift) ^ c[1] ^ k[0], p1 & mask,
             (p0 >> shift) ^ c[3] ^ k[1], p0 & mask]
    return c


def random_words(count, seed):
    """The 32 random bits of elements 0 ... count - 1 (random_c2)."""
    index = np.arange((count + 3) // 4, dtype=np.uint64)
    zero = np.zeros_like(index)
    words = philox4x32_10([index & np.uint64(0xFFFFFFFF),
                           index >> np.uint64(32), zero, zero],
                          [seed & 0xFFFFFFFF, seed >> 32])
    return np.stack(words, -1).reshape(-1)[:count].astype(np.uint64)


def law(x, random, element):
    """Up if and only if r / 2^32 < (|x| - lo) / (hi - lo); float64 holds every
    term exactly: steps are powers of two."""
    values = magnitudes_of(element)
    magnitude = np.minimum(np.abs(x.astype(np.float64)), values[-1])
    low = np.searchsorted(values, magnitude, side="right") - 1
    high = np.minimum(low + 1, len(values) - 1)
    step = np.where(high > low, values[high] - values[low], 1)
    up = random < (magnitude - values[low]) / step * 2.0 ** 32
    code = np.where(up, high, low)
    width = width_of(element)
    if element[0] == "e":
        return code | (np.signbit(x).astype(int) << (width - 1))
    return np.where(np.signbit(x), -code, code) & ((1 << width) - 1)


# The generator itself: Random123's known answers.
known = philox4x32_10([[0]] * 4, [0, 0])
same("Philox of zeros", [int(word[0]) for word in known],
     [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8])
known = philox4x32_10([[0x243F6A88], [0x85A308D3], [0x13198A2E],
                       [0x03707344]], [0xA4093822, 0x299F31D0])
same("Philox of digits of pi", [int(word[0]) for word in known],
     [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1])

# The law, against the vectors.
for row in refs("sr_vectors.json")["rows"]:
    element = ELEMENTS.get(row["fmt"], row["fmt"])
    code = law(floats([row["x"]]), np.array([int(row["r32"], 16)], np.uint64),
               element)
    same(f"law {row['fmt']} {row['x']}", code, [row["code_threshold"]])


def quantizer(element, batch, columns):
    type = mlir_type(element)
    x = f"tensor<{batch}x?x{columns}xf32>"
    blocks = (columns + 31) // 32
    s = f"tensor<{batch}x?x{blocks}xf8E8M0FNU>"
    q = f"tensor<{batch}x?x{blocks * 32}x{type}>"
    return f"""
func.func @q(%x: {x}, %s: {s}, %seed: tensor<i64>) -> {q} {{
  %q = blockscale.quantize %x : {x} scales(%s : {s})
      to #blockscale.format<{element}, block = 32, scale = e8m0>
      round stochastic seed(%seed : tensor<i64>) {{pad}} -> {q}
  return %q : {q}
}}"""


generator = np.random.default_rng(3)
for element in ["e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "int4q2", "int8q6"]:
    values = magnitudes_of(element)
    library = compile(quantizer(element, 2, 70))
    rows = 41
    x = generator.normal(0, values[-1] / 2, (2, rows, 70)).astype(np.float32)
    x[0, :3] *= np.float32(1e-3)
    x[0, 5] = 0
    x[1, 5] = np.resize(values, 70)  # on the grid: stays
    x[1, 6, :2] = [np.inf, -np.inf]
    ones = np.full((2, rows, 3), 127, np.uint8)
    padded = np.zeros((2, rows, 96), np.float32)
    padded[..., :70] = x
    for seed in [0, 1, 0x123456789ABCDEF0, 2 ** 63 + 5]:
        expected = law(padded, random_words(padded.size, seed).reshape(
            padded.shape), element)
        codes = library.q(x, ones, np.uint64(seed).astype(np.int64))
        same(f"{element} seed {seed:x}", unpack(codes, element), expected)

# The mean of n draws is within 5 standard deviations (random_c3).
element, rows = "e2m1", 4096
library = compile(quantizer(element, 1, 64))
x = np.linspace(-6, 6, 64, dtype=np.float32)
ones = np.full((1, rows, 2), 127, np.uint8)
codes = unpack(library.q(np.tile(x, (1, rows, 1)), ones, np.int64(11)),
               element)[0]
values = magnitudes_of(element)
drawn = np.where(codes & 8, -1, 1) * values[codes & 7]
error = drawn.mean(0) - x
deviation = drawn.std(0) / np.sqrt(rows)
check("unbiased", (np.abs(error) <= 5 * deviation + 1e-12).all(),
      f"off by {np.abs(error).max()}")
check("unbiased as a whole", abs(error.mean()) < 5 * np.sqrt(
    (deviation ** 2).sum()) / len(x))
finish(at_least=2 + 160 + 7 * 4 + 2)
