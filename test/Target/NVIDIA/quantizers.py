# RUN: %python %s run sm_80
# RUN: %python %s run sm_120a
# REQUIRES: numpy, blockscale-compile
"""Quantizers of GPU libraries give the bits of the CPU library.

  quantizers.py build DIR CHIP     compile every case for the CPU and the chip
  quantizers.py check DIR DEVICE   run them on `sim`, `cuda`, ... and compare
  quantizers.py run CHIP           both, in the simulator (what lit does)

`check` needs no LLVM: a folder built here can be checked on a machine with a
GPU. The CPU library is itself compared with the vectors and with NumPy in
test/Execute.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python"))
import blockscale  # noqa: E402

# name: element type, scale type, block, what `scale` returns beside the scales
FORMATS = {
    "mxfp8_e4m3": ("f8E4M3FN", "f8E8M0FNU", 32, ""),
    "mxfp8_e5m2": ("f8E5M2", "f8E8M0FNU", 32, ""),
    "mxfp6_e2m3": ("f6E2M3FN", "f8E8M0FNU", 32, ""),
    "mxfp6_e3m2": ("f6E3M2FN", "f8E8M0FNU", 32, ""),
    "mxfp4": ("f4E2M1FN", "f8E8M0FNU", 32, ""),
    "nvfp4": ("f4E2M1FN", "f8E4M3FN", 16, "tensor encode"),
    "mxint8": ("i8", "f8E8M0FNU", 32, ""),
    "mxint6": ("i6", "f8E8M0FNU", 32, ""),
    "mxint4": ("i4", "f8E8M0FNU", 32, ""),
    "nvint4": ("i4", "f8E4M3FN", 16, "tensor encode"),
    "fp4_ue5m3": ("f4E2M1FN", "i8", 16, "encode"),
    "fp4_e1m6": ("f4E2M1FN", "i8", 16, "tensor encode"),
    "nf4": ("i4", "f32", 64, ""),
    "uint4": ("i4", "f16", 64, "zeros"),
}
RULES = {"mxfp4": ["floor", "even"],
         "nvfp4": ["torchao_two_level", "four_over_six", "four_over_six_mae"]}


def rule_of(name):
    if FORMATS[name][3] == "zeros":
        return "minmax"
    if FORMATS[name][1] == "f8E8M0FNU":
        return "rceil"
    return "absmax" if name == "nf4" else "two_level"


def case(name, rule=None, cols=None, rounding="nearest_even", source="bf16",
         block_rows=1, tiled=False, rotate=0, signs="", rows=None):
    """MLIR of one case, and the shape of its input."""
    element, scale, block, extra = FORMATS[name]
    rule = rule or rule_of(name)
    if rule.startswith("torchao"):
        extra = extra.replace("encode", "")
    cols = cols or 4 * block
    padded = -(-cols // block) * block
    rows = rows or (37 if block_rows == 1 else 3 * block_rows - 5)
    dynamic = "?" if block_rows == 1 else rows
    scale_rows = "?" if block_rows == 1 else -(-rows // block_rows)
    pad = " {pad}" if cols != padded else ""
    fmt = f"#blockscale.format<{name}" + (
        f", block = {block}x{block}>" if block_rows > 1 else ">")
    x = f"tensor<{dynamic}x{cols}x{source}>"
    q = f"tensor<{dynamic}x{padded}x{element}>"
    y = f"tensor<{dynamic}x{padded}xf32>"
    shape = f"{scale_rows}x{padded // block}"
    s = f"tensor<{shape}x{scale}" + (
        ", #blockscale.tiled_128x4>" if tiled else ">")
    names, types, by = ["%s"], [s], f"scales(%s : {s})"
    decode = by
    if "tensor" in extra:
        names, types = names + ["%g"], types + ["tensor<f32>"]
        by += " tensor(%g : tensor<f32>)"
        decode = by
    if "zeros" in extra:
        names, types = names + ["%z"], types + [f"tensor<{shape}xi8>"]
        by += f" zeros(%z : tensor<{shape}xi8>)"
        decode = by
    if "encode" in extra:
        names, types = names + ["%e"], types + [f"tensor<{shape}xf32>"]
        by = f"encode(%e : tensor<{shape}xf32>)"
    seed = " seed(%seed : tensor<i64>)" if rounding == "stochastic" else ""
    turned = ""
    if signs == "drawn":
        turned = (f"  %signs = blockscale.random_signs %seed : tensor<i64> -> "
                  f"tensor<{rotate}xi8>\n")
        signs = f" signs(%signs : tensor<{rotate}xi8>) {{size = {rotate}}}"
    elif signs == "fixed":
        listed = ", ".join("-1" if i * i % 7 > 2 else "1"
                           for i in range(rotate))
        signs = f" {{size = {rotate}, signs = array<i8: {listed}>, inverse}}"
    else:
        signs = f" {{size = {rotate}}}"
    if rotate:
        turned += f"  %r = blockscale.rotate %x{signs} : {x}\n"
    v = "%r" if rotate else "%x"
    results = names + ["%q", "%y"]
    return f"""func.func @f(%x: {x}, %seed: tensor<i64>) -> ({", ".join(types + [q, y])}) {{
{turned}  {", ".join(names)} = blockscale.scale {v} : {x} to {fmt} by #blockscale.scale_rule<{rule}>{pad} -> {", ".join(types)}
  %q = blockscale.quantize {v} : {x} {by} to {fmt} round {rounding}{seed}{pad} -> {q}
  %y = blockscale.dequantize %q : {q} {decode} from {fmt} -> {y}
  return {", ".join(results)} : {", ".join(types + [q, y])}
}}
""", (rows, cols), source


def cases():
    for name in FORMATS:
        block = FORMATS[name][2]
        yield f"{name}", case(name)
        yield f"{name}-padded", case(name, cols=2 * block + 5)
        yield f"{name}-stochastic", case(name, rounding="stochastic")
        for rule in RULES.get(name, []):
            yield f"{name}-{rule}", case(name, rule)
    for source in "f16", "f32":
        yield f"nvfp4-{source}", case("nvfp4", source=source)
    yield "nvfp4-square", case("nvfp4", block_rows=16)
    yield "mxfp4-square", case("mxfp4", block_rows=32)
    yield "nvfp4-tiled", case("nvfp4", tiled=True, cols=80)
    yield "mxfp8-tiled", case("mxfp8_e4m3", tiled=True, cols=96)
    yield "nvfp4-tiles", case("nvfp4", tiled=True, cols=352, rows=201)
    for size in 2, 16, 32, 64, 128, 256:
        yield f"nvfp4-rotate{size}", case("nvfp4", cols=256, rotate=size)
    for size, signs in (32, "drawn"), (128, "drawn"), (256, "fixed"):
        yield f"nvfp4-rotate{size}-{signs}", case(
            "nvfp4", cols=768, rotate=size, signs=signs, tiled=True)
    yield "nvfp4-rotate16-narrow", case("nvfp4", cols=48, rotate=16)
    yield "nvfp4-rotate16-drawn", case("nvfp4", cols=48, rotate=16,
                                       signs="drawn", source="f16")
    yield "mxfp4-rotate64", case("mxfp4", cols=192, rotate=64, source="f32")
    yield "mxfp4-rotate128", case("mxfp4", cols=384, rotate=128, tiled=True,
                                  signs="fixed")
    yield "mxfp8_e4m3-rotate256", case("mxfp8_e4m3", cols=256, rotate=256,
                                       rounding="stochastic")
    yield "nf4-rotate32", case("nf4", cols=256, rotate=32)


def values(shape, source, seed):
    """Ordinary rows, zeros, tiny and huge blocks, NaN and infinity."""
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape).astype(np.float32)
    x[1 % shape[0]] *= np.float32(1e-42)
    x[2 % shape[0]] = np.copysign(0, x[2 % shape[0]])
    x[3 % shape[0]] *= 2.0 ** random.integers(-20, 20, shape[1])
    x[4 % shape[0], 3] = np.nan
    x[5 % shape[0], 7] = -np.inf if source == "f32" else 3
    x[6 % shape[0]] = np.round(x[6 % shape[0]] * 4) / 4
    if source == "bf16":
        return blockscale.to_bf16(x)
    with np.errstate(over="ignore"):
        return x.astype(np.float16 if source == "f16" else np.float32)


def build(folder, chip):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    index = {}
    for name, (text, shape, source) in cases():
        (folder / f"{name}.mlir").write_text(text)
        for target, options in ("cpu", ["--cpu=x86-64-v3"]), (chip, []):
            library = folder / f"{name}-{target}.so"
            done = subprocess.run(
                ["blockscale-compile", folder / f"{name}.mlir",
                 f"--target={target}", *options, "-o", library],
                capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{name} for {target}: {done.stderr}")
        index[name] = {"shape": shape, "source": source, "chip": chip}
    (folder / "index.json").write_text(json.dumps(index))


def raw(array):
    """The bytes of a result; any NaN counts as one."""
    array = np.asarray(array)
    if array.dtype == np.float32:
        array = np.where(np.isnan(array), np.float32(np.nan), array)
    return np.frombuffer(array.tobytes(), np.uint8)


def check(folder, device):
    folder = Path(folder)
    failed = 0
    index = json.loads((folder / "index.json").read_text())
    for number, (name, entry) in enumerate(index.items()):
        x = values(entry["shape"], entry["source"], number)
        seed = np.array(0x123456789ABCDEF0 + number, np.int64)
        expected = blockscale.load(folder / f"{name}-cpu.so").f(x, seed)
        library = blockscale.load(folder / f"{name}-{entry['chip']}.so",
                                  device=device)
        try:
            got = library.f(x, seed)
        except blockscale.Error as error:
            failed += 1
            print(f"FAIL {name}: {error}")
            continue
        for i, (a, b) in enumerate(zip(expected, got)):
            different = np.flatnonzero(raw(a) != raw(b))
            if different.size:
                failed += 1
                print(f"FAIL {name}: result {i} differs in {different.size} of "
                      f"{raw(a).size} bytes, first at {different[0]}")
                break
    print(f"{len(index) - failed} of {len(index)} quantizers give the CPU's "
          f"bits on {device}")
    return failed != 0


if __name__ == "__main__":
    command, *arguments = sys.argv[1:] or ["help"]
    if command == "build" and len(arguments) == 2:
        build(*arguments)
    elif command == "check" and len(arguments) == 2:
        sys.exit(check(*arguments))
    elif command == "run" and len(arguments) == 1:
        with tempfile.TemporaryDirectory() as folder:
            build(folder, arguments[0])
            sys.exit(check(folder, "sim"))
    else:
        sys.exit(__doc__)
