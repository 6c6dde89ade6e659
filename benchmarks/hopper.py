#!/usr/bin/env python3
"""How fast Hopper's matmuls are, beside what a user would pick instead.

  benchmarks/hopper.py build DIR [NxK ...]   compile (needs LLVM), 8192x8192
  benchmarks/hopper.py run DIR [NxK ...]     time (needs a GPU and PyTorch)

Each row is the median of 9 replays of a CUDA graph of 16 or more calls, over
input sets that together exceed the L2 cache, in the same process for everyone.
Every result is compared with float64. `of the floor`: the time that the bytes
that must be moved (at the bandwidth of a copy) or the multiplications (at
cuBLAS's rate for many rows) take at least, over the row's time.
docs/Performance.md has the figures of one card.
"""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
# format: element, scale, block, tensor scale, scale rule
FORMATS = {"nvfp4": ("f4E2M1FN", "f8E4M3FN", 16, True, "two_level"),
           "mxfp4": ("f4E2M1FN", "f8E8M0FNU", 32, False, "rceil")}
ROWS = (1, 16, 64, 256, 2048, 8192)


def operand(name, rows, k, fmt):
    element, scale, block, tensor, _ = FORMATS[fmt]
    types = [f"tensor<{rows}x{k}x{element}>", f"tensor<{rows}x{k // block}x{scale}>"]
    types += ["tensor<f32>"] * tensor
    names = [f"%{name}{i}" for i in range(len(types))]
    clause = (f"{', '.join(names)} : {', '.join(types)}"
              f" as #blockscale.format<{fmt}>")
    return [f"{n}: {t}" for n, t in zip(names, types)], clause


def module(n, k):
    """Weights times bf16; both quantized; the same from bf16."""
    x, y = f"tensor<?x{k}xbf16>", f"tensor<?x{n}xbf16>"
    text = ""
    for fmt, (element, scale, block, tensor, rule) in FORMATS.items():
        weights, b = operand("w", n, k, fmt)
        given, a = operand("a", "?", k, fmt)
        parameters = ", ".join(weights)
        q, s = f"tensor<?x{k}x{element}>", f"tensor<?x{k // block}x{scale}>"
        e = f"tensor<?x{k // block}xf32>"
        names = "%a1, %a2, %e" if tensor else "%a1"
        types = f"{s}, tensor<f32>, {e}" if tensor else s
        by = f"encode(%e : {e})" if tensor else f"scales(%a1 : {s})"
        product = f"blockscale.scaled_matmul lhs({{}}) rhs({b}) : {y}"
        text += f"""
func.func @{fmt}_weights(%x: {x}, {parameters}) -> {y} {{
  %y = {product.format(f'%x : {x}')}
  return %y : {y}
}}
func.func @{fmt}_both({', '.join(given)}, {parameters}) -> {y} {{
  %y = {product.format(a)}
  return %y : {y}
}}
func.func @{fmt}_from_bf16(%x: {x}, {parameters}) -> {y} {{
  {names} = blockscale.scale %x : {x} to #blockscale.format<{fmt}> by #blockscale.scale_rule<{rule}> -> {types}
  %a0 = blockscale.quantize %x : {x} {by} to #blockscale.format<{fmt}> -> {q}
  %y = {product.format(a)}
  return %y : {y}
}}
"""
    return text


def build(folder, shapes):
    folder.mkdir(parents=True, exist_ok=True)
    tool = ROOT / "build" / "bin" / "blockscale-compile"
    for n, k in shapes:
        source = folder / f"{n}x{k}.mlir"
        source.write_text(module(n, k))
        subprocess.run([tool, source, "--target=sm_90a", "-o",
                        source.with_suffix(".so")], check=True)


class Operand:
    """Random codes and scales; their float64 values for the first rows."""

    def __init__(self, torch, fmt, rows, k):
        block, tensor = FORMATS[fmt][2], FORMATS[fmt][3]
        cuda = dict(device="cuda", dtype=torch.uint8)
        self.codes = torch.randint(0, 256, (rows, k // 2), **cuda)
        low, high = (0x20, 0x48) if tensor else (118, 128)
        self.scales = torch.randint(low, high, (rows, k // block), **cuda)
        self.arrays = [self.codes, self.scales]
        if tensor:
            self.arrays.append(torch.tensor(0.5, device="cuda"))
        self.torch, self.fmt, self.block, self.tensor = torch, fmt, block, tensor

    def values(self, rows=slice(None)):
        torch = self.torch
        table = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6], device="cuda",
                             dtype=torch.float64)
        table = torch.cat([table, -table])
        codes, scales = self.codes[rows], self.scales[rows]
        elements = table[torch.stack([codes & 15, codes >> 4], -1)
                         .flatten(1).long()]
        if self.tensor:
            s = scales.view(torch.float8_e4m3fn).double() * 0.5
        else:
            s = torch.exp2(scales.double() - 127)
        return (elements.view(len(codes), -1, self.block) * s[..., None]).flatten(1)


def median(torch, call, inputs):
    """Microseconds of a call."""
    for x in inputs:
        call(*x)
    torch.cuda.synchronize()
    rounds = max(1, 16 // len(inputs))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(rounds):
            for x in inputs:
                result = call(*x)
                del result
    times = []
    for _ in range(12):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / rounds / len(inputs))
    return sorted(times[3:])[4]


def triton_peer():
    """bf16 x mxfp4 by tl.dot_scaled, or nothing without Triton."""
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return None

    configs = [triton.Config({"BM": bm, "BN": bn, "BK": bk}, num_warps=w,
                             num_stages=s)
               for bm, bn, bk, w, s in
               [(16, 64, 128, 4, 4), (16, 128, 128, 4, 3), (64, 128, 128, 4, 3),
                (128, 128, 64, 8, 3), (128, 128, 128, 8, 3),
                (128, 256, 64, 8, 3)]]

    @triton.autotune(configs=configs, key=["M", "N", "K"])
    @triton.jit
    def kernel(x, w, s, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
               BK: tl.constexpr):
        m = tl.program_id(0) * BM + tl.arange(0, BM)
        n = tl.program_id(1) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k0 in range(0, K, BK):
            k = k0 + tl.arange(0, BK)
            a = tl.load(x + m[:, None] * K + k[None, :],
                        mask=m[:, None] < M, other=0.0)
            kp = k0 // 2 + tl.arange(0, BK // 2)
            b = tl.load(w + n[None, :] * (K // 2) + kp[:, None])
            ks = k0 // 32 + tl.arange(0, BK // 32)
            scale = tl.load(s + n[:, None] * (K // 32) + ks[None, :])
            acc = tl.dot_scaled(a, None, "bf16", b, scale, "e2m1", acc)
        tl.store(y + m[:, None] * N + n[None, :], acc.to(tl.bfloat16),
                 mask=m[:, None] < M)

    def call(x, w, s, y):
        M, K = x.shape
        N = w.shape[0]
        kernel[lambda c: (triton.cdiv(M, c["BM"]), triton.cdiv(N, c["BN"]))](
            x, w, s, y, M, N, K)
        return y
    return call


def run(folder, shapes):
    import torch

    import blockscale
    big = torch.randn(1 << 29, device="cuda", dtype=torch.bfloat16)
    other = torch.empty_like(big)
    bandwidth = 4 * big.numel() / median(
        torch, lambda x: torch.neg(x, out=other), [(big,)])
    del big, other
    print(f"{torch.cuda.get_device_name()}, a copy moves "
          f"{bandwidth / 1e6:.2f} TB/s; microseconds (times cuBLAS bf16)")
    dot_scaled = triton_peer()
    for n, k in shapes:
        library = blockscale.load(folder / f"{n}x{k}.so", device="cuda")
        check_and_time(torch, library, dot_scaled, n, k, bandwidth)


def check_and_time(torch, library, dot_scaled, n, k, bandwidth):
    sets = max(2, min(12, int(4e8 / (n * k / 2))))
    plain = [torch.randn(n, k, device="cuda").bfloat16()
             for _ in range(max(2, sets // 4))]
    half = [p.to(torch.float8_e4m3fn) for p in plain]
    one = torch.tensor(1.0, device="cuda")
    weights = {fmt: [Operand(torch, fmt, n, k) for _ in range(sets)]
               for fmt in FORMATS}
    exact = {fmt: w[0].values() for fmt, w in weights.items()}
    many = torch.randn(max(ROWS), k, device="cuda").bfloat16()
    rate = many.numel() * n / median(torch, torch.nn.functional.linear,
                                     [(many, p) for p in plain])
    del many
    for m in ROWS:
        x = torch.randn(m, k, device="cuda").bfloat16()
        cublas = median(torch, torch.nn.functional.linear,
                        [(x, p) for p in plain])
        line = f"{n}x{k} M={m:5d}  cuBLAS bf16 {cublas:8.1f}"
        if m >= 16:
            def fp8(a, b):
                return torch._scaled_mm(a, b.t(), one, one,
                                        out_dtype=torch.bfloat16)
            fp8_time = median(torch, fp8,
                              [(x.to(torch.float8_e4m3fn), h) for h in half])
            line += f", fp8 {fp8_time:7.1f}"
        if dot_scaled:
            y = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
            try:
                triton_time = median(torch, dot_scaled,
                                     [(x, w.codes, w.scales, y)
                                      for w in weights["mxfp4"]])
                line += f", Triton bf16 x mxfp4 {triton_time:7.1f}"
            except Exception as error:  # A peer's failure is a result.
                line += f", Triton fails: {type(error).__name__}"
        print(line, flush=True)
        rows = torch.arange(m, device="cuda")[-256:]
        for fmt in FORMATS:
            for kind in ("weights", "both", "from_bf16"):
                call = getattr(library, f"{fmt}_{kind}")
                a = Operand(torch, fmt, m, k) if kind == "both" else None
                first = a.arrays if a else [x]
                y = torch.as_tensor(call(*first, *weights[fmt][0].arrays),
                                    device="cuda").view(torch.bfloat16)
                # From bf16, the quantization's own error is in it.
                values = a.values(rows) if a else x[rows].double()
                reference = values @ exact[fmt].T
                error = ((y[rows].double() - reference).norm() /
                         reference.norm()).item()
                limit = 0.2 if kind == "from_bf16" else 4e-3
                us = median(torch, call, [(*first, *w.arrays)
                                          for w in weights[fmt]])
                size = n * k * (0.5 + 1 / FORMATS[fmt][2]) + 2 * m * (n + k)
                floor = max(size / bandwidth, m * n * k / rate)
                print(f"  {fmt + ' ' + kind:18} {us:8.1f} ({cublas / us:4.2f}) "
                      f"{floor / us:4.0%} of the floor, error {error:.1e}"
                      f"{'' if error < limit else '  WRONG'}", flush=True)


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("build", "run"):
        sys.exit(__doc__)
    shapes = [tuple(map(int, text.split("x"))) for text in
              sys.argv[3:] or ["8192x8192"]]
    (build if sys.argv[1] == "build" else run)(Path(sys.argv[2]), shapes)


if __name__ == "__main__":
    main()
