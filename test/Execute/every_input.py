# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Every bf16 and every f16 becomes the nearest element, in every rounding.

What is nearest is found by searching the values of all codes in float64,
where differences and halves of these numbers are exact.
"""
from support import *


NAN_CODES = {"e2m1": 7, "e1m2": 7, "e2m3": 31, "e3m2": 31, "e4m3": 0x7F,
             "e5m2": 0x7D}


def nearest(x, element, rounding):
    """Codes of float64 values, by the search."""
    values = magnitudes_of(element)
    x_abs = np.minimum(np.abs(np.nan_to_num(x, nan=0.0)), values[-1])
    low = np.searchsorted(values, x_abs, side="right") - 1
    high = np.minimum(low + 1, len(values) - 1)
    below, above = x_abs - values[low], values[high] - x_abs
    up = {"toward_zero": np.zeros_like(low, bool),
          "nearest_zero": above < below,
          "nearest_away": above <= below,
          "nearest_even": (above < below) | ((above == below) & (low % 2 == 1))
          }[rounding]
    up &= (high != low) & (below > 0)
    magnitude = np.where(up, high, low)
    width = width_of(element)
    if element[0] == "e":
        code = magnitude | (np.signbit(x).astype(int) << (width - 1))
        return np.where(np.isnan(x), NAN_CODES[element], code)
    code = np.where(np.signbit(x), -magnitude, magnitude) & ((1 << width) - 1)
    return np.where(np.isnan(x), 0, code)


def quantizer(name, source, element, rounding):
    type = mlir_type(element)
    return f"""
func.func @{name}(%x: tensor<2048x32x{source}>, %s: tensor<2048x1xf8E8M0FNU>)
    -> tensor<2048x32x{type}> {{
  %q = blockscale.quantize %x : tensor<2048x32x{source}>
      scales(%s : tensor<2048x1xf8E8M0FNU>)
      to #blockscale.format<{element}, block = 32, scale = e8m0>
      round {rounding} -> tensor<2048x32x{type}>
  return %q : tensor<2048x32x{type}>
}}"""


every = np.arange(65536, dtype=np.uint16).reshape(2048, 32)
inputs = {"bf16": (every, (every.astype(np.uint32) << 16).view(np.float32)),
          "f16": (every.view(np.float16), every.view(np.float16))}
ones = np.full((2048, 1), 127, np.uint8)
for element in ["e2m1", "e1m2", "e2m3", "e3m2", "e4m3", "e5m2", "int4q2",
                "int6q4", "int8q6", "int4", "int8", "int2"]:
    library = compile("".join(
        quantizer(f"{source}_{rounding}", source, element, rounding)
        for source in inputs for rounding in ROUNDINGS.values()))
    for source, (memory, x) in inputs.items():
        for rounding in ROUNDINGS.values():
            name = f"{source}_{rounding}"
            codes = unpack(library.call(name, memory, ones), element)
            with np.errstate(invalid="ignore"):  # signalling NaN
                wide = x.astype(np.float64)
            same(f"{element} {name}", codes, nearest(wide, element, rounding))
finish(at_least=12 * 8)
