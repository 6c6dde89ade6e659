# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Every code of every element and scale format decodes to its exact value."""
from support import *


def decoder(name, element, scale, rows, block):
    """Rows of elements, one block and so one scale each."""
    type, scale_type = mlir_type(element), mlir_type(scale)
    return f"""
func.func @{name}(%q: tensor<{rows}x{block}x{type}>, %s: tensor<{rows}x1x{scale_type}>)
    -> tensor<{rows}x{block}xf32> {{
  %x = blockscale.dequantize %q : tensor<{rows}x{block}x{type}>
      scales(%s : tensor<{rows}x1x{scale_type}>)
      from #blockscale.format<{element}, block = {block}, scale = {scale}>
      -> tensor<{rows}x{block}xf32>
  return %x : tensor<{rows}x{block}xf32>
}}"""


def decode_elements(element, values):
    """Codes 0, 1, ... under a scale of 1; `values` are theirs."""
    count = len(values)
    rows = (count + 31) // 32
    library = compile(decoder("decode", element, "e8m0", rows, 32))
    codes = np.resize(np.arange(count, dtype=np.uint8), (rows, 32))
    ones = np.full((rows, 1), 127, np.uint8)
    actual = library.decode(pack(codes, element), ones)
    same(f"element {element}", bits(actual), bits(values)[codes])


def decode_scales(scale, values):
    """Each scale with an element of 1, 2 and -6: the code 2, 4 and 15."""
    count = len(values)
    library = compile(decoder("decode", "e2m1", scale, count, 8))
    codes = np.tile(np.array([2, 4, 15, 0, 0, 0, 0, 0], np.uint8), (count, 1))
    scales = np.arange(count, dtype=np.uint8).reshape(-1, 1)
    actual = library.decode(pack(codes, "e2m1"), scales)
    with np.errstate(over="ignore"):
        same(f"scale {scale}", actual[:, 0], values)
        same(f"scale {scale} times 2", actual[:, 1], values * np.float32(2))
        same(f"scale {scale} times -6", actual[:, 2], values * np.float32(-6))


def values_of(file):
    """By code; NaN codes have no bits worth comparing but NaN's own."""
    rows = sorted(refs(f"codes/{file}.json")["codes"], key=lambda r: r["code"])
    return floats([row["f32_hex"] for row in rows])


for file, element in {"f4e1m2": "e1m2", "f4e2m1fn": "e2m1",
                      "f6e2m3fn": "e2m3", "f6e3m2fn": "e3m2",
                      "f8e4m3fn": "e4m3", "f8e5m2": "e5m2",
                      "mxint4": "int4q2", "mxint6": "int6q4",
                      "mxint8": "int8q6", "nf4": "nf4"}.items():
    decode_elements(element, values_of(file))

for width, table in refs("codes/quest_midrise.json").items():
    levels = np.array(table["levels_in_steps"], np.float32)
    # Listed by value; two's complement codes start at zero.
    decode_elements(f"midrise{width}", np.roll(levels, len(levels) // 2))

for file, scale in {"f8e8m0fnu": "e8m0", "ue4m3_scale": "ue4m3",
                    "ue5m3_fnu": "ue5m3",
                    "ue5m3_top_reserved": "ue5m3_reserved"}.items():
    decode_scales(scale, values_of(file))
for file in sorted((REFS / "codes").glob("scale_*.json")):
    # scale_E1M6_signbit_unused is ue1m6, scale_UE1M7_unsigned is ue1m7.
    name = file.stem.split("_")[1].lower()
    decode_scales(name if name[0] == "u" else "u" + name,
                  values_of(file.stem))

# A zero point is subtracted from the code before the scale multiplies.
library = compile("""
func.func @decode(%q: tensor<256x64xi4>, %s: tensor<256x1xf16>,
                  %z: tensor<256x1xi8>) -> tensor<256x64xf32> {
  %x = blockscale.dequantize %q : tensor<256x64xi4>
      scales(%s : tensor<256x1xf16>) zeros(%z : tensor<256x1xi8>)
      from #blockscale.format<uint4> -> tensor<256x64xf32>
  return %x : tensor<256x64xf32>
}""")
codes = np.tile(np.arange(16, dtype=np.uint8), (256, 4))
zeros = np.tile(np.arange(16, dtype=np.uint8), 16).reshape(256, 1)
scales = np.full((256, 1), 0.375, np.float16)
same("uint4 with every zero point",
     library.decode(pack(codes, "uint4"), scales, zeros),
     ((codes.astype(int) - zeros) * 0.375).astype(np.float32))
finish(at_least=10 + 8 + 3 * 17 + 1)
