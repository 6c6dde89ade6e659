//===-- Halves.cpp - Arithmetic of f16, bf16 and pairs ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FloatModes.h"
#include "Lanes.h"

namespace blockscale::sim {

namespace {
enum Operation : int64_t {
  opAdd,
  opSub,
  opMul,
  opFma,
  opMin,
  opMax,
  opAbs,
  opNeg,
  opExp2,
  opTanh,
};

uint16_t applyHalf(const FloatFormat &format, int64_t operation, uint64_t mode,
                   const uint16_t *in, unsigned count) {
  const uint16_t sign = 0x8000;
  if (operation == opNeg || operation == opAbs) {
    uint16_t value = in[0];
    if (std::isnan(decode(format, value)))
      return format.nan;
    if ((mode & ftz) && !(value & 0x7c00))
      value &= sign;
    return operation == opNeg ? value ^ sign : value & ~sign;
  }
  double x[3];
  for (unsigned k = 0; k < count; ++k) {
    x[k] = decode(format, in[k]);
    if ((mode & ftz) && std::fabs(x[k]) < std::ldexp(1.0, format.minExponent()))
      x[k] = std::copysign(0.0, x[k]);
  }
  double result;
  switch (operation) {
  case opAdd:
  case opSub: {
    double b = operation == opSub ? -x[1] : x[1];
    double sum = x[0] + b;
    result = roundToOdd(sum, sumError(x[0], b, sum));
    break;
  }
  case opMul:
    result = x[0] * x[1];
    break;
  case opFma: {
    double product = x[0] * x[1], sum = product + x[2];
    result = roundToOdd(sum, sumError(product, x[2], sum));
    break;
  }
  case opMin:
  case opMax:
    result = minMax<double>(x[0], x[1], operation == opMax, mode);
    if (count > 2)
      result = minMax<double>(result, x[2], operation == opMax, mode);
    break;
  case opExp2:
    result = std::exp2(x[0]);
    break;
  default:
    result = std::tanh(x[0]);
    break;
  }
  if ((mode & ftz) && std::fabs(result) < std::ldexp(1.0, format.minExponent()))
    result = std::copysign(0.0, result);
  if (mode & saturate)
    result = result > 0 ? std::min(result, 1.0) : 0.0;
  if ((mode & relu) && result < 0)
    result = 0.0;
  return encode(format, result, Round(mode & roundMask));
}

template <unsigned width>
void halfHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const FloatFormat &format = *formatOf(i.type);
  forLanes(mask, [&](unsigned l) {
    uint64_t bits = 0;
    for (unsigned half = 0; half < width; ++half) {
      uint16_t in[3];
      for (unsigned k = 0; k < i.srcs; ++k)
        in[k] = w.lanes(i.src(k))[l] >> (16 * half);
      bits |= uint64_t(applyHalf(format, i.offset[0], i.mode, in, i.srcs))
              << (16 * half);
    }
    d[l] = bits;
  });
}
} // namespace

bool decodeHalf(Decoder &d) {
  static const std::unordered_map<std::string_view, Operation> names = {
      {"add", opAdd},  {"sub", opSub},  {"mul", opMul}, {"fma", opFma},
      {"min", opMin},  {"max", opMax},  {"abs", opAbs}, {"neg", opNeg},
      {"ex2", opExp2}, {"tanh", opTanh}};
  auto name = names.find(d.in().opcode());
  Type type = d.type();
  if (name == names.end() || !formatOf(type) || bitWidth(type) > 32)
    return d.unsupported("type");
  unsigned sources = d.operandCount() - 1;
  if (!d.simple(type, sources) || sources > 3)
    return false;
  d.inst.mode = floatModes(d);
  d.inst.offset[0] = name->second;
  return d.run(bitWidth(type) == 32 ? halfHandler<2> : halfHandler<1>);
}

void addHalves(OpcodeTable &) {}

} // namespace blockscale::sim
