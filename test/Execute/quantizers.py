# REQUIRES: blockscale-compile, numpy
# RUN: %python %s
"""Whole tensors are quantized as the vectors say, by every scale rule."""
from support import *

tensors = refs("quant_vectors.json")["tensors"]


def round_trip(name, element, block, scale, tensor, rule, columns):
    """MLIR that returns scales, elements, values[, tensor scale]; the amax is
    the tensor's own or, where the rule is ue5m3, an argument."""
    e, s = mlir_type(element), mlir_type(scale)
    blocks = columns // block
    format = (f"#blockscale.format<{element}, block = {block}, "
              f"scale = {scale}, tensor = {'f32' if tensor else 'none'}>")
    x_type, q_type = f"tensor<1x{columns}xf32>", f"tensor<1x{columns}x{e}>"
    power_of_two = rule.split(",")[0] in ("floor", "ceil", "rceil", "even")
    division = "torchao" in rule or rule == "division"
    has_encode = not power_of_two and not division
    names, types, by, by_scales = scale_results(f"1x{blocks}", s, tensor,
                                                encode=has_encode)
    s_type = types[0]
    held = rule.startswith("ue5m3")
    extra, amax = (", %a: tensor<f32>", "amax(%a : tensor<f32>) ") if held \
        else ("", "")
    result, returned = "", ""
    if tensor:
        result, returned = ", tensor<f32>", ", %g"
    return f"""
func.func @{name}(%x: {x_type}{extra}) -> ({s_type}, {q_type}, {x_type}{result}) {{
  {", ".join(names)} = blockscale.scale %x : {x_type} {amax}to {format}
      by #blockscale.scale_rule<{rule}> -> {", ".join(types)}
  %q = blockscale.quantize %x : {x_type} {by} to {format} -> {q_type}
  %y = blockscale.dequantize %q : {q_type} {by_scales} from {format} -> {x_type}
  return %s, %q, %y{returned} : {s_type}, {q_type}, {x_type}{result}
}}"""


def expect(name, results, element, expected, values="dq"):
    scales, codes, back = results[:3]
    same(f"{name} scales", scales.view(np.uint8)[0], expected["scales"])
    same(f"{name} codes", unpack(codes, element)[0], expected["codes"])
    # As numbers: in the vectors' exact arithmetic zero has no sign.
    same(f"{name} values", back[0], floats(expected[values]))


def check_mx(tensor_name, x, variants):
    functions = {}
    for variant in variants:
        element, rule = variant.split("/")
        element = ELEMENTS.get(element, element)
        functions[variant.replace("/", "_")] = round_trip(
            variant.replace("/", "_"), element, 32, "e8m0", False, rule, x.size)
    library = compile("".join(functions.values()))
    for variant, expected in variants.items():
        element = variant.split("/")[0]
        element = ELEMENTS.get(element, element)
        name = f"{tensor_name} {variant}"
        results = library.call(variant.replace("/", "_"), x.reshape(1, -1))
        if (tensor_name, variant) == ("huge", "mxint4/rceil"):
            # The vector has 255, NaN. But 3e38 is finite, and a finite amax
            # saturates at 254 (scale_c11): the block is kept.
            same(f"{name} in the vector", expected["scales"], [255])
            same(f"{name} scales", results[0].view(np.uint8)[0], [254])
            same(f"{name} first value", results[2][0, 0],
                 np.copysign(np.float32(1.75 * 2.0 ** 127), x[0]))
            continue
        expect(name, results, element, expected)


NV = {"te": ("e2m1", "ue4m3", True, "two_level"),
      "te_256": ("e2m1", "ue4m3", True, "two_level, bound = 256.0"),
      "nvint4": ("int4", "ue4m3", True, "two_level"),
      "torchao_two_level": ("e2m1", "ue4m3", True, "torchao_two_level"),
      "torchao_one_level": ("e2m1", "ue4m3", False, "division"),
      "cublas_scale_in_1": ("e2m1", "ue4m3", False, "reciprocal"),
      "nunchaku_act": ("e2m1", "ue4m3", False, "svdquant"),
      "four_over_six_mse": ("e2m1", "ue4m3", True, "four_over_six"),
      "four_over_six_mae": ("e2m1", "ue4m3", True, "four_over_six_mae"),
      "ue5m3_T448": ("e2m1", "ue5m3", True, "ue5m3, bound = 448.0"),
      "ue5m3_T2048": ("e2m1", "ue5m3", True, "ue5m3, bound = 2048.0")}


def check_held(name, results, expected):
    """The vectors divide by G where a tensor scale multiplies by 1/G, so that
    values may differ in the last bit; codes and scales may not (scale_c20)."""
    scales, codes, back, level = results
    same(f"{name} scales", scales.view(np.uint8)[0], expected["scales"])
    same(f"{name} codes", unpack(codes, "e2m1")[0], expected["codes"])
    same(f"{name} tensor scale", level,
         np.float32(1) / floats([expected["G"]])[0])
    ulps = np.abs(np.abs(back[0]).view(np.int32)
                  - np.abs(floats(expected["dq"])).view(np.int32))
    check(f"{name} values", ulps.max() <= 1, f"{ulps.max()} ulps")


def check_nv(tensor_name, x, variants):
    check(f"{tensor_name} has every variant", set(variants) == set(NV))
    library = compile("".join(
        round_trip(name, element, 16, scale, tensor, rule, x.size)
        for name, (element, scale, tensor, rule) in NV.items()))
    x = x.reshape(1, -1)
    for variant, expected in variants.items():
        name = f"{tensor_name} {variant}"
        if variant.startswith("ue5m3"):
            amax = floats([expected["cached_amax"]])[0]
            check_held(name, library.call(variant, x, amax), expected)
            continue
        results = library.call(variant, x)
        if expected is None:
            # An amax of zero, for which torchao divides by zero: here the
            # tensor scale is 1 and zeros keep their signs (scale_c10).
            same(f"{name} tensor scale", results[3], np.float32(1))
            same(f"{name} values", bits(results[2]), bits(x))
            continue
        values = "dq_before_unscale" if "cublas" in variant else "dq"
        expect(name, results, NV[variant][0], expected, values)
        if expected.get("global_decode_scale"):
            same(f"{name} tensor scale", bits(results[3]),
                 bits(floats([expected["global_decode_scale"]])[0]))


def check_infinity(x, recommended):
    """A block with an infinity is NaN as a whole (scale_c12)."""
    rules = ["floor", "ceil", "rceil", "even"]
    elements = ["e2m1", "e2m3", "e4m3", "int8q6"]
    library = compile("".join(
        round_trip(f"{element}_{rule}", element, 32, "e8m0", False, rule, 32)
        for element in elements for rule in rules))
    for element in elements:
        for rule in rules:
            scales, _, values = library.call(f"{element}_{rule}",
                                             x.reshape(1, -1))
            same(f"has_inf {element} {rule} scale", scales.view(np.uint8),
                 [[recommended["mx_scale_code"]]])
            check(f"has_inf {element} {rule} values",
                  np.isnan(values).all() and recommended["dq_all"] == "nan")


for name, tensor in tensors.items():
    x = floats(tensor["x"])
    if "mx" in tensor:
        check_mx(name, x, tensor["mx"])
    if "nvfp4" in tensor:
        check_nv(name, x, tensor["nvfp4"])
    if "recommended" in tensor:
        check_infinity(x, tensor["recommended"])
finish(at_least=5 * 24 * 3 + 4 * 11 * 3)
