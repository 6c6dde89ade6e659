"""What the tests of this folder share: MLIR text to a callable library, the
reference vectors, codes in memory, and checks that have a name.

Expected values come from test/Inputs/refs or are computed here with NumPy,
from the definitions: by searching a table of values, in float64 or in exact
integers. Nothing here knows how compiled code computes them.
"""
import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import blockscale

REFS = Path(__file__).resolve().parent.parent / "Inputs" / "refs"

# Element and scale names, as formats spell them, to types of MLIR.
MLIR_TYPES = {"e2m1": "f4E2M1FN", "e2m3": "f6E2M3FN", "e3m2": "f6E3M2FN",
              "e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "e8m0": "f8E8M0FNU",
              "ue4m3": "f8E4M3FN", "e1m2": "i4", "int4q2": "i4",
              "int6q4": "i6", "int8q6": "i8", "int4": "i4", "nf4": "i4",
              "uint4": "i4", "f16": "f16", "bf16": "bf16", "f32": "f32"}
# Names of the vectors' elements to those of formats.
ELEMENTS = {"e4m3fn": "e4m3", "mxint8": "int8q6", "mxint6": "int6q4",
            "mxint4": "int4q2"}
ROUNDINGS = {"rne": "nearest_even", "rtz": "toward_zero",
             "rna": "nearest_away", "rnz": "nearest_zero"}


def mlir_type(name):
    """The type of an element or of a scale; other 8-bit scales are i8."""
    if name in MLIR_TYPES:
        return MLIR_TYPES[name]
    width = sum(int(c) for c in name if c.isdigit()) if "m" in name \
        and name[0] in "eu" and not name.startswith("uint") else int(
            "".join(c for c in name if c.isdigit()))
    if name.startswith("u"):
        width = 8  # scales: ue5m3 and ue3m4 alike
    elif name[0] == "e":
        width += 1
    return f"i{width}"


def width_of(element):
    """Bits of an element's code."""
    text = mlir_type(element)
    return int(text[1:2]) if text[0] == "f" else int(text[1:])


def refs(name):
    return json.loads((REFS / name).read_text())


def floats(hexadecimal):
    """f32 values from their bits in hexadecimal."""
    return np.array([int(h, 16) for h in hexadecimal],
                    np.uint32).view(np.float32)


def bits(values):
    """Of f32 values, so that zeros show their signs; any NaN is 0x7FC00000."""
    values = np.asarray(values, np.float32)
    return np.where(np.isnan(values), np.uint32(0x7FC00000),
                    values.view(np.uint32))


def pack(codes, element):
    """Codes as memory holds them."""
    codes = np.asarray(codes, np.uint8)
    if width_of(element) == 1:
        return codes.astype(np.bool_)
    if width_of(element) != 4:
        return codes
    return codes[..., 0::2] | (codes[..., 1::2] << 4)


def unpack(memory, element):
    memory = np.asarray(memory).view(np.uint8)
    if width_of(element) != 4:
        return memory
    return np.stack([memory & 15, memory >> 4], -1).reshape(
        *memory.shape[:-1], -1)


_CODES = {"e2m1": "f4e2m1fn", "e1m2": "f4e1m2", "e2m3": "f6e2m3fn",
          "e3m2": "f6e3m2fn", "e4m3": "f8e4m3fn", "e5m2": "f8e5m2",
          "int4q2": "mxint4", "int6q4": "mxint6", "int8q6": "mxint8"}


@functools.lru_cache
def magnitudes_of(element):
    """Ascending values of an element's codes from 0 to the largest finite
    one, as float64; a magnitude's index is its code without a sign."""
    if element not in _CODES:
        assert element.startswith("int") and "q" not in element
        return np.arange(2.0 ** (int(element[3:]) - 1))
    rows = sorted(refs(f"codes/{_CODES[element]}.json")["codes"],
                  key=lambda row: row["code"])[:1 << width_of(element) - 1]
    values = floats([row["f32_hex"] for row in rows]).astype(np.float64)
    return values[np.isfinite(values)]


_folder = tempfile.TemporaryDirectory()
atexit.register(_folder.cleanup)
_count = 0


def scale_results(blocks, scale, tensor=False, zero=None, encode=False):
    """What blockscale.scale returns where scales are tensor<{blocks}x{scale}>:
    names and types; then how quantize takes them, and how dequantize does."""
    names, types = ["%s"], [f"tensor<{blocks}x{scale}>"]
    given, zeros = f"scales(%s : {types[0]})", ""
    if tensor:
        names.append("%g")
        types.append("tensor<f32>")
        given += " tensor(%g : tensor<f32>)"
    if zero:
        names.append("%z")
        types.append(f"tensor<{blocks}x{zero}>")
        zeros = f" zeros(%z : {types[-1]})"
    by = given + zeros
    if encode:
        names.append("%e")
        types.append(f"tensor<{blocks}xf32>")
        by = f"{zeros} encode(%e : {types[-1]})"
    return names, types, by, given + zeros


def compile(text, *flags):
    """The library of a module; stops the test if it does not compile."""
    global _count
    _count += 1
    source = Path(_folder.name) / f"{_count}.mlir"
    source.write_text(text)
    library = source.with_suffix(".so")
    done = subprocess.run([os.environ["BLOCKSCALE_COMPILE"], source, "-o",
                           library, *flags], text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{text}\n{done.stderr}")
    return blockscale.load(str(library))


_checks = 0
_failures = []


def check(name, passed, detail=""):
    """Counts one named expectation."""
    global _checks
    _checks += 1
    if not passed:
        _failures.append(name)
        print(f"FAILED {name} {detail}")
    return passed


def same(name, actual, expected):
    """Equal in shape and in every entry, NaN equal to NaN."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if not check(name, actual.shape == expected.shape,
                 f"expects shape {expected.shape}, but got {actual.shape}"):
        return
    differs = actual != expected
    if actual.dtype.kind == "f":
        differs &= ~(np.isnan(actual) & np.isnan(expected))
    if differs.any():
        where = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(differs)))
        check(name, False,
              f"at {differs.sum()} places; first at {where}: expects "
              f"{np.atleast_1d(expected)[where]}, but got "
              f"{np.atleast_1d(actual)[where]}")


def finish(at_least):
    """Ends the test; `at_least` checks must have run."""
    print(f"{_checks} checks, {len(_failures)} failed")
    if _checks < at_least:
        sys.exit(f"expects at least {at_least} checks")
    sys.exit(bool(_failures))
