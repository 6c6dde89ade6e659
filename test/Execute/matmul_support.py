"""scaled_matmul on random operands: compiled for a chip and run in the
simulator, against the same compiled for the CPU, within the contract of rule
matmul_c6."""
import os
import subprocess
import tempfile
from pathlib import Path

from support import (MLIR_TYPES, atexit, check, finish, mlir_type, np,
                     width_of)

import blockscale

# Element, block rows and columns, scale, tensor scale, zero points.
FORMATS = {
    "mxfp8_e4m3": ("e4m3", 1, 32, "e8m0", False, False),
    "mxfp8_e5m2": ("e5m2", 1, 32, "e8m0", False, False),
    "mxfp6_e2m3": ("e2m3", 1, 32, "e8m0", False, False),
    "mxfp6_e3m2": ("e3m2", 1, 32, "e8m0", False, False),
    "mxfp4": ("e2m1", 1, 32, "e8m0", False, False),
    "nvfp4": ("e2m1", 1, 16, "ue4m3", True, False),
    "mxint8": ("int8q6", 1, 32, "e8m0", False, False),
    "mxint6": ("int6q4", 1, 32, "e8m0", False, False),
    "mxint4": ("int4q2", 1, 32, "e8m0", False, False),
    "nvint4": ("int4", 1, 16, "ue4m3", True, False),
    "fp4_ue5m3": ("e2m1", 1, 16, "ue5m3", False, False),
    "fp4_e1m6": ("e2m1", 1, 16, "ue1m6", True, False),
    "fp4_e2m5": ("e2m1", 1, 16, "ue2m5", True, False),
    "fp4_e3m4": ("e2m1", 1, 16, "ue3m4", True, False),
    "fp4_e5m2": ("e2m1", 1, 16, "ue5m2", True, False),
    "fp4_e6m1": ("e2m1", 1, 16, "ue6m1", True, False),
    "fp4_e8m0": ("e2m1", 1, 16, "e8m0", True, False),
    "nf4": ("nf4", 1, 64, "f32", False, False),
    "uint4": ("uint4", 1, 64, "f16", False, True),
    "nvfp4, block = 16x16": ("e2m1", 16, 16, "ue4m3", True, False),
    "e4m3, block = 8, scale = ue4m3": ("e4m3", 1, 8, "ue4m3", False, False),
    "e2m1, block = 24, scale = bf16": ("e2m1", 1, 24, "bf16", False, False),
    "int4, block = 128, scale = f32": ("int4", 1, 128, "f32", False, False),
    "midrise4, block = 32, scale = e8m0":
        ("midrise4", 1, 32, "e8m0", False, False),
}
PLAIN = ("bf16", "f16", "f32")
# Sides that are rounded to bf16 on their way to the tensor core.
ROUNDED = ("f16", "f32", "nf4", "uint4", "e2m1, block = 24, scale = bf16",
           "int4, block = 128, scale = f32", "fp4_e1m6")

_folder = tempfile.TemporaryDirectory()
atexit.register(_folder.cleanup)
_count = 0


def compile_for(target, text, edit=None):
    """The library of a module for a chip, on the simulator, or for the CPU; and
    the remarks. `edit` changes the library's bytes."""
    global _count
    _count += 1
    source = Path(_folder.name) / f"{_count}.mlir"
    source.write_text(text)
    library = source.with_suffix(".so")
    done = subprocess.run(
        [os.environ["BLOCKSCALE_COMPILE"], source, "-o", library,
         f"--target={target}"], text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{text}\n{done.stderr}")
    if edit:
        library.write_bytes(edit(library.read_bytes()))
    remarks = [line.split("remark: ")[1] for line in done.stderr.splitlines()
               if "remark: " in line]
    device = "cpu" if target == "cpu" else os.environ.get(
        "BLOCKSCALE_GPU_DEVICE", "sim")
    return blockscale.load(str(library), device=device), remarks


def random_codes(rng, element, shape):
    """Every finite code, as memory holds them."""
    width = width_of(element)
    if width == 4:
        return rng.integers(0, 256, (*shape[:-1], shape[-1] // 2), np.uint8)
    codes = rng.integers(0, 1 << width, shape).astype(np.uint8)
    if element == "e4m3":
        codes[(codes & 0x7F) == 0x7F] ^= 1
    if element == "e5m2":
        codes[(codes & 0x7C) == 0x7C] ^= 0x40
    return codes


def random_scales(rng, scale, shape, top=None):
    if scale == "e8m0":
        return rng.integers(118, top or 136, shape).astype(np.uint8)
    if scale in ("f16", "bf16", "f32"):
        values = rng.uniform(0.25, 4, shape).astype(np.float32)
        if scale == "bf16":
            return blockscale.to_bf16(values)
        return values.astype(np.float16 if scale == "f16" else np.float32)
    # Neither NaN nor the largest, whose products may leave the range of f32.
    top = top or (96 if width_of_scale(scale) == 7 else 192)
    return rng.integers(1, top, shape).astype(np.uint8)


def width_of_scale(scale):
    return sum(int(c) for c in scale[1:] if c.isdigit())


class Side:
    """One side: `kind` is a format of the table or a plain type."""

    def __init__(self, rng, name, kind, batch, rows, cols, dynamic, tiled,
                 scale_top=None):
        self.name, self.kind = name, kind
        self.plain = kind in PLAIN
        dims = [*batch, rows, cols]
        printed = ["?"] * (len(dims) - 1) if dynamic else dims[:-1]

        def tensor(extents, element, encoding=""):
            return ("tensor<" + "".join(f"{e}x" for e in extents) +
                    element + encoding + ">")
        if self.plain:
            values = rng.standard_normal(dims).astype(np.float32)
            self.arrays = [blockscale.to_bf16(values) if kind == "bf16" else
                           values.astype(np.float16 if kind == "f16"
                                         else np.float32)]
            self.types = [tensor([*printed, cols], kind)]
            self.clause = f"%{name}0 : {self.types[0]}"
            return
        element, block_rows, block, scale, has_tensor, has_zeros = FORMATS[kind]
        scale_rows = -(-rows // block_rows)
        scale_dims = [*batch, scale_rows, cols // block]
        scale_printed = scale_dims if not dynamic else \
            ["?"] * (len(dims) - 1) + [cols // block]
        self.arrays = [random_codes(rng, element, dims),
                       random_scales(rng, scale, scale_dims, scale_top)]
        self.linear_scales = self.arrays[1]
        self.types = [tensor([*printed, cols], mlir_type(element)),
                      tensor(scale_printed, mlir_type(scale))]
        if tiled:
            self.types[1] = tensor(scale_printed, mlir_type(scale),
                                   ", #blockscale.tiled_128x4")
            self.arrays[1] = tile_scales(self.arrays[1])
        if has_tensor:
            self.arrays.append(np.array(rng.uniform(0.1, 2), np.float32))
            self.types.append("tensor<f32>")
        if has_zeros:
            self.arrays.append(rng.integers(0, 16, scale_dims).astype(np.uint8))
            self.types.append(tensor(scale_printed, "i8"))
        names = [f"%{name}{i}" for i in range(len(self.types))]
        self.clause = (", ".join(names) + " : " + ", ".join(self.types) +
                       f" as #blockscale.format<{kind}>")

    def parameters(self):
        return [f"%{self.name}{i}: {t}" for i, t in enumerate(self.types)]

    def magnitudes(self):
        """|a| as float64, tensor scale left out."""
        if self.plain:
            a = self.arrays[0]
            return np.abs((blockscale.from_bf16(a) if self.kind == "bf16" else
                           a).astype(np.float64))
        q, s = self.types[0], self.types[1].replace(
            ", #blockscale.tiled_128x4", "")
        operands, params = f"scales(%s : {s})", f"%q: {q}, %s: {s}"
        arrays = [self.arrays[0], self.linear_scales]
        if "tensor<f32>" in self.types:
            operands += " tensor(%g : tensor<f32>)"
            params += ", %g: tensor<f32>"
            arrays.append(np.array(1, np.float32))
        elif len(self.types) > 2:
            z = self.types[2]
            operands += f" zeros(%z : {z})"
            params += f", %z: {z}"
            arrays.append(self.arrays[2])
        y = q[:q.rindex("x") + 1] + "f32>"
        library, _ = compile_for("cpu", f"""
func.func @f({params}) -> {y} {{
  %y = blockscale.dequantize %q : {q} {operands}
      from #blockscale.format<{self.kind}> -> {y}
  return %y : {y}
}}""")
        return np.abs(np.asarray(one(library.call("f", *arrays)), np.float64))


def one(results):
    return results[0] if isinstance(results, (tuple, list)) else results


def tile_scales(scales):
    """Linear scales to tiled_128x4 (rules layout_c1 to layout_c4)."""
    *batch, rows, cols = scales.shape
    high, wide = -(-rows // 128), -(-cols // 4)
    padded = np.zeros((*batch, high * 128, wide * 4), np.uint8)
    padded[..., :rows, :cols] = scales
    tiles = padded.reshape(*batch, high, 4, 32, wide, 4)
    order = [*range(len(batch)), *(len(batch) + i for i in (0, 3, 2, 1, 4))]
    return tiles.transpose(order).reshape(*batch, -1)


# The epilogue's region that adds a bias.
BIAS = """{
  ^bb0(%acc: f32, %b: f32):
    %s = arith.addf %acc, %b : f32
    %t = arith.truncf %s : f32 to bf16
    blockscale.yield %t : bf16
  }"""


def matmul_case(target, lhs, rhs, m, n, k, *, seed=0, batch=(), shared=False,
                dynamic=False, tiled=False, alpha=False, acc=None, epilogue="",
                out="f32", tile=None, operands=None, expected_remark=None,
                scale_top=None, invariant=False):
    """Compares one matmul. Codes of rhs's scales are below `scale_top`;
    `invariant` marks rhs so. `epilogue`: the text of a region over %acc and its
    operands, with `operands` of the form [(type, array)] before it. `tile` and
    `operands` are the attributes of that name."""
    rng = np.random.default_rng([seed, m, n, k])
    a = Side(rng, "a", lhs, batch, m, k, dynamic, tiled)
    b = Side(rng, "b", rhs, () if shared else batch, n, k, dynamic, tiled,
             scale_top)
    dims = "x".join(["?"] * (len(batch) + 2) if dynamic else
                    [str(d) for d in (*batch, m, n)])
    result = f"tensor<{dims}x{out}>"
    promise = " {blockscale.invariant}" if invariant else ""
    parameters = a.parameters() + [p + promise for p in b.parameters()]
    arrays = a.arrays + b.arrays
    text = ""
    factor = np.prod([float(x) for s in (a, b) for x in s.arrays
                      if x.ndim == 0])
    if alpha:
        parameters.append("%alpha: tensor<f32>")
        arrays.append(np.array(rng.uniform(0.5, 2), np.float32))
        factor *= float(arrays[-1])
        text += "alpha(%alpha : tensor<f32>) "
    if acc:
        parameters.append(f"%c: tensor<{dims}x{acc}>")
        c = rng.standard_normal((*batch, m, n)).astype(np.float32)
        arrays.append(blockscale.to_bf16(c) if acc == "bf16" else
                      c.astype(np.float16 if acc == "f16" else np.float32))
        text += f"acc(%c : tensor<{dims}x{acc}>) "
    if epilogue:
        region, values = epilogue
        names = [f"%e{i}" for i in range(len(values))]
        parameters += [f"{x}: {t}" for x, (t, _) in zip(names, values)]
        arrays += [array for _, array in values]
        if values:
            text += (f"epilogue({', '.join(names)} : " +
                     ", ".join(t for t, _ in values) + ") " + region)
        else:
            text += "epilogue " + region
    chosen = [f"blockscale.tile = array<i64: {tile}>"] if tile else []
    if operands:
        chosen.append(f'blockscale.operands = "{operands}"')
    attribute = f" {{{', '.join(chosen)}}}" if chosen else ""
    module = f"""
func.func @f({', '.join(parameters)}) -> {result} {{
  %y = blockscale.scaled_matmul lhs({a.clause}) rhs({b.clause}) {text}{attribute}
      : {result}
  return %y : {result}
}}"""
    name = (f"{target} {lhs} x {rhs} {list(batch)} {m}x{n}x{k}"
            f"{' tiled' if tiled else ''}{' ' + tile if tile else ''}")
    reference, _ = compile_for("cpu", module)
    library, remarks = compile_for(target, module)
    if expected_remark:
        check(f"{name}: remark", expected_remark in remarks[0],
              f"expects '{expected_remark}', but got '{remarks[0]}'")
    expected, actual = (np.asarray(one(x.call("f", *arrays)))
                        for x in (reference, library))
    if out == "bf16":
        expected, actual = map(blockscale.from_bf16, (expected, actual))
    expected, actual = (x.astype(np.float64) for x in (expected, actual))
    sums = abs(factor) * (a.magnitudes() @ np.swapaxes(b.magnitudes(), -1, -2))
    # Rule matmul_c6.
    bound = (k / 16 + 4) * 2.0 ** -23 * sums
    bound += sum(x in ROUNDED for x in (lhs, rhs)) * 2.0 ** -8 * sums
    if acc:
        bound += 2.0 ** -22 * np.abs(expected)
    # The epilogues of these tests at most double an error.
    bound = 2 * bound + np.abs(expected) * {"f32": 2.0 ** -21, "f16": 2.0 ** -9,
                                            "bf16": 2.0 ** -6}[out]
    wrong = ~(np.abs(expected - actual) <= bound)
    check(name, expected.shape == actual.shape and not wrong.any(),
          f"{wrong.sum()} of {wrong.size} elements outside the bound; first at "
          f"{[int(i[0]) for i in np.nonzero(wrong)] if wrong.any() else ''}")
