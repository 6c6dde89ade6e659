# RUN: %python %s sm_80
# RUN: %python %s sm_90a
# RUN: %python %s sm_120a
# REQUIRES: numpy, blockscale-compile
"""Elements and scales next to every place where a code begins, encoded by GPU
libraries in the simulator, give the codes of the CPU library.

Chips with conversions to small floats use them, others sums and integers. The
inputs are the midpoints between neighbouring values and the values themselves,
some units in the last place to either side, zeros, subnormals, infinities, NaN
and random bits. The simulator's conversions are written from the PTX ISA, the
CPU's encoding is tested for every f32 by the unit tests of the numerics.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python"))
import blockscale  # noqa: E402

# name: element type, exponent bits, mantissa bits
ELEMENTS = {"mxfp8_e4m3": ("f8E4M3FN", 4, 3), "mxfp8_e5m2": ("f8E5M2", 5, 2),
            "mxfp6_e2m3": ("f6E2M3FN", 2, 3), "mxfp6_e3m2": ("f6E3M2FN", 3, 2),
            "mxfp4": ("f4E2M1FN", 2, 1)}
# format: scale type, block, exponent bits, mantissa bits, largest element
SCALES = {"mxfp8_e4m3": ("f8E8M0FNU", 32, 8, 0, 448),
          "mxfp4": ("f8E8M0FNU", 32, 8, 0, 6),
          "e2m1, block = 16, scale = ue4m3": ("f8E4M3FN", 16, 4, 3, 6)}
RULES = {"f8E8M0FNU": ["rceil", "ceil", "floor"], "f8E4M3FN": ["two_level"]}


def near_codes(exponent_bits, mantissa_bits):
    """Values of a float without specials, and the midpoints, and near them."""
    bias = max(2 ** (exponent_bits - 1) - 1, 1)
    codes = np.arange(2 ** (exponent_bits + mantissa_bits))
    exponent, fraction = codes >> mantissa_bits, codes % 2 ** mantissa_bits
    values = np.where(
        exponent > 0,
        (1 + fraction / 2 ** mantissa_bits) * 2.0 ** (exponent - bias),
        fraction / 2 ** mantissa_bits * 2.0 ** (1 - bias))
    values = np.concatenate([values, (values[1:] + values[:-1]) / 2])
    bits = values[values < 3e38].astype(np.float32).view(np.uint32)
    steps = np.array([-2, -1, 0, 1, 2, 3], np.int64)
    return (bits.astype(np.int64)[:, None] + steps).clip(0).astype(np.uint32)


def inputs(exponent_bits, mantissa_bits, factor=1.0):
    random = np.random.default_rng(exponent_bits)
    near = near_codes(exponent_bits, mantissa_bits).ravel().view(np.float32)
    with np.errstate(over="ignore"):
        near = (near * np.float32(factor)).astype(np.float32)
    special = np.array([0, 1, 0x3fffff, 0x400000, 0x400001, 0x7fffff, 0x800000,
                        0x7effffff, 0x7f000000, 0x7f000001, 0x7f7fffff,
                        0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff],
                       np.uint32).view(np.float32)
    any_bits = random.integers(0, 2 ** 32, 1500, np.uint32).view(np.float32)
    x = np.concatenate([near, special, any_bits])
    return np.concatenate([x.view(np.uint32), x.view(np.uint32) ^ (1 << 31)]
                          ).view(np.float32)


def element_case(name, rounding):
    element, exponent_bits, mantissa_bits = ELEMENTS[name]
    x = inputs(exponent_bits, mantissa_bits)
    x = np.resize(x, (-(-x.size // 32), 32))
    seed = " seed(%seed : tensor<i64>)" if rounding == "stochastic" else ""
    text = f"""func.func @f(%x: tensor<?x32xf32>, %s: tensor<?x1xf8E8M0FNU>, %seed: tensor<i64>) -> tensor<?x32x{element}> {{
  %q = blockscale.quantize %x : tensor<?x32xf32> scales(%s : tensor<?x1xf8E8M0FNU>) to #blockscale.format<{name}> round {rounding}{seed} -> tensor<?x32x{element}>
  return %q : tensor<?x32x{element}>
}}
"""
    return text, [x, np.full((len(x), 1), 127, np.uint8),
                  np.array(7, np.int64)]


def scale_case(name, rule):
    scale, block, exponent_bits, mantissa_bits, largest = SCALES[name]
    measures = inputs(exponent_bits, mantissa_bits, largest)
    x = np.zeros((measures.size, block), np.float32)
    x[np.arange(measures.size), np.arange(measures.size) % block] = measures
    encode = ", tensor<?x1xf32>" if rule == "two_level" else ""
    names = "%s, %e" if encode else "%s"
    text = f"""func.func @f(%x: tensor<?x{block}xf32>) -> tensor<?x1x{scale}> {{
  {names} = blockscale.scale %x : tensor<?x{block}xf32> to #blockscale.format<{name}> by #blockscale.scale_rule<{rule}> -> tensor<?x1x{scale}>{encode}
  return %s : tensor<?x1x{scale}>
}}
"""
    return text, [x]


def cases():
    for name in ELEMENTS:
        for rounding in "nearest_even", "stochastic", "toward_zero":
            yield f"{name} {rounding}", element_case(name, rounding)
    for name, (scale, *_) in SCALES.items():
        for rule in RULES[scale]:
            yield f"scales of {name} {rule}", scale_case(name, rule)


def run(chip):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, (text, arguments)) in enumerate(cases()):
            source = Path(folder) / f"{number}.mlir"
            source.write_text(text)
            results = []
            for target in "cpu", chip:
                library = source.with_suffix(f".{target}.so")
                subprocess.run(["blockscale-compile", source,
                                f"--target={target}", "-o", library],
                               check=True)
                device = {} if target == "cpu" else {"device": "sim"}
                result = blockscale.load(library, **device).f(*arguments)
                results.append(np.frombuffer(np.asarray(result).tobytes(),
                                             np.uint8))
            different = np.flatnonzero(results[0] != results[1])
            if different.size:
                failed += 1
                first = different[0]
                print(f"FAIL {name}: {different.size} bytes differ, first "
                      f"{first}: {results[0][first]:#x} on the CPU, "
                      f"{results[1][first]:#x}")
    print("the codes are the CPU's" if not failed else f"{failed} cases failed")
    return failed != 0


sys.exit(run(sys.argv[1]))
