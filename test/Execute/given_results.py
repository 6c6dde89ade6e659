# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Results of GPU code in memory of the caller, in the simulator: the same bits
as in memory of their own, nothing beside them, whatever the way they come."""
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import blockscale

SOURCE = """
#fmt = #blockscale.format<nvfp4>
func.func @quantize(%x: tensor<?x256xbf16>) -> (tensor<?x256xf4E2M1FN>, tensor<?x16xf8E4M3FN>, tensor<f32>) {
  %s, %g, %e = blockscale.scale %x : tensor<?x256xbf16> to #fmt by #blockscale.scale_rule<two_level> -> tensor<?x16xf8E4M3FN>, tensor<f32>, tensor<?x16xf32>
  %q = blockscale.quantize %x : tensor<?x256xbf16> encode(%e : tensor<?x16xf32>) to #fmt -> tensor<?x256xf4E2M1FN>
  return %q, %s, %g : tensor<?x256xf4E2M1FN>, tensor<?x16xf8E4M3FN>, tensor<f32>
}
func.func @matmul(%x: tensor<?x256xbf16>, %w: tensor<24x256xf4E2M1FN>, %s: tensor<24x16xf8E4M3FN>, %g: tensor<f32>) -> tensor<?x24xbf16> {
  %y = blockscale.scaled_matmul lhs(%x : tensor<?x256xbf16>) rhs(%w, %s, %g : tensor<24x256xf4E2M1FN>, tensor<24x16xf8E4M3FN>, tensor<f32> as #fmt) : tensor<?x24xbf16>
  return %y : tensor<?x24xbf16>
}
// A result that another function makes.
func.func @through(%x: tensor<?x256xbf16>) -> (tensor<?x256xf4E2M1FN>, tensor<f32>) {
  %q, %s, %g = call @quantize_inside(%x) : (tensor<?x256xbf16>) -> (tensor<?x256xf4E2M1FN>, tensor<?x16xf8E4M3FN>, tensor<f32>)
  return %q, %g : tensor<?x256xf4E2M1FN>, tensor<f32>
}
func.func @quantize_inside(%x: tensor<?x256xbf16>) -> (tensor<?x256xf4E2M1FN>, tensor<?x16xf8E4M3FN>, tensor<f32>) {
  %s, %g, %e = blockscale.scale %x : tensor<?x256xbf16> to #fmt by #blockscale.scale_rule<two_level> -> tensor<?x16xf8E4M3FN>, tensor<f32>, tensor<?x16xf32>
  %q = blockscale.quantize %x : tensor<?x256xbf16> encode(%e : tensor<?x16xf32>) to #fmt -> tensor<?x256xf4E2M1FN>
  return %q, %s, %g : tensor<?x256xf4E2M1FN>, tensor<?x16xf8E4M3FN>, tensor<f32>
}
"""


def check(lib, name, inputs):
    """With results given and not, the same, and the memory is what was given."""
    inputs = [lib.to_device(x) for x in inputs]
    expected = getattr(lib, name)(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    expected = [y.numpy() for y in expected]
    given = [lib.to_device(np.full_like(y, 0x5A)) for y in expected]
    results = getattr(lib, name)(*inputs, out=tuple(given))
    results = results if isinstance(results, tuple) else (results,)
    for i, (result, own, y) in enumerate(zip(results, given, expected)):
        assert result is own
        got = own.numpy()
        assert got.tobytes() == y.tobytes(), f"{name}, result {i}: {got}"
    return expected


with tempfile.TemporaryDirectory() as folder:
    source = Path(folder) / "results.mlir"
    source.write_text(SOURCE)
    libraries = {}
    for target in ("cpu", "sm_80", "sm_90a", "sm_120a"):
        subprocess.run([os.environ["BLOCKSCALE_COMPILE"], source, "-o",
                        source.with_suffix(f".{target}.so"),
                        f"--target={target}"], check=True,
                       stderr=subprocess.DEVNULL)
    cpu = blockscale.load(source.with_suffix(".cpu.so"))
    rng = np.random.default_rng(0)
    for chip in ("sm_80", "sm_90a", "sm_120a"):
        lib = blockscale.load(source.with_suffix(f".{chip}.so"), device="sim")
        for rows in (0, 1, 5, 40):
            x = blockscale.to_bf16(rng.normal(size=(rows, 256)))
            for name in ("quantize", "through", "quantize_inside"):
                for got, y in zip(check(lib, name, [x]),
                                  getattr(cpu, name)(x)):
                    assert got.tobytes() == y.tobytes(), name
            w, s, g = cpu.quantize(
                blockscale.to_bf16(rng.normal(size=(24, 256))))
            check(lib, "matmul", [x, w, s, g])

    # What does not fit is said before anything runs.
    x = lib.to_device(x)
    q, s, g = (lib.to_device(np.full(sizes, 0x5A, dtype)) for sizes, dtype in
               (((39, 128), "u1"), ((40, 16), "u1"), ((), "f4")))
    try:
        lib.quantize(x, out=(q, s, g))
        raise AssertionError("expects an error")
    except blockscale.Error as error:
        assert str(error) == (
            "'quantize': result 0 takes 5120 bytes, but the memory given for "
            "u8[39x128] has 4992"), error
    for array in (q, s):
        assert (array.numpy() == 0x5A).all()
