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

# Results go where out= says, in any memory order, and come back.
y, s = np.full((3, 8), np.nan, np.float32), np.zeros((), np.float32)
out = lib.scale_rows(x, two, out=(y[:, ::2], s))
assert (y[:, ::2] == 2 * x).all() and np.isnan(y[:, 1::2]).all() and s == -2
assert out[1] is s
out = lib.scale_rows(x, two, out=[None, s])
assert (out[0] == 2 * x).all() and out[1] is s
bits = np.zeros(2, "V2")
assert lib.unpack(np.zeros((2, 3), np.uint8), out=bits) is bits
assert bits.view("u2").tolist() == [0x4040, 0x4040]
assert lib.nothing(out=()) is None
same = x.copy()
assert lib.scale_rows(same, two, out=(same, None))[0] is same
assert (same == 2 * x).all()
expect_error("'scale_rows' expects out= for 2 results, but got it for 1",
             lambda: lib.scale_rows(x, two, out=same))
expect_error("result 0 of 'scale_rows' expects out= of tensor<?x4xf32>, sizes "
             "[-1, 4] in memory, but got [3, 3]",
             lambda: lib.scale_rows(x, two, out=(np.zeros((3, 3), "f4"), None)))
expect_error("result 0 of 'scale_rows' has sizes [3, 4], but out= has [2, 4]",
             lambda: lib.scale_rows(x, two, out=(same[:2], None)))
expect_error("result 0 of 'scale_rows' expects f32, but got float64; out= must "
             "hold it as it is",
             lambda: lib.scale_rows(x, two, out=(np.zeros((3, 4)), None)))
expect_error("expects a numpy array as out=, but got list",
             lambda: lib.scale_rows(x, two, out=([], None)))
same.flags.writeable = False
expect_error("expects an out= that can be written",
             lambda: lib.scale_rows(x, two, out=(same, None)))

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
for dtype, first in (("f4", 0x3F800000), ("u2", 0x3F80)):
    given = np.zeros(values.shape, dtype)
    assert wide.add_same(values, values, out=given) is given
    assert given.view(f"u{given.itemsize}")[0] == first

# Every bf16 number survives the way there and back.
codes = np.arange(1 << 16, dtype=np.uint16)
numbers = codes[~np.isnan(blockscale.from_bf16(codes))]
np.testing.assert_array_equal(
    blockscale.to_bf16(blockscale.from_bf16(numbers)), numbers)
