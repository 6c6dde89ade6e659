#!/usr/bin/env python3
"""How fast Hopper's matmuls are, beside what a user would pick instead.

  benchmarks/hopper.py build DIR [NxK ...]   compile (needs LLVM), 8192x8192
    --no-promise      without blockscale.invariant on the weights
  benchmarks/hopper.py run DIR [NxK ...]     time (needs a GPU and PyTorch)
    --rows 16,2048    only these M
    --only mxfp4_both,nvfp4_weights   only these jobs
    --no-triton       without the Triton peers, which take long to compile

Everything with the same M takes turns in one process, in an order that is drawn
anew each time, since the card's clock follows its power and temperature. Each
row is the median of 9 replays of a CUDA graph of about 2 ms or longer, over input
sets that together exceed the L2 cache, and writes to memory that was there before.
Every result is compared with float64, its memory filled with NaN before. `of the
floor`: the time that the bytes that must be moved (at the bandwidth of a copy) or
the multiplications (at cuBLAS's best rate for many rows: of FP8 where both sides are
mxfp4, else of bf16) take at least, over the row's time.
docs/Performance.md has the figures of one card.
"""
import argparse
import random
import re
import subprocess
import sys
from functools import partial
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


def module(n, k, promise):
    """Weights times bf16; both quantized; the same from bf16. With `promise`
    weights do not change, as in inference."""
    x, y = f"tensor<?x{k}xbf16>", f"tensor<?x{n}xbf16>"
    text = ""
    for fmt, (element, scale, block, tensor, rule) in FORMATS.items():
        weights, b = operand("w", n, k, fmt)
        given, a = operand("a", "?", k, fmt)
        promised = " {blockscale.invariant}" if promise else ""
        parameters = ", ".join(w + promised for w in weights)
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


def build(folder, shapes, promise):
    folder.mkdir(parents=True, exist_ok=True)
    tool = ROOT / "build" / "bin" / "blockscale-compile"
    for n, k in shapes:
        source = folder / f"{n}x{k}.mlir"
        source.write_text(module(n, k, promise))
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


class Job:
    """Calls in a CUDA graph, which allocate no results."""

    # Long beside the start of a graph.
    MICROSECONDS = 2000

    def __init__(self, torch, call, inputs):
        self.torch = torch
        self.inputs = inputs  # The graph has their addresses.
        self.capture(call, 1)
        once = [self.replay() for _ in range(3)][-1] * self.calls
        rounds = int(self.MICROSECONDS / once)
        if rounds > 1:
            self.capture(call, rounds)

    def capture(self, call, rounds):
        for x in self.inputs:
            call(*x)
        self.torch.cuda.synchronize()
        self.calls = rounds * len(self.inputs)
        self.graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(self.graph):
            for _ in range(rounds):
                for x in self.inputs:
                    call(*x)
        self.times = []

    def replay(self):
        begin, end = (self.torch.cuda.Event(enable_timing=True)
                      for _ in range(2))
        begin.record()
        self.graph.replay()
        end.record()
        self.torch.cuda.synchronize()
        self.times.append(begin.elapsed_time(end) * 1e3 / self.calls)
        return self.times[-1]

    def median(self):
        """Microseconds of a call. The first replays warm up."""
        return sorted(self.times[-9:])[4]


def measure(jobs):
    """Each is replayed 12 times, in turns."""
    order = random.Random(0)
    for _ in range(12):
        turn = list(jobs)
        order.shuffle(turn)
        for job in turn:
            job.replay()


class TritonPeers:
    """mxfp4 weights by tl.dot_scaled, times bf16 or times mxfp4."""

    def __init__(self):
        import triton
        import triton.language as tl
        configs = [triton.Config({"BM": bm, "BN": bn, "BK": bk}, num_warps=w,
                                 num_stages=s)
                   for bm, bn, bk, w, s in
                   [(16, 64, 128, 4, 4), (64, 128, 128, 4, 3),
                    (128, 128, 64, 8, 3), (128, 128, 128, 8, 3)]]

        # tl is a name that a kernel finds among its module's only.
        globals()["tl"] = tl

        @triton.autotune(configs=configs, key=["M", "N", "K", "PACKED"])
        @triton.jit
        def kernel(x, xs, w, s, y, M, N, K, PACKED: tl.constexpr,
                   BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
            m = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
            n = tl.program_id(1) * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for k0 in range(0, K, BK):
                kp = k0 // 2 + tl.arange(0, BK // 2)
                ks = k0 // 32 + tl.arange(0, BK // 32)
                b = tl.load(w + n[None, :] * (K // 2) + kp[:, None])
                scale = tl.load(s + n[:, None] * (K // 32) + ks[None, :])
                if PACKED:
                    a = tl.load(x + m[:, None] * (K // 2) + kp[None, :])
                    sa = tl.load(xs + m[:, None] * (K // 32) + ks[None, :])
                    acc = tl.dot_scaled(a, sa, "e2m1", b, scale, "e2m1", acc)
                else:
                    k = k0 + tl.arange(0, BK)
                    a = tl.load(x + m[:, None] * K + k[None, :])
                    acc = tl.dot_scaled(a, None, "bf16", b, scale, "e2m1", acc)
            rows = tl.program_id(0) * BM + tl.arange(0, BM)
            tl.store(y + rows[:, None] * N + n[None, :], acc.to(tl.bfloat16),
                     mask=rows[:, None] < M)
        self.kernel, self.cdiv = kernel, triton.cdiv

    def call(self, x, xs, w, s, y):
        """`xs`: the scales of packed x, or None."""
        m, n = y.shape
        packed = xs is not None
        self.kernel[lambda c: (self.cdiv(m, c["BM"]), self.cdiv(n, c["BN"]))](
            x, xs if packed else x, w, s, y, m, n, 2 * w.shape[1], packed)
        return y

    def job(self, torch, x, xs, weights, y, expected):
        """A Job, or text: a peer's failure is a result."""
        try:
            y.fill_(float("nan"))
            wrong = difference(self.call(x, xs, weights[0].codes,
                                         weights[0].scales, y), expected)
            if not wrong < 4e-3:
                return f"is wrong ({wrong:.1e})"
            return Job(torch, self.call,
                       [(x, xs, w.codes, w.scales, y) for w in weights])
        except Exception as error:
            return f"fails: {type(error).__name__}"


def difference(actual, expected):
    """Relative; `expected` has the last rows."""
    actual = actual[-len(expected):].double()
    return ((actual - expected).norm() / expected.norm()).item()


def run(folder, shapes, options):
    import torch

    import blockscale
    big = torch.randn(1 << 29, device="cuda", dtype=torch.bfloat16)
    other = torch.empty_like(big)
    copy = Job(torch, lambda x: torch.neg(x, out=other), [(big,)])
    measure([copy])
    bandwidth = 4 * big.numel() / copy.median()
    del copy, big, other
    print(f"{torch.cuda.get_device_name()}, a copy moves "
          f"{bandwidth / 1e6:.2f} TB/s; microseconds (times cuBLAS bf16)")
    peers = None
    if not options.no_triton:
        try:
            peers = TritonPeers()
        except ImportError:
            print("Triton is not installed: no such peers")
    for n, k in shapes:
        library = blockscale.load(folder / f"{n}x{k}.so", device="cuda")
        Shape(torch, library, peers, n, k, bandwidth, options).run()


class Shape:
    """All jobs and peers of one N x K."""

    def __init__(self, torch, library, peers, n, k, bandwidth, options):
        self.torch, self.library, self.peers = torch, library, peers
        self.n, self.k, self.bandwidth, self.options = n, k, bandwidth, options
        sets = max(2, min(12, int(4e8 / (n * k / 2))))
        self.plain = [torch.randn(n, k, device="cuda").bfloat16()
                      for _ in range(max(2, sets // 4))]
        self.eighths = [p.to(torch.float8_e4m3fn) for p in self.plain]
        self.weights = {fmt: [Operand(torch, fmt, n, k) for _ in range(sets)]
                        for fmt in FORMATS}
        self.exact = {fmt: w[0].values() for fmt, w in self.weights.items()}
        # Multiplications a microsecond.
        x = self.activations(max(ROWS))
        rates = {"bf16": self.bf16(x), "fp8": self.fp8(x)}
        measure(rates.values())
        # The fastest replay: the clock has not fallen yet.
        self.rates = {name: x.numel() * n / min(job.times)
                      for name, job in rates.items()}

    def activations(self, m):
        return self.torch.randn(m, self.k, device="cuda").bfloat16()

    def result(self, m):
        """Room for one, filled with what no result is."""
        return self.torch.full((m, self.n), float("nan"), device="cuda",
                               dtype=self.torch.bfloat16)

    def checked(self, call, x, weights, values):
        """The job of call(x, w, y); `values` is float64 of the last rows."""
        y = self.result(len(x))
        call(x, weights[0], y)
        if not difference(y, values) < 4e-3:
            raise SystemExit("cuBLAS gives a wrong result")
        return Job(self.torch, call, [(x, w, y) for w in weights])

    def bf16(self, x):
        return self.checked(
            lambda x, w, y: self.torch.mm(x, w.t(), out=y), x, self.plain,
            x[-256:].double() @ self.plain[0].double().T)

    def fp8(self, x):
        torch = self.torch
        one = torch.tensor(1.0, device="cuda")

        def multiply(a, b, y):
            torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16,
                             out=y)
        x = x.to(torch.float8_e4m3fn)
        return self.checked(multiply, x, self.eighths,
                            x[-256:].double() @ self.eighths[0].double().T)

    def run(self):
        for m in self.options.rows:
            x = self.activations(m)
            given = {fmt: Operand(self.torch, fmt, m, self.k)
                     for fmt in FORMATS}
            peers = {"cuBLAS bf16": self.bf16(x)}
            if m % 16 == 0:  # Others are refused.
                peers["cuBLASLt fp8"] = self.fp8(x)
            if self.peers:
                peers.update(self.triton(x, given["mxfp4"]))
            ours = {(fmt, kind): self.ours(fmt, kind, x, given[fmt])
                    for fmt in FORMATS
                    for kind in ("weights", "both", "from_bf16")
                    if re.fullmatch(self.options.only, f"{fmt}_{kind}")}
            measure([job for job in [*peers.values(),
                                     *(job for job, _ in ours.values())]
                     if isinstance(job, Job)])
            cublas = peers["cuBLAS bf16"].median()
            print(f"{self.n}x{self.k} M={m}")
            for name, job in peers.items():
                if isinstance(job, Job):
                    us = job.median()
                    job = f"{us:8.1f} ({cublas / us:4.2f})"
                print(f"  {name:20} {job}")
            for (fmt, kind), (job, error) in ours.items():
                self.report(fmt, kind, m, job.median(), cublas, error)

    def ours(self, fmt, kind, x, given):
        """The job and its error."""
        torch = self.torch
        call = partial(getattr(self.library, f"{fmt}_{kind}"),
                       out=self.result(len(x)))
        first = given.arrays if kind == "both" else [x]
        weights = self.weights[fmt]
        y = call(*first, *weights[0].arrays)
        values = given.values(slice(-256, None)) if kind == "both" \
            else x[-256:].double()
        error = difference(y, values @ self.exact[fmt].T)
        return Job(torch, call, [(*first, *w.arrays) for w in weights]), error

    def report(self, fmt, kind, m, us, cublas, error):
        n, k = self.n, self.k
        # From bf16, the quantization's own error is in it.
        limit = 0.2 if kind == "from_bf16" else 4e-3
        packed = 0.5 + 1 / FORMATS[fmt][2]
        size = n * k * packed + 2 * m * n
        size += m * k * (packed if kind == "both" else 2)
        fp8 = fmt == "mxfp4" and kind != "weights"
        floor = max(size / self.bandwidth,
                    m * n * k / self.rates["fp8" if fp8 else "bf16"])
        print(f"  {fmt + ' ' + kind:20} {us:8.1f} ({cublas / us:4.2f}) "
              f"{floor / us:4.0%} of the floor, error {error:.1e}"
              f"{'' if error < limit else '  WRONG'}", flush=True)

    def triton(self, x, given):
        weights, exact = self.weights["mxfp4"], self.exact["mxfp4"].T
        last = slice(-256, None)
        jobs = {}
        for name, a, scales, values in (
                ("bf16", x, None, x[last].double()),
                ("mxfp4", given.codes, given.scales, given.values(last))):
            jobs[f"Triton {name} x mxfp4"] = self.peers.job(
                self.torch, a, scales, weights, self.result(len(x)),
                values @ exact)
        return jobs


def main():
    parser = argparse.ArgumentParser(
        usage=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("build", "run"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("shapes", nargs="*", default=["8192x8192"])
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--only", default=".*")
    parser.add_argument("--no-triton", action="store_true")
    parser.add_argument("--no-promise", action="store_true")
    options = parser.parse_args()
    options.rows = [int(m) for m in options.rows.split(",")]
    options.only = options.only.replace(",", "|")
    shapes = [tuple(map(int, text.split("x"))) for text in options.shapes]
    if options.command == "build":
        build(options.folder, shapes, not options.no_promise)
    else:
        run(options.folder, shapes, options)


if __name__ == "__main__":
    main()
