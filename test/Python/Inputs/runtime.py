"""Exercises blockscale.load() on the hand-written test library."""
import sys

import numpy as np

import blockscale

folder = sys.argv[1]
lib = blockscale.load(f"{folder}/good.so")
x = np.arange(12, dtype=np.float32).reshape(3, 4)
two = np.float32(2)


def expect_error(message, function):
    try:
        function()
    except (blockscale.Error, AttributeError) as error:
        assert message in str(error), f"expects {message}, but got {error}"
    else:
        raise AssertionError(f"expects an error: {message}")


# Several results are a tuple, one is an array, none is None.
y, s = lib.scale_rows(x, two)
assert y.dtype == np.float32 and (y == 2 * x).all()
assert s.shape == () and s == -2
assert lib.nothing() is None
assert lib.unpack(np.zeros((2, 3), np.uint8)).tolist() == [0x4040, 0x4040]
assert lib.call("unpack", np.zeros((0, 3), np.uint8)).shape == (0,)

# Other memory orders hold the same numbers.
for other in (np.asfortranarray(x), x.astype(">f4"), np.repeat(x, 2, 1)[:, ::2]):
    assert (lib.scale_rows(other, two)[0] == 2 * x).all()

# What there is can be asked.
assert lib.manifest["entries"][0]["name"] == "scale_rows"
assert "scale_rows" in dir(lib)
assert lib.scale_rows.__doc__ == \
    "(tensor<?x4xf32>, tensor<f32>) -> (tensor<?x4xf32>, tensor<f32>)"

expect_error("'scale_rows' expects 2 inputs, but got 1",
             lambda: lib.scale_rows(x))
expect_error("dimension 1 must be 4", lambda: lib.scale_rows(x[:, :3], two))
expect_error("expects f32, but got float64; convert=True rounds",
             lambda: lib.scale_rows(x.astype(float), two))
expect_error("expects f32, but got int32",
             lambda: lib.scale_rows(x.astype("i4"), two))
expect_error("there is no entry 'absent'", lambda: lib.absent)
expect_error("there is no entry 'absent'", lambda: lib.call("absent"))
expect_error("expects bf16, but got float32; blockscale.to_bf16() rounds",
             lambda: lib.add_same(x[0], x[0]))
expect_error("expects equal sizes",
             lambda: lib.add_same(np.zeros(3, "u2"), np.zeros(2, "V2")))
expect_error("No such file", lambda: blockscale.load("none.so"))
expect_error("no device 'tpu'",
             lambda: blockscale.load(f"{folder}/good.so", device="tpu"))

# With convert, floats are rounded once on the way in and wide on the way out.
wide = blockscale.load(f"{folder}/good.so", convert=True)
values = np.array([1.00390625, 1.00390625 + 2.0**-40, 1.01171875, -1e39, 2e-45,
                   np.nan, -0.0])
bits = [0x3F80, 0x3F81, 0x3F82, 0xFF80, 0, 0x7FC0, 0x8000]
assert blockscale.to_bf16(values).tolist() == bits
out = wide.add_same(values, values)
assert out.dtype == np.float32
np.testing.assert_array_equal(out.view(np.uint32) >> 16, bits)
assert wide.scale_rows(x.astype(float), 2.0)[1] == -2

# Every bf16 number survives the way there and back.
codes = np.arange(1 << 16, dtype=np.uint16)
numbers = codes[~np.isnan(blockscale.from_bf16(codes))]
np.testing.assert_array_equal(
    blockscale.to_bf16(blockscale.from_bf16(numbers)), numbers)
