# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Every pair that sm_120a multiplies natively, at random sizes, executed in the
simulator."""
from matmul_support import *

rng = np.random.default_rng(7)
MX = ["mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4"]


def size(block):
    return (int(rng.integers(1, 301)), int(rng.integers(1, 150)),
            block * int(rng.integers(1, 12)))


for i, (lhs, rhs) in enumerate((x, y) for x in MX for y in MX):
    kind = "mxf4 scale_vec::2X" if lhs == rhs == "mxfp4" else "mxf8f6f4"
    matmul_case("sm_120a", lhs, rhs, *size(32), seed=i, tiled=i % 2 == 1,
                dynamic=i % 3 == 0, expected_remark="native, mma.m16n8k" + (
                    "64 " if kind[3] == "4" else "32 ") + kind)
for i in range(12):
    matmul_case("sm_120a", "nvfp4", "nvfp4", *size(16), seed=i,
                tiled=i % 2 == 1, dynamic=i % 3 == 0,
                expected_remark="native, mma.m16n8k64 mxf4nvf4 scale_vec::4X")
# Every tile, with more steps than stages and with fewer; blocks of 16 rows.
for m in (16, 32, 64, 128):
    for n in (64, 128):
        matmul_case("sm_120a", "nvfp4", "nvfp4", 150, 140, 656,
                    tile=f"{m}, {n}, 128, 3")
        matmul_case("sm_120a", "mxfp8_e4m3", "mxfp4", 150, 140, 480,
                    tile=f"{m}, {n}, 128, 2")
        matmul_case("sm_120a", "nvfp4, block = 16x16", "nvfp4", 61, 70, 208,
                    tile=f"{m}, {n}, 128, 4", tiled=m == 64)
# Rows of scales that begin anywhere in a word of memory, and batches of them.
for blocks in (1, 2, 3, 5, 7, 21):
    matmul_case("sm_120a", "nvfp4", "nvfp4", 19, 13, 16 * blocks, batch=(3,))
    matmul_case("sm_120a", "nvfp4, block = 16x16", "nvfp4", 150, 40,
                16 * blocks, batch=(2,), tile="64, 64, 128, 3")
    matmul_case("sm_120a", "mxfp8_e4m3", "mxfp6_e2m3", 37, 70, 32 * blocks)


def nan_stays_in_its_row(k):
    """The scales past the end of a row are the next row's."""
    q, s = f"tensor<3x{k}xf4E2M1FN>", f"tensor<3x{k // 16}xf8E4M3FN>"
    clause = " : {0}, {1}, tensor<f32> as #blockscale.format<nvfp4>".format(q, s)
    library, _ = compile_for("sm_120a", f"""
func.func @f(%a: {q}, %as: {s}, %g: tensor<f32>) -> tensor<3x3xf32> {{
  %y = blockscale.scaled_matmul lhs(%a, %as, %g{clause})
      rhs(%a, %as, %g{clause}) : tensor<3x3xf32>
  return %y : tensor<3x3xf32>
}}""")
    scales = np.full((3, k // 16), 0x38, np.uint8)
    scales[1, 0] = 0x7F
    y = one(library.call("f", np.full((3, k // 2), 0x22, np.uint8), scales,
                         np.array(1, np.float32)))
    expected = np.full((3, 3), k, np.float32)
    expected[1, :] = expected[:, 1] = np.nan
    check(f"NaN in one row of {k // 16} scales",
          np.array_equal(y, expected, equal_nan=True), f"got {y}")


for blocks in (1, 2, 3, 4, 5, 6, 9):
    nan_stays_in_its_row(16 * blocks)
for m in (1, 2, 15, 16, 17):
    matmul_case("sm_120a", "mxfp4", "mxfp4", m, 33, 96, dynamic=True)
finish(at_least=115)
