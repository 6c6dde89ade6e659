"""What the tests of this folder share: support.py of the folder above, and
random numbers and seeds computed from their definitions."""
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import *  # noqa: F401,F403,E402

MASK64 = (1 << 64) - 1


def derive_seed(base, site, iteration=0):
    """SplitMix64's mixing (random_c4)."""
    z = (base + iteration * 2**31 + site * 0x9E3779B97F4A7C15) & MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


def philox(counter, key):
    """Philox4x32-10 on Python integers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF,
             (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def random_signs(seed, count):
    """Bit 31 of word i % 4 of counter (i / 4, 0, 1, 0) (random_c5)."""
    key = (seed & 0xFFFFFFFF, seed >> 32)
    words = [w for q in range((count + 3) // 4) for w in philox((q, 0, 1, 0), key)]
    return np.array([-1 if w >> 31 else 1 for w in words[:count]], np.int8)


def hadamard(n):
    h = np.array([[1.0]])
    while len(h) < n:
        h = np.block([[h, h], [h, -h]])
    return h / np.sqrt(n)


def relative_error(actual, expected):
    actual, expected = np.float64(actual), np.float64(expected)
    return np.linalg.norm(actual - expected) / np.linalg.norm(expected)


OPT = os.environ["BLOCKSCALE_COMPILE"].replace("blockscale-compile", "blockscale-opt")


def rewrite(text, *passes):
    """The module after passes, and what they remarked."""
    done = subprocess.run([OPT, "-", *passes], input=text, text=True, capture_output=True)
    assert done.returncode == 0, text + done.stderr
    return done.stdout, done.stderr


def rotations_by_function(text):
    """How many blockscale-fuse-rotations leaves in each."""
    after, _ = rewrite(text, "--blockscale-fuse-rotations=remarks=false", "--canonicalize")
    return [body.count("blockscale.rotate") for body in after.split("func.func")[1:]]


def rotations_left(text):
    return sum(rotations_by_function(text))


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
