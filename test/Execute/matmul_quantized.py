# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Matmuls whose kernel also quantizes the result, in the simulator: the codes
and scales are, bit for bit, what the CPU target makes of the product that the
same kernel returns; and they are the same if the product is not returned."""
from matmul_support import *
from support import scale_results

# Format, type of elements, block, type of scales, rule, and whether there are
# a tensor scale (of a held amax), zero points and encode factors.
KINDS = [
    ("mxfp4", "f4E2M1FN", 32, "f8E8M0FNU", "floor", ""),
    ("mxfp8_e4m3", "f8E4M3FN", 32, "f8E8M0FNU", "rceil", ""),
    ("mxfp8_e5m2", "f8E5M2", 32, "f8E8M0FNU", "even", ""),
    ("mxfp6_e2m3", "f6E2M3FN", 32, "f8E8M0FNU", "ceil", ""),
    ("mxfp6_e3m2", "f6E3M2FN", 32, "f8E8M0FNU", "floor", ""),
    ("mxint8", "i8", 32, "f8E8M0FNU", "floor", ""),
    ("nvfp4", "f4E2M1FN", 16, "f8E4M3FN", "two_level", "tensor encode"),
    ("nvfp4", "f4E2M1FN", 16, "f8E4M3FN", "four_over_six", "tensor encode"),
    ("nvint4", "i4", 16, "f8E4M3FN", "two_level", "tensor encode"),
    ("e4m3, block = 8, scale = ue4m3", "f8E4M3FN", 8, "f8E4M3FN", "absmax",
     ""),
    ("uint4", "i4", 64, "f16", "minmax", "zeros"),
]


def quantization(kind, x, rows, cols, batch, *, tiled, stochastic, dynamic):
    """The lines that quantize %y, of type `x`; their arguments, results and
    the results' types."""
    name, element, block, scale, rule, has = kind
    blocks = -(-cols // block)
    dims = [*batch, rows]
    printed = "".join("?x" if dynamic else f"{d}x" for d in dims)
    pad = " {pad}" if cols % block else ""
    q = f"tensor<{printed}{blocks * block}x{element}>"
    layout = ", #blockscale.tiled_128x4" if tiled and scale != "f16" else ""
    names, types, by, _ = scale_results(
        f"{printed}{blocks}", scale + layout, "tensor" in has,
        "i8" if "zeros" in has else None, "encode" in has)
    amax, parameters = "", []
    if "tensor" in has:
        amax = "amax(%amax : tensor<f32>) "
        parameters.append("%amax: tensor<f32>")
    seed = ""
    if stochastic:
        seed = " round stochastic seed(%seed : tensor<i64>)"
        parameters.append("%seed: tensor<i64>")
    format = f"#blockscale.format<{name}>"
    text = f"""
  {', '.join(names)} = blockscale.scale %y : {x} {amax}to {format}
      by #blockscale.scale_rule<{rule}>{pad} -> {', '.join(types)}
  %q = blockscale.quantize %y : {x} {by} to {format}{seed}{pad} -> {q}"""
    kept = [(n, t) for n, t in zip(names, types) if n != "%e"]
    return text, parameters, ["%q"] + [n for n, _ in kept], [q] + [
        t for _, t in kept]


def case(target, lhs, rhs, m, n, k, kind, *, batch=(), out="bf16", tile=None,
         tiled=False, stochastic=False, dynamic=False, fused=True):
    rng = np.random.default_rng([m, n, k])
    a = Side(rng, "a", lhs, batch, m, k, dynamic, False)
    b = Side(rng, "b", rhs, (), n, k, False, False)
    dims = "".join("?x" if dynamic else f"{d}x" for d in (*batch, m))
    y = f"tensor<{dims}{n}x{out}>"
    text, parameters, names, types = quantization(
        kind, y, m, n, batch, tiled=tiled, stochastic=stochastic,
        dynamic=dynamic)
    extra = [np.array(300 * k, np.float32)] if "tensor" in kind[5] else []
    if stochastic:
        extra.append(np.array(2 ** 40 + 77, np.int64))
    attribute = f"{{blockscale.tile = array<i64: {tile}>}}" if tile else ""
    bias = rng.standard_normal(n).astype(np.float32) * 50

    def module(returns_product):
        results = (["%y"] if returns_product else []) + names
        result_types = ([y] if returns_product else []) + types
        head = ", ".join(a.parameters() + b.parameters() +
                         [f"%bias: tensor<{n}xf32>"] + parameters)
        return f"""
func.func @f({head}) -> ({', '.join(result_types)}) {{
  %y = blockscale.scaled_matmul lhs({a.clause}) rhs({b.clause})
      epilogue(%bias : tensor<{n}xf32>) {{
  ^bb0(%acc: f32, %b: f32):
    %0 = arith.addf %acc, %b : f32
    {'%1 = arith.truncf %0 : f32 to ' + out if out != 'f32' else ''}
    blockscale.yield {'%1' if out != 'f32' else '%0'} : {out}
  }} {attribute} : {y}{text}
  return {', '.join(results)} : {', '.join(result_types)}
}}"""
    reference, _ = compile_for("cpu", f"""
func.func @f({', '.join([f'%y: {y}'] + parameters)}) -> ({', '.join(types)}) {{{text}
  return {', '.join(names)} : {', '.join(types)}
}}""")
    name = (f"{target} {lhs} x {rhs} {list(batch)} {m}x{n}x{k} {out} to "
            f"{kind[0]} by {kind[4]}{' tiled' if tiled else ''}"
            f"{' stochastic' if stochastic else ''}{' ' + tile if tile else ''}")
    expected = None
    for returns_product in (True, False):
        library, remarks = compile_for(target, module(returns_product))
        said = f"its result quantized to {kind[0]} in the epilogue"
        check(f"{name}: remark", (said in remarks[0]) == fused, remarks[0])
        results = list(library.call("f", *a.arrays, *b.arrays, bias, *extra))
        if returns_product:
            product = results.pop(0)
            expected = reference.call("f", product, *extra)
            if not isinstance(expected, (tuple, list)):
                expected = [expected]
        same = [np.asarray(x).tobytes() == np.asarray(w).tobytes()
                for x, w in zip(results, expected)]
        check(name + (" and the product" if returns_product else ""),
              len(results) == len(expected) and all(same),
              f"of {names}, equal: {same}")


for i, kind in enumerate(KINDS):
    case("sm_120a", "nvfp4", "nvfp4", 37 + i, 128, 96, kind, tiled=i % 2 == 1,
         out=("bf16", "f32", "f16")[i % 3])
    case("sm_86", "nvfp4", "bf16", 21 + 3 * i, 192, 64, kind, tiled=i % 2 == 0,
         dynamic=True)
    # Tails of N inside a block and between blocks, batches.
    case("sm_120a", "mxfp8_e4m3", "mxfp4", 19, 100 + 12 * i, 64, kind,
         batch=(2,), tiled=i % 3 == 0, dynamic=i % 2 == 0)
mxfp4, mxfp8, nvfp4 = KINDS[0], KINDS[1], KINDS[6]
for m in (1, 16, 17, 130, 300):
    case("sm_120a", "mxfp4", "mxfp4", m, 224, 64, mxfp8, dynamic=True)
for tile in ("16, 64, 128, 3", "32, 128, 128, 2", "64, 64, 128, 3",
             "128, 128, 128, 4"):
    case("sm_120a", "nvfp4", "nvfp4", 140, 150, 160, nvfp4, tile=tile)
    case("sm_120a", "nvfp4", "nvfp4", 140, 150, 160, mxfp4, tile=tile,
         stochastic=True, out="f32")
# A block that no tile holds whole is quantized by a kernel of its own.
case("sm_120a", "nvfp4", "nvfp4", 20, 96, 64,
     ("e2m1, block = 24, scale = ue4m3", "f4E2M1FN", 24, "f8E4M3FN", "absmax",
      ""), fused=False)
# Few tiles on a chip that has more multiprocessors; or perhaps many.
case("sm_80", "nvfp4", "bf16", 150, 192, 64, mxfp8)
case("sm_80", "nvfp4", "bf16", 150, 192, 64, mxfp8, dynamic=True, fused=False)
case("sm_90", "nvfp4", "bf16", 40, 128, 64, mxfp4, batch=(67,), fused=False)
# Hopper's own kernels leave it to another one.
case("sm_90a", "bf16", "nvfp4", 40, 128, 128, mxfp8, fused=False)


def two_formats():
    """One of two quantizations of a product is done by its kernel."""
    y, a = "tensor<50x96xbf16>", "tensor<50x64xbf16>"
    b = "tensor<96x64xbf16>"
    parts = [quantization(kind, y, 50, 96, (), tiled=False, stochastic=False,
                          dynamic=False) for kind in (mxfp4, mxfp8)]
    lines = parts[0][0] + parts[1][0].replace("%s", "%t").replace("%q", "%r")
    returned = parts[0][2] + ["%r", "%t"]
    types = parts[0][3] + parts[1][3]
    tail = f"{lines}\n  return {', '.join(returned)} : {', '.join(types)}\n}}"
    library, remarks = compile_for("sm_80", f"""
func.func @f(%a: {a}, %b: {b}) -> ({', '.join(types + [y])}) {{
  %y = blockscale.scaled_matmul lhs(%a : {a}) rhs(%b : {b}) : {y}{lines}
  return {', '.join(returned)}, %y : {', '.join(types + [y])}
}}""")
    check("two formats: remark", "in the epilogue" in remarks[0], remarks[0])
    reference, _ = compile_for("cpu", f"func.func @f(%y: {y}) -> "
                               f"({', '.join(types)}) {{{tail}")
    rng = np.random.default_rng(2)
    *results, product = library.call("f", *(
        blockscale.to_bf16(rng.standard_normal(shape).astype(np.float32))
        for shape in ((50, 64), (96, 64))))
    for name, got, wanted in zip(returned, results,
                                 reference.call("f", product)):
        check(f"two formats: {name}", got.tobytes() == wanted.tobytes())


def every_barrier_is_needed():
    """Without one of its barriers the kernel is reported to be wrong."""
    a, y = "tensor<70x64xbf16>", "tensor<70x70xbf16>"
    text, _, names, types = quantization(mxfp4, y, 70, 70, (), tiled=False,
                                         stochastic=False, dynamic=False)
    folder = tempfile.TemporaryDirectory()
    source, library = (Path(folder.name) / f"barriers{x}"
                       for x in (".mlir", ".so"))
    source.write_text(f"""
func.func @f(%a: {a}) -> ({', '.join(types)}) {{
  %y = blockscale.scaled_matmul lhs(%a : {a}) rhs(%a : {a})
      {{blockscale.tile = array<i64: 32, 64, 64, 2>}} : {y}{text}
  return {', '.join(names)} : {', '.join(types)}
}}""")
    subprocess.run([os.environ["BLOCKSCALE_COMPILE"], source, "-o", library,
                    "--target=sm_80"], check=True, capture_output=True)
    code, barrier = library.read_bytes(), b"bar.sync \t0;"
    x = blockscale.to_bf16(np.ones((70, 64), np.float32))
    at = -1
    for count in range(code.count(barrier) + 1):
        if count:
            at = code.index(barrier, at + 1)
            library = library.with_name(f"barriers{count}.so")
            library.write_bytes(code[:at] + b" " * len(barrier) +
                                code[at + len(barrier):])
        try:
            blockscale.load(str(library), device="sim").call("f", x)
            why = ""
        except blockscale.Error as error:
            why = str(error)
        check(f"without barrier {count}", bool(why) == bool(count), why)
    check("there are barriers", count >= 5, f"got {count}")


def amax_of_product(target, m, n, k, batch=(), tile=None):
    """A rule that needs the largest magnitude of the product gets it from the
    product's kernel; so does `amax`."""
    dims = "".join(f"{d}x" for d in (*batch, m))
    y, a = f"tensor<{dims}{n}xbf16>", f"tensor<{dims}{k}xbf16>"
    b = f"tensor<{n}x{k}xbf16>"
    blocks = -(-n // 16)
    pad = " {pad}" if n % 16 else ""
    q = f"tensor<{dims}{blocks * 16}xf4E2M1FN>"
    s, e = (f"tensor<{dims}{blocks}x{t}>" for t in ("f8E4M3FN", "f32"))
    lines = f"""
  %s, %g, %e = blockscale.scale %y : {y} to #blockscale.format<nvfp4>
      by #blockscale.scale_rule<two_level>{pad} -> {s}, tensor<f32>, {e}
  %q = blockscale.quantize %y : {y} encode(%e : {e})
      to #blockscale.format<nvfp4>{pad} -> {q}
  %m = blockscale.amax %y : {y} -> tensor<f32>"""
    types = f"{q}, {s}, tensor<f32>, tensor<f32>"
    attribute = f"{{blockscale.tile = array<i64: {tile}>}}" if tile else ""
    library, remarks = compile_for(target, f"""
func.func @f(%a: {a}, %b: {b}) -> ({types}, {y}) {{
  %y = blockscale.scaled_matmul lhs(%a : {a}) rhs(%b : {b}) {attribute} : {y}{lines}
  return %q, %s, %g, %m, %y : {types}, {y}
}}""")
    name = f"amax of {target} {list(batch)} {m}x{n}x{k}"
    check(f"{name}: remark", "its amax taken in the epilogue" in remarks[0],
          remarks[0])
    reference, _ = compile_for("cpu", f"""
func.func @f(%y: {y}) -> ({types}) {{{lines}
  return %q, %s, %g, %m : {types}
}}""")
    rng = np.random.default_rng([m, n, k])
    *results, product = library.call("f", *(
        blockscale.to_bf16(rng.standard_normal(shape).astype(np.float32))
        for shape in ((*batch, m, k), (n, k))))
    for part, got, wanted in zip(("codes", "scales", "tensor scale", "amax"),
                                 results, reference.call("f", product)):
        check(f"{name}: {part}",
              np.asarray(got).tobytes() == np.asarray(wanted).tobytes())
    largest = np.abs(blockscale.from_bf16(product)).max()
    check(f"{name}: value", float(results[3]) == largest)


for m, n in ((1, 64), (33, 70), (150, 131)):
    amax_of_product("sm_80", m, n, 64)
    amax_of_product("sm_120a", m, n, 96, batch=(3,))
amax_of_product("sm_120a", 130, 200, 64, tile="128, 128, 64, 2")
two_formats()
if os.environ.get("BLOCKSCALE_GPU_DEVICE", "sim").startswith("sim"):
    every_barrier_is_needed()
finish(at_least=200)
