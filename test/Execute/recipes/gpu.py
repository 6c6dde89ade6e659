# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Recipes, draws, simulated quantization and rotations by a matrix on GPUs, in
the PTX simulator: the bits of the CPU, products up to f32 sums."""
import tempfile

from common import *

random = np.random.default_rng(8)
TEXT = """
#te = #blockscale.recipe<te_nvfp4>
func.func @all(%x: tensor<32x64xf32>, %w: tensor<32x64xf32>, %m: tensor<12x12xf32>, %z: tensor<8x24xf32>, %seed: tensor<i64>)
    -> (tensor<32x32xf32>, tensor<2xf64>, tensor<32x64xf32>, tensor<8x24xf32>, tensor<32x64xf32>, tensor<16xi8>, tensor<64xf32>) {
  %y = blockscale.linear forward(%x, %w : tensor<32x64xf32>, tensor<32x64xf32>)
      seed(%seed : tensor<i64>) recipe #blockscale.recipe<nvint> -> tensor<32x32xf32>
  %e = blockscale.quantization_error %x : tensor<32x64xf32> to #blockscale.format<nvfp4, block = 16x16>
      by #blockscale.scale_rule<two_level> -> tensor<2xf64>
  %f = blockscale.fake_quantize %x : tensor<32x64xf32> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level> round stochastic seed(%seed : tensor<i64>)
  %r = blockscale.rotate %z matrix(%m : tensor<12x12xf32>) {size = 12} : tensor<8x24xf32>
  %s = blockscale.scale %x : tensor<32x64xf32> to #blockscale.format<mxfp4> by #blockscale.scale_rule<rms> -> tensor<32x2xf8E8M0FNU>
  %k = blockscale.mask_clipped %w of %x : tensor<32x64xf32>, tensor<32x64xf32> scales(%s : tensor<32x2xf8E8M0FNU>)
      from #blockscale.format<mxfp4> {limit = 6.0 : f32}
  %two = arith.constant 2 : index
  %c3 = blockscale.derive_seed %seed {site = 3} : tensor<i64>
  %d = blockscale.derive_seed %c3[%two] {site = 4} : tensor<i64>
  %g = blockscale.random_signs %d : tensor<i64> -> tensor<16xi8>
  %b, %c = blockscale.balance %w {block = 32, steps = 4} : tensor<32x64xf32> -> tensor<32x64xf32>, tensor<64xf32>
  return %y, %e, %f, %r, %k, %g, %c : tensor<32x32xf32>, tensor<2xf64>, tensor<32x64xf32>, tensor<8x24xf32>, tensor<32x64xf32>, tensor<16xi8>, tensor<64xf32>
}"""
NAMES = ["product", "error", "fake_quantize", "rotation by a matrix", "mask", "signs", "balance"]


def compile_for(target, folder, text=TEXT):
    library = Path(folder) / f"{target}.so"
    done = subprocess.run([os.environ["BLOCKSCALE_COMPILE"], "-", f"--target={target}", "-o", library],
                          input=text, text=True, capture_output=True)
    if done.returncode:
        sys.exit(done.stderr)
    return blockscale.load(str(library), device="cpu" if target == "cpu" else "sim")


x, w = random.standard_normal((2, 32, 64)).astype(np.float32)
m = np.linalg.qr(random.standard_normal((12, 12)))[0].astype(np.float32)
z = random.standard_normal((8, 24)).astype(np.float32)
with tempfile.TemporaryDirectory() as folder:
    expected = compile_for("cpu", folder).all(x, w, m, z, np.int64(4))
    for target in ("sm_90", "sm_120a"):
        actual = compile_for(target, folder).all(x, w, m, z, np.int64(4))
        for name, a, e in zip(NAMES, actual, expected):
            if name == "product":
                check(f"{target} {name}", np.allclose(a, e, rtol=1e-5, atol=1e-5))
            else:
                same(f"{target} {name}", a, e)

# There is one NaN, whatever a processor makes of others (real_c1).
TYPES = {"f32": (np.uint32, 0x7FC00000), "bf16": (np.uint16, 0x7FC0), "f16": (np.uint16, 0x7E00)}
text = "".join(f"""
func.func @rotate_{d}(%x: tensor<8x64x{d}>) -> tensor<8x64x{d}> {{
  %r = blockscale.rotate %x {{size = 16}} : tensor<8x64x{d}>
  return %r : tensor<8x64x{d}>
}}
func.func @residual_{d}(%x: tensor<8x64x{d}>) -> tensor<8x64x{d}> {{
  %r = blockscale.fake_quantize residual %x : tensor<8x64x{d}> to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level>
  return %r : tensor<8x64x{d}>
}}""" for d in TYPES)
bits = np.uint32([0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFA00001, 0x7F800000, 0xFF800000, 0x80000000, 0x3F800000])
x = np.array([np.roll(np.tile(bits, 8), i * i) for i in range(8)], np.uint32).view(np.float32)
with tempfile.TemporaryDirectory() as folder:
    libraries = {t: compile_for(t, folder, text) for t in ("cpu", "sm_90a", "sm_120a")}
    for d, (word, nan) in TYPES.items():
        narrow = x if d == "f32" else blockscale.to_bf16(x) if d == "bf16" else x.astype(np.float16)
        for name in ("rotate", "residual"):
            got = {t: np.asarray(lib.call(f"{name}_{d}", narrow)).view(word) for t, lib in libraries.items()}
            magnitudes = got["cpu"] & (2 ** (8 * word().itemsize - 1) - 1)
            infinity = {"f32": 0x7F800000, "bf16": 0x7F80, "f16": 0x7C00}[d]
            nans = got["cpu"][magnitudes > infinity]
            check(f"{name} {d}: one NaN", len(nans) > 8 and (nans == nan).all())
            for t in ("sm_90a", "sm_120a"):
                same(f"{name} {d} with NaNs on {t}", got[t], got["cpu"])
finish(32)
