"""Exercises blockscale on a GPU library: on the fake driver, or, with "real"
as second argument, on a GPU."""
import sys

import numpy as np

import blockscale

folder, real = sys.argv[1], "real" in sys.argv[2:]
lib = blockscale.load(f"{folder}/gpu.so")
assert lib.device == "cuda:0"
x = np.arange(12, dtype=np.float32).reshape(3, 4)
two = np.float32(2)


class Foreign:
    """What torch and cupy arrays look like."""

    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {
            **array.__cuda_array_interface__, **changes}


def expect_error(message, function):
    try:
        function()
    except blockscale.Error as error:
        assert message in str(error), f"expects {message}, but got {error}"
    else:
        raise AssertionError(f"expects an error: {message}")


# Arrays on the host are copied there and back.
y = lib.scale_rows(x, two)
assert isinstance(y, np.ndarray) and (y == 2 * x).all()

# Arrays of the device stay there, and go from call to call.
on_device = lib.to_device(x)
factor = lib.to_device(two)
assert (on_device.dtype, on_device.shape) == ("f32", (3, 4))
assert repr(on_device) == "<f32[3x4] on cuda:0>"
y = lib.scale_rows(lib.scale_rows(on_device, factor), factor)
assert isinstance(y, blockscale.DeviceArray) and y.shape == (3, 4)
assert (y.numpy() == 4 * x).all() and (np.asarray(y) == 4 * x).all()
interface = y.__cuda_array_interface__
assert interface["typestr"] == "<f4" and interface["shape"] == (3, 4)
assert interface["version"] == 3 and interface["data"][0] and \
    not interface["data"][1] and interface["stream"] == 1

# So do those of others, of any stream, with arguments on the host between.
y = lib.scale_rows(Foreign(on_device), two)
assert (y.numpy() == 2 * x).all()
y = lib.scale_rows(Foreign(on_device, stream=2), Foreign(factor, stream=None))
assert y.__cuda_array_interface__["stream"] == 2
assert (y.numpy() == 2 * x).all()
y = lib.scale_rows(Foreign(y, strides=(16, 4)), factor, stream=1)
assert (y.numpy() == 4 * x).all()
y = lib.scale_rows(x, two, stream=0)
assert isinstance(y, blockscale.DeviceArray)
lib.synchronize()

# Several results are there one by one, and outlive the library.
same = lib.same(on_device)
assert (same[0].numpy() == x).all() and (same[2].numpy() == 0).all()
empty = lib.scale_rows(on_device.numpy()[:0], factor)
assert empty.numpy().shape == (0, 4)
assert empty.__cuda_array_interface__["data"][0] == 0

# Results go to memory that is there, of any stream, and are then of the call's.
poison = np.full((3, 4), np.nan, np.float32)
y = lib.to_device(poison)
assert lib.scale_rows(on_device, factor, out=y) is y
assert (y.numpy() == 2 * x).all()
y = lib.to_device(poison)
view = Foreign(y, stream=1)
assert lib.scale_rows(on_device, factor, out=view, stream=2) is view
assert (y.numpy() == 2 * x).all()
y = lib.to_device(poison)
assert lib.scale_rows(x, two, out=y, stream=2) is y
assert y.__cuda_array_interface__["stream"] == 2
assert (y.numpy() == 2 * x).all()
given = lib.to_device(poison[:2]), None, lib.to_device(poison[:2])
same = lib.same(lib.to_device(x[:2]), out=given)
assert same[0] is given[0] and same[2] is given[2]
assert (same[0].numpy() == x[:2]).all()
assert (same[1].numpy() == 0).all() and (same[2].numpy() == 0).all()
# Numpy arrays get copies.
y = poison.copy()
assert lib.scale_rows(x, two, out=y) is y and (y == 2 * x).all()
y = lib.to_device(poison[:0])
assert lib.scale_rows(lib.to_device(x[:0]), factor, out=y) is y
lib.scale_rows(lib.to_device(x[:0]), factor,
               out=Foreign(y, data=(0, False)))

y = lib.to_device(poison)
expect_error("'scale_rows' expects out= for 1 results, but got it for 2",
             lambda: lib.scale_rows(on_device, factor, out=(y, y)))
expect_error("result 0 of 'scale_rows' expects an array on the device, because "
             "others are there, but got ndarray",
             lambda: lib.scale_rows(on_device, factor, out=poison))
expect_error("result 0 of 'scale_rows' expects f32, but got int32",
             lambda: lib.scale_rows(on_device, factor,
                                    out=lib.to_device(x.astype("i4"))))
expect_error("result 0 of 'scale_rows' expects a row-major array",
             lambda: lib.scale_rows(on_device, factor,
                                    out=Foreign(y, strides=(4, 12))))
expect_error("but got a read-only array",
             lambda: lib.scale_rows(on_device, factor, out=Foreign(
                 y, data=(y.__cuda_array_interface__["data"][0], True))))
expect_error("input 0 of 'scale_rows' expects memory aligned to 16 bytes",
             lambda: lib.scale_rows(Foreign(on_device, shape=(2, 4), data=(
                 on_device.__cuda_array_interface__["data"][0] + 4, False)),
                 factor))
expect_error("result 0 of 'scale_rows' expects memory aligned to 16 bytes",
             lambda: lib.scale_rows(on_device, factor, out=Foreign(
                 y, data=(y.__cuda_array_interface__["data"][0] + 4, False))))
expect_error("expects memory of its own, but got some of input 0",
             lambda: lib.scale_rows(on_device, factor, out=on_device))
expect_error("result 0 takes 48 bytes, but the memory given for f32[2x4] has "
             "32", lambda: lib.scale_rows(on_device, factor, out=Foreign(
                 y, shape=(2, 4))))
assert np.isnan(y.numpy()).all()

expect_error("dimension 1 must be 4", lambda: lib.scale_rows(
    lib.to_device(x.reshape(4, 3)), factor))
expect_error("input 0 of 'scale_rows' expects f32, but got int32; arrays on "
             "the device are not converted", lambda: lib.scale_rows(
                 lib.to_device(x.astype("i4")), factor))
expect_error("expects a row-major array, but got strides (4, 12)",
             lambda: lib.scale_rows(Foreign(on_device, strides=(4, 12)),
                                    factor))
expect_error("rows of operand 0: expects 3, but got 2",
             lambda: lib.fail_size(lib.to_device(x[:2])))
expect_error("do not fit in its memory", lib.too_large)
cpu = blockscale.load(f"{folder}/good.so")
expect_error("runs on the host, but got an array on a GPU",
             lambda: cpu.scale_rows(on_device, two))
expect_error("device 'cpu' has no memory of its own",
             lambda: cpu.to_device(x))
expect_error("compiled for 'cpu', which device 'cuda:0' does not run",
             lambda: blockscale.load(f"{folder}/good.so", device="cuda"))
if not real:
    second = blockscale.load(f"{folder}/gpu.so", device="cuda:1")
    expect_error("is on device 'cuda:0' of another library",
                 lambda: second.scale_rows(on_device, factor))
    expect_error("result 0 of 'scale_rows' is on device 'cuda:0' of another "
                 "library", lambda: second.scale_rows(x, two, out=y))

try:
    import torch
except ImportError:
    torch = None
if real and torch is not None:
    t = torch.arange(12, dtype=torch.float32, device="cuda").reshape(3, 4)
    t2 = torch.tensor(2.0, device="cuda")
    y = torch.as_tensor(lib.scale_rows(t, t2), device="cuda")
    assert torch.equal(y, 2 * t)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        u = t + 1
        y = torch.as_tensor(lib.scale_rows(u, t2), device="cuda")
    side.synchronize()
    assert torch.equal(y, 2 * (t + 1))
    expect_error("expects a row-major array",
                 lambda: lib.scale_rows(t.reshape(4, 3).t(), t2))
    expect_error("expects memory of device 'cuda:0'",
                 lambda: lib.scale_rows(t, t2, out=Foreign(
                     y, data=(poison.ctypes.data & ~15, False))))
    # Given memory, a graph is the kernels alone: one after the other, on what
    # was allocated before.
    a, b = torch.empty_like(t), torch.empty_like(t)
    lib.scale_rows(t, t2, out=a)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        lib.scale_rows(lib.scale_rows(t, t2, out=a), t2, out=b)
    a.fill_(float("nan"))
    b.fill_(float("nan"))
    graph.replay()
    assert torch.equal(a, 2 * t) and torch.equal(b, 4 * t)

del lib, cpu
assert (same[0].numpy() == x[:2]).all()
