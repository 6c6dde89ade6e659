# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Hopper's matmuls, few rows and many, executed in the simulator; tails, both
scale layouts, batches, epilogues."""
from matmul_support import *

FEW, MANY = "exact via bf16 mma.m16n8k16", "exact via bf16 wgmma.m64k16"
EITHER = "exact via bf16 mma.m16n8k16 or wgmma.m64k16"

# Every format whose values are bf16 numbers; K with tails of every kind.
formats = ["nvfp4", "mxfp4", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3",
           "mxfp6_e3m2", "mxint4", "nvint4", "fp4_ue5m3", "fp4_e3m4",
           "fp4_e8m0"]
rows = [1, 2, 3, 5, 8, 9, 13, 16, 17, 33, 45, 70, 150, 300]
for i, rhs in enumerate(formats):
    block = FORMATS[rhs][2]
    for j in range(3):
        m = rows[(3 * i + 5 * j) % len(rows)]
        tiled = (i + j) % 2 == 1
        # Whole words of scales, if they are linear.
        step = 2 * block if tiled else 4 * block
        k = max(step, 32) * (1 + (2 * i + 3 * j) % 7)
        n = (8, 40, 130, 200)[(i + j) % 4]
        dynamic = j == 2
        matmul_case("sm_90a", "bf16" if j else rhs, rhs, m, n, k, seed=i,
                    dynamic=dynamic, tiled=tiled, out=("f32", "bf16")[j % 2],
                    expected_remark=EITHER if dynamic else
                    FEW if m <= 40 else MANY)
# Every number of rows at which the kernel changes.
for m in rows:
    matmul_case("sm_90a", "bf16", "nvfp4", m, 72, 1088, dynamic=m % 2 == 1)
# One tile is best for all numbers of rows beyond some.
for m in (3, 40, 300):
    matmul_case("sm_90a", "bf16", "nvfp4", m, 24, 64, dynamic=True)
# Weights that a caller promises not to change.
for m, k in ((1, 192), (9, 1088), (16, 2368), (30, 768), (60, 768)):
    for rhs in ("nvfp4", "mxfp4", "mxfp8_e4m3"):
        matmul_case("sm_90a", "bf16", rhs, m, 136, k, invariant=True,
                    tiled=m == 9)
# Tiles by hand: clusters of which the last block has less of K, few tokens;
# several tiles of tokens.
for tile, m, k in (("24, 128, 768, 2", 40, 1280), ("32, 64, 256, 4", 9, 768),
                   ("16, 64, 512, 2", 9, 1280),
                   ("64, 64, 512, 2", 100, 768), ("256, 128, 64, 4", 300, 1280),
                   ("128, 128, 64, 3", 300, 768)):
    matmul_case("sm_90a", "bf16", "nvfp4", m, 136, k, tile=tile)
# Scales that are at most 1 take a shorter way; so do all of most weights.
for m in (2, 16, 20, 64):
    for rhs in ("mxfp4", "mxfp8_e5m2", "fp4_e8m0"):
        matmul_case("sm_90a", "bf16", rhs, m, 72, 640, scale_top=128)
# Long blocks: less than a word of scales for 256 elements of K.
for m in (7, 30, 60):
    for block in (64, 128):
        FORMATS[f"e2m1, block = {block}, scale = e8m0"] = (
            "e2m1", 1, block, "e8m0", False, False)
        matmul_case("sm_90a", "bf16", f"e2m1, block = {block}, scale = e8m0",
                    m, 72, 4 * block)


def nan_case(scale, code, block, fmt, m, n=72, k=512):
    """A NaN scale makes its row of the weights NaN, and nothing else."""
    rng = np.random.default_rng(m)
    x, s = f"tensor<{m}x{k}xbf16>", f"tensor<{n}x{k // block}x{scale}>"
    w, y = f"tensor<{n}x{k}xf4E2M1FN>", f"tensor<{m}x{n}xf32>"
    tensor = fmt == "nvfp4"
    g, gt = (", %g", ", tensor<f32>") if tensor else ("", "")
    library, _ = compile_for("sm_90a", f"""
func.func @f(%x: {x}, %w: {w}, %s: {s}{", %g: tensor<f32>" if tensor else ""}) -> {y} {{
  %y = blockscale.scaled_matmul lhs(%x : {x})
      rhs(%w, %s{g} : {w}, {s}{gt} as #blockscale.format<{fmt}>) : {y}
  return %y : {y}
}}""")
    arrays = [blockscale.to_bf16(rng.standard_normal((m, k))),
              random_codes(rng, "e2m1", [n, k]),
              rng.integers(1, 120, (n, k // block)).astype(np.uint8)]
    if tensor:
        arrays.append(np.array(0.5, np.float32))
    plain = np.asarray(one(library.call("f", *arrays)))
    arrays[2][37, 5] = code
    result = np.asarray(one(library.call("f", *arrays)))
    others = np.arange(n) != 37
    check(f"NaN scale of {fmt}, {m} rows", np.isfinite(plain).all()
          and np.isnan(result[:, 37]).all()
          and (result[:, others] == plain[:, others]).all())


for m in (4, 16, 30, 60):
    nan_case("f8E4M3FN", 0x7F, 16, "nvfp4", m)
    nan_case("f8E8M0FNU", 0xFF, 32, "mxfp4", m)
# Scales of several steps of K at a time, and clusters whose blocks start
# between them.
for rhs, k in (("nvfp4", 768), ("nvfp4", 1280), ("mxfp4", 1536)):
    matmul_case("sm_90a", "bf16", rhs, 60, 136, k)
# Batches, with weights of their own or shared.
for m in (3, 60):
    for shared in (False, True):
        matmul_case("sm_90a", "bf16", "mxfp4", m, 136, 256, batch=(3,),
                    shared=shared, acc="f32", alpha=True)
matmul_case("sm_90a", "nvfp4", "nvfp4", 20, 136, 256, batch=(2,), tiled=True)
for dynamic in (False, True):  # Batches of nothing.
    matmul_case("sm_90a", "bf16", "nvfp4", 0, 24, 64, batch=(3,),
                dynamic=dynamic)
for m in (1, 5, 16, 100, 260):
    bias = np.random.default_rng(m).standard_normal(135).astype(np.float32)
    matmul_case("sm_90a", "bf16", "nvfp4", m, 135, 192, out="bf16",
                acc="bf16", epilogue=(BIAS, [("tensor<135xf32>", bias)]))
finish(at_least=80)
