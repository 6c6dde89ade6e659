# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Every op that a rotation moves through, and every one that blocks it: what the
compiled program returns is what its ops return one by one, and the rotation ends
up where it should. Random shapes, axes, sizes, signs, types."""
import re

from common import *

random = np.random.default_rng(21)
PASS = ["--blockscale-fuse-rotations", "--canonicalize"]


def tensor(shape, dtype="f32"):
    return f"tensor<{'x'.join(map(str, shape))}x{dtype}>"


class Program:
    """Rotates %x along `axis`, then does `body`, which names its result %r."""

    def __init__(self, name, shape, axis, size, body, result, more=()):
        self.name, self.shape, self.axis, self.size = name, shape, axis, size
        self.signs = np.where(random.random(size) < 0.5, -1, 1)
        self.more = more
        t = tensor(shape)
        arguments = "".join(f", %{n}: {tensor(a.shape)}" for n, a in more)
        second = ""
        if "%yr" in body:
            second = f"%yr = blockscale.rotate %y {{{self.options()}}} : {t}\n  "
        self.text = f"""
func.func @{name}(%x: {t}{arguments}) -> {result} {{
  %xr = blockscale.rotate %x {{{self.options()}}} : {t}
  {second}{body}
  return %r : {result}
}}"""

    def options(self):
        return f"size = {self.size}, axis = {self.axis}{signs_text(self.signs)}"

    def rotated(self, x):
        return rotate(x, self.size, self.axis, signs=self.signs)


def ends_with_rotation(body):
    last = re.search(r"return (%\w+)", body).group(1)
    return re.search(rf"{last} = blockscale\.rotate", body) is not None


EXACT, CLOSE = "same bits", "up to rounding"
programs = []  # program, inputs, expected from rotated inputs, claim, moves


def add(program, expected, claim, moves=True):
    programs.append((program, expected, claim, moves))


def linalg(op, a, b, t):
    return f"%e = tensor.empty() : {t}\n  %r = linalg.{op} ins({a}, {b} : {t}, {t}) outs(%e : {t}) -> {t}"


for trial in range(3):
    size = int(2 ** random.integers(1, 6))
    rank = int(random.integers(2, 4))
    axis = trial % rank
    shape = [int(n) for n in random.integers(1, 6, rank)]
    shape[axis] = size * int(random.integers(1, 4))
    t, n = tensor(shape), f"{trial}"
    y = random.standard_normal(shape).astype(np.float32)

    def make(name, body, result=t, more=()):
        return Program(f"{name}{n}", shape, axis, size, body, result, more)

    permutation = [int(i) for i in random.permutation(rank)]
    pt = tensor([shape[i] for i in permutation])
    add(make("transpose", f"%e = tensor.empty() : {pt}\n  %r = linalg.transpose ins(%xr : {t}) "
             f"outs(%e : {pt}) permutation = {permutation}", pt),
        lambda x, y, p=permutation: x.transpose(p), EXACT)
    add(make("negate", f"%r = arith.negf %xr : {t}"), lambda x, y: -x, EXACT)
    loose = tensor(["?" if i < axis else s for i, s in enumerate(shape)])
    add(make("cast", f"%r = tensor.cast %xr : {t} to {loose}", loose), lambda x, y: x, EXACT)

    # Reshapes of the other dimensions.
    wide = shape[:]
    other = (axis + 1) % rank
    wide[other:other + 1] = [1, shape[other]]
    split = [[i + (i > other)] for i in range(rank)]
    split[other] = [other, other + 1]
    wt = tensor(wide)
    add(make("expand", f"%r = tensor.expand_shape %xr {split} output_shape {wide} : {t} into {wt}", wt),
        lambda x, y, w=wide: x.reshape(w), EXACT)
    ft, merge = tensor([2] + shape), [[0, 1]] + [[i + 2] for i in range(rank - 1)]
    if axis != 0:
        narrow = tensor([2 * shape[0]] + shape[1:])
        p = Program(f"collapse{n}", [2] + shape, axis + 1, size,
                    f"%r = tensor.collapse_shape %xr {merge} : {ft} into {narrow}", narrow)
        add(p, lambda x, y, s=shape: x.reshape([2 * s[0]] + s[1:]), EXACT)

    for op, numpy in (("addf", np.add), ("subf", np.subtract)):
        add(make(op, f"%r = arith.{op} %xr, %yr : {t}", more=[("y", y)]),
            lambda x, y, f=numpy: f(x, y), CLOSE)
        add(make("linalg_" + op, linalg(op[:3], "%xr", "%yr", t), more=[("y", y)]),
            lambda x, y, f=numpy: f(x, y), CLOSE)

    # Factors equal along the axis: a power of two, a splat, a broadcast vector.
    factor = 2.0 ** int(random.integers(-3, 4))
    constant = f"%f = arith.constant dense<{factor}> : {t}\n  "
    add(make("times", f"{constant}%r = arith.mulf %f, %xr : {t}"), lambda x, y, f=factor: x * np.float32(f), EXACT)
    add(make("divide", f"{constant}%r = arith.divf %xr, %f : {t}"), lambda x, y, f=factor: x / np.float32(f), EXACT)
    add(make("linalg_times", constant + linalg("mul", "%xr", "%f", t)),
        lambda x, y, f=factor: x * np.float32(f), EXACT)
    add(make("linalg_divide", constant + linalg("div", "%xr", "%f", t)),
        lambda x, y, f=factor: x / np.float32(f), EXACT)
    vector = (random.random([s for i, s in enumerate(shape) if i != axis]) + 0.5).astype(np.float32)
    along = f"%e = tensor.empty() : {t}\n  %b = linalg.broadcast ins(%v : {tensor(vector.shape)}) " \
        f"outs(%e : {t}) dimensions = [{axis}]\n  "
    add(make("rows", f"{along}%r = arith.mulf %xr, %b : {t}", more=[("v", vector)]),
        lambda x, v, a=axis: x * np.expand_dims(v, a), CLOSE)
    # The same as linalg.generic: by a vector, by a broadcast that is one, by a
    # scalar; the rotated tensor first or second, multiplied or divided.
    dims = ", ".join(f"d{i}" for i in range(rank))
    others = ", ".join(f"d{i}" for i in range(rank) if i != axis)
    loops = ", ".join(['"parallel"'] * rank)

    def generic(body, ins, types, maps, result="%r", init="%g"):
        names = ", ".join(f"%p{i}: f32" for i in range(len(maps))) + ", %o: f32"
        text = ", ".join(f"affine_map<({dims}) -> ({m})>" for m in [*maps, dims])
        return (f"{init} = tensor.empty() : {t}\n  {result} = linalg.generic {{indexing_maps = [{text}], "
                f"iterator_types = [{loops}]}} ins({ins} : {types}) outs({init} : {t}) {{\n  ^bb0({names}):\n"
                f"    {body}\n    linalg.yield %m : f32\n  }} -> {t}")

    vt = tensor(vector.shape)
    multiply, back = "%m = arith.mulf %p0, %p1 : f32", "%m = arith.mulf %p1, %p0 : f32"
    divide, inverted = "%m = arith.divf %p0, %p1 : f32", "%m = arith.divf %p1, %p0 : f32"
    add(make("generic_rows", generic(multiply, "%xr, %v", f"{t}, {vt}", [dims, others]), more=[("v", vector)]),
        lambda x, v, a=axis: x * np.expand_dims(v, a), CLOSE)
    add(make("generic_rows_first", generic(back, "%v, %xr", f"{vt}, {t}", [others, dims]), more=[("v", vector)]),
        lambda x, v, a=axis: x * np.expand_dims(v, a), CLOSE)
    add(make("generic_divided", generic(divide, "%xr, %v", f"{t}, {vt}", [dims, others]), more=[("v", vector)]),
        lambda x, v, a=axis: x / np.expand_dims(v, a), CLOSE)
    add(make("generic_scalar", constant.replace(f"dense<{factor}> : {t}", f"{factor} : f32") +
             generic("%m = arith.mulf %p0, %f : f32", "%xr", t, [dims])),
        lambda x, y, f=factor: x * np.float32(f), EXACT)
    stretch = generic("%m = arith.mulf %p0, %p0 : f32", "%v", vt, [others], "%b", "%h") + "\n  "
    add(make("generic_stretched", stretch + generic(multiply, "%xr, %b", f"{t}, {t}", [dims, dims]),
             more=[("v", vector)]), lambda x, v, a=axis: x * np.expand_dims(v * v, a), CLOSE)
    add(make("square_of_stretched", f"{along}%q = arith.mulf %b, %b : {t}\n  %r = arith.mulf %xr, %q : {t}",
             more=[("v", vector)]), lambda x, v, a=axis: x * np.expand_dims(v * v, a), CLOSE)
    add(make("generic_varies", generic(multiply, "%xr, %y", f"{t}, {t}", [dims, dims]), more=[("y", y)]),
        lambda x, y: x * y, EXACT, "is not known to be equal along")
    add(make("generic_divisor", generic(inverted, "%xr, %v", f"{t}, {vt}", [dims, others]), more=[("v", vector)]),
        lambda x, v, a=axis: np.expand_dims(v, a) / x, EXACT, "is not known to be equal along")
    add(make("generic_sum", generic("%m = arith.addf %p0, %p1 : f32", "%xr, %v", f"{t}, {vt}", [dims, others]),
             more=[("v", vector)]), lambda x, v, a=axis: x + np.expand_dims(v, a), EXACT, "is not one multiplication")
    splat = f"%i = arith.constant 0 : index\n  %s = tensor.extract %v[%i] : tensor<1xf32>\n  " \
        f"%f = tensor.splat %s : {t}\n  "
    add(make("splat", f"{splat}%r = arith.divf %xr, %f : {t}", more=[("v", np.full(1, 3, np.float32))]),
        lambda x, v: x / np.float32(3), CLOSE)

    # What blocks.
    add(make("varies", f"%r = arith.mulf %xr, %y : {t}", more=[("y", y)]), lambda x, y: x * y, EXACT, "is not known to be equal along")
    add(make("one", f"%r = arith.addf %xr, %y : {t}", more=[("y", y)]), lambda x, y: x + y, EXACT, "is not rotated alike")
    add(make("divisor", f"{constant}%r = arith.divf %f, %xr : {t}"),
        lambda x, y, f=factor: np.float32(f) / x, EXACT, "is not known to be equal along")
    add(make("relu", f"%f = arith.constant dense<0.0> : {t}\n  %r = arith.maximumf %xr, %f : {t}"),
        lambda x, y: np.maximum(x, 0), EXACT, "is not linear")
    add(make("twice", f"%r = arith.mulf %xr, %xr : {t}"), lambda x, y: x * x, EXACT, "has other uses")
    halves = shape[:]
    halves[axis:axis + 1] = [2, shape[axis] // 2]
    cut = [[i + (i > axis)] for i in range(rank)]
    cut[axis] = [axis, axis + 1]
    ht = tensor(halves)
    add(make("reshaped", f"%r = tensor.expand_shape %xr {cut} output_shape {halves} : {t} into {ht}", ht),
        lambda x, y, h=halves: x.reshape(h), EXACT, "which reshapes the rotated axis")
    if axis + 1 < rank:
        looser = tensor(["?" if i != axis else s for i, s in enumerate(shape)])
        add(make("forgets", f"%r = tensor.cast %xr : {t} to {looser}", looser),
            lambda x, y: x, EXACT, "has dynamic extents inside the axis")
    add(make("loop", f"""%c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %z = arith.constant dense<0.0> : {t}
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %z) -> {t} {{
    %m = arith.negf %xr : {t}
    %p = arith.addf %s, %m : {t}
    scf.yield %p : {t}
  }}"""), lambda x, y: (-x + -x) + -x, EXACT, "is in another block")

# The columns of a transpose would be the rows, whose number is not known.
p = Program("dynamic", [6, 8], 1, 8, """%c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%d) : tensor<8x?xf32>
  %r = linalg.transpose ins(%xr : tensor<?x8xf32>) outs(%e : tensor<8x?xf32>) permutation = [1, 0]""",
            "tensor<8x?xf32>")
p.text = p.text.replace("tensor<6x8xf32>", "tensor<?x8xf32>")
add(p, lambda x, y: x.T, EXACT, "has dynamic extents inside the axis")

text = "".join(p.text for p, *_ in programs)
after, remarks = rewrite(text, *PASS)
bodies = after.split("func.func")[1:]
library = compile(text)
for (p, expected, claim, moves), body in zip(programs, bodies):
    x = random.standard_normal(p.shape).astype(np.float32)
    given = [a for _, a in p.more]
    rotated = p.rotated(x)
    operands = [p.rotated(a) if f"%{n}r" in p.text else a for n, a in p.more] or [None]
    actual, wanted = library.call(p.name, x, *given), expected(rotated, operands[0])
    name = f"{p.name} {p.shape} along {p.axis} by {p.size}"
    if claim == EXACT:
        same(name, actual, wanted)
    else:
        check(name, np.abs(actual - wanted).max() <= 1e-5 * max(1, np.abs(wanted).max()),
              np.abs(actual - wanted).max())
    if moves is True:
        check(f"{name}: moves", ends_with_rotation(body) and body.count("blockscale.rotate") == 1, body)
    else:
        check(f"{name}: stays", not ends_with_rotation(body) and moves in remarks, body)
finish(120)
