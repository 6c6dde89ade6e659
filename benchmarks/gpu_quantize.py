#!/usr/bin/env python3
"""How fast the quantizers are on a GPU, beside a copy of the same tensor.

  benchmarks/gpu_quantize.py build DIR [CHIP]   compile (needs LLVM), sm_90a
  benchmarks/gpu_quantize.py run DIR [SETS [no]]  time (needs a GPU and PyTorch);
                                                `no`: without torch.compile

Each row is the median of 10 runs of 12 calls, timed by device events, over input
sets that together exceed the L2 cache; the device waits until the host has queued
all calls of a run. `of copy` is the bytes that the row has to
move, over its time, relative to the same quotient of torch's copy. The peer is
a quantizer with the same rule written in PyTorch and compiled by torch.compile.
docs/Performance.md has the figures of one card.
"""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
ROWS, COLS = 16384, 8192


def entry(name, fmt="nvfp4", held=False, tiled=True, rotate=0,
          rounding="nearest_even"):
    layout = ", #blockscale.tiled_128x4" if tiled else ""
    element = "f8E4M3FN" if fmt == "mxfp8_e4m3" else "f4E2M1FN"
    x, q = f"tensor<{ROWS}x{COLS}xbf16>", f"tensor<{ROWS}x{COLS}x{element}>"
    if fmt == "nvfp4":
        shape = f"{ROWS}x{COLS // 16}"
        scales = f"tensor<{shape}xf8E4M3FN{layout}>"
        names, rule = "%s, %g, %e", "two_level"
        types = f"{scales}, tensor<f32>, tensor<{shape}xf32>"
        by = f"encode(%e : tensor<{shape}xf32>)"
        results, result_types = "%q, %s, %g", f"{q}, {scales}, tensor<f32>"
    else:
        scales = f"tensor<{ROWS}x{COLS // 32}xf8E8M0FNU{layout}>"
        names, rule, types = "%s", "rceil", scales
        by = f"scales(%s : {scales})"
        results, result_types = "%q, %s", f"{q}, {scales}"
    argument = ", %a: tensor<f32>" if held else ""
    amax = " amax(%a : tensor<f32>)" if held else ""
    seed = ""
    if rounding == "stochastic":
        argument += ", %seed: tensor<i64>"
        seed = " seed(%seed : tensor<i64>)"
    turned = (f"  %r = blockscale.rotate %x {{size = {rotate}}} : {x}\n"
              if rotate else "")
    v = "%r" if rotate else "%x"
    return f"""func.func @{name}(%x: {x}{argument}) -> ({result_types}) {{
{turned}  {names} = blockscale.scale {v} : {x}{amax} to #blockscale.format<{fmt}> by #blockscale.scale_rule<{rule}> -> {types}
  %q = blockscale.quantize {v} : {x} {by} to #blockscale.format<{fmt}> round {rounding}{seed} -> {q}
  return {results} : {result_types}
}}
"""


# name: how it is compiled, the extra inputs, bytes per element
CASES = {
    "nvfp4": (dict(), "", 4.5625),
    "nvfp4_held_amax": (dict(held=True), "a", 2.5625),
    "nvfp4_held_linear": (dict(held=True, tiled=False), "a", 2.5625),
    "nvfp4_stochastic": (dict(held=True, rounding="stochastic"), "as", 2.5625),
    "mxfp4": (dict(fmt="mxfp4"), "", 2.53125),
    "mxfp8_e4m3": (dict(fmt="mxfp8_e4m3"), "", 3.03125),
    "mxfp8_e4m3_stochastic": (dict(fmt="mxfp8_e4m3", rounding="stochastic"),
                              "s", 3.03125),
    "rotate16_nvfp4": (dict(held=True, rotate=16), "a", 2.5625),
    "rotate32_nvfp4": (dict(held=True, rotate=32), "a", 2.5625),
    "rotate128_nvfp4": (dict(held=True, rotate=128), "a", 2.5625),
}


def build(folder, chip="sm_90a"):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "quantize.mlir"
    source.write_text("".join(entry(name, **how)
                              for name, (how, _, _) in CASES.items()))
    tool = ROOT / "build" / "bin" / "blockscale-compile"
    subprocess.run([tool, source, f"--target={chip}", "-o",
                    folder / "quantize.so"], check=True)


def peer(torch):
    """nvfp4 by the rule two_level, in PyTorch."""
    thresholds = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0]

    def quantize(x):
        x = x.float()
        amax = x.abs().max()
        s = 2688.0 / amax
        blocks = x.view(ROWS, COLS // 16, 16)
        scale = (blocks.abs().amax(-1) * (s * (1.0 / 6.0))).to(
            torch.float8_e4m3fn)
        y = blocks * (s / scale.float()).unsqueeze(-1)
        magnitude = y.abs()
        code = torch.zeros_like(magnitude, dtype=torch.uint8)
        for i, t in enumerate(thresholds):
            code += (magnitude > t if i % 2 == 0 else magnitude >= t).to(
                torch.uint8)
        code |= (y < 0).to(torch.uint8) << 3
        code = code.view(ROWS, COLS // 2, 2)
        return code[..., 0] | (code[..., 1] << 4), scale

    return torch.compile(quantize)


def run(folder, sets=3, compiled="yes"):
    import torch

    import blockscale
    library = blockscale.load(Path(folder) / "quantize.so", device="cuda")
    inputs = [torch.randn(ROWS, COLS, device="cuda", dtype=torch.bfloat16)
              for _ in range(int(sets))]
    extra = {"a": torch.tensor(6.0, device="cuda"),
             "s": torch.tensor(42, device="cuda", dtype=torch.int64)}

    def median(call, repetitions=10, rounds=4):
        for x in inputs:
            call(x)
        times = []
        for _ in range(repetitions):
            begin, end = (torch.cuda.Event(enable_timing=True)
                          for _ in range(2))
            # Some 10 ms, so that the host is ahead of the device.
            torch.cuda._sleep(20_000_000)
            begin.record()
            for _ in range(rounds):
                for x in inputs:
                    result = call(x)
                    del result
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1e3 / rounds / len(inputs))
        return sorted(times)[len(times) // 2]

    out = torch.empty_like(inputs[0])
    elements = out.numel()
    copy = median(out.copy_)
    bandwidth = 4 * elements / copy
    print(f"{torch.cuda.get_device_name()}, {ROWS} x {COLS} bf16; a copy takes "
          f"{copy:.1f} us, {bandwidth / 1e6:.2f} TB/s")
    slow = median(peer(torch)) if compiled == "yes" else float("nan")
    print(f"{'torch.compile, nvfp4 linear':28} {slow:8.1f} us")
    for name, (_, needs, size) in CASES.items():
        arguments = [extra[key] for key in needs]
        time = median(lambda x: getattr(library, name)(x, *arguments))
        print(f"{name:28} {time:8.1f} us  {size * elements / time / 1e6:5.2f} "
              f"TB/s  {size * elements / time / bandwidth:4.0%} of copy  "
              f"{slow / time:4.1f}x torch.compile")


if __name__ == "__main__":
    commands = {"build": build, "run": run}
    command, *arguments = sys.argv[1:] or [""]
    if command not in commands or not arguments:
        sys.exit(__doc__)
    commands[command](*arguments)
