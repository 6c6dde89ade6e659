//===-- Floats.cpp - Arithmetic of f32 and f64 ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FloatModes.h"
#include "Lanes.h"

#include <cfenv>

namespace blockscale::sim {

namespace {
/// A result of infinite precision: the double nearest, and the sign of the
/// rest.
struct Exact {
  double high, low;
};

struct Add {
  template <class T> static T of(T a, T b, T) { return a + b; }
  static Exact exact(double a, double b, double) {
    double sum = a + b;
    return {sum, sumError(a, b, sum)};
  }
};
struct Sub {
  template <class T> static T of(T a, T b, T) { return a - b; }
  static Exact exact(double a, double b, double) {
    return Add::exact(a, -b, 0);
  }
};
struct Mul {
  template <class T> static T of(T a, T b, T) { return a * b; }
  static Exact exact(double a, double b, double) { return {a * b, 0}; }
};
struct Fma {
  template <class T> static T of(T a, T b, T c) { return std::fma(a, b, c); }
  static Exact exact(double a, double b, double c) {
    return Add::exact(a * b, c, 0);
  }
};
struct Div {
  template <class T> static T of(T a, T b, T) { return a / b; }
  static Exact exact(double a, double b, double) {
    double quotient = a / b;
    if (!std::isfinite(quotient) || b == 0 || std::isinf(b))
      return {quotient, 0};
    double rest = std::fma(-quotient, b, a);
    return {quotient, b < 0 ? -rest : rest};
  }
};
struct Rcp {
  template <class T> static T of(T a, T, T) { return T(1) / a; }
  static Exact exact(double a, double, double) { return Div::exact(1, a, 0); }
};
struct Sqrt {
  template <class T> static T of(T a, T, T) { return std::sqrt(a); }
  static Exact exact(double a, double, double) {
    double root = std::sqrt(a);
    if (!(root > 0) || std::isinf(root))
      return {root, 0};
    return {root, std::fma(-root, root, a)};
  }
};

inline float clampUnit(float x) {
  return x > 0 ? std::min(x, 1.0f) : 0.0f; // NaN too
}

template <class Op> float apply32(uint64_t mode, float a, float b, float c) {
  if (mode & ftz)
    a = flush(a), b = flush(b), c = flush(c);
  float result;
  if ((mode & roundMask) == 0) {
    result = Op::of(a, b, c);
  } else {
    Exact exact = Op::exact(a, b, c);
    double odd = roundToOdd(exact.high, exact.low);
    // The sign of an exact zero depends on the mode.
    if (exact.high == 0 && (mode & roundMask) == uint64_t(Round::Down) &&
        (std::is_same_v<Op, Add> || std::is_same_v<Op, Sub> ||
         std::is_same_v<Op, Fma>)) {
      double left = std::is_same_v<Op, Fma> ? double(a) * b : a;
      double right = std::is_same_v<Op, Fma>   ? c
                     : std::is_same_v<Op, Sub> ? -b
                                               : b;
      if (!(left == 0 && right == 0 && !std::signbit(left) &&
            !std::signbit(right)))
        odd = -0.0;
    }
    uint32_t bits = encode(formatF32, odd, Round(mode & roundMask));
    std::memcpy(&result, &bits, 4);
  }
  if (mode & ftz)
    result = flush(result);
  if (mode & saturate)
    result = clampUnit(result);
  return canonical(result);
}

template <class Op>
double apply64(uint64_t mode, double a, double b, double c) {
  static constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                  FE_UPWARD};
  unsigned round = mode & roundMask;
  if (round == 0)
    return Op::of(a, b, c);
  std::fesetround(modes[round & 3]);
  volatile double x = a, y = b, z = c;
  volatile double result = Op::of(double(x), double(y), double(z));
  std::fesetround(FE_TONEAREST);
  return result;
}

template <class Op, unsigned sources>
void handler32(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)),
                 *b = sources > 1 ? w.lanes(i.src(1)) : a,
                 *c = sources > 2 ? w.lanes(i.src(2)) : a;
  const uint64_t mode = i.mode;
  if (mode == 0) {
    forLanes(mask, [&](unsigned l) {
      d[l] =
          toBits(canonical(Op::of(fromBits<float>(a[l]), fromBits<float>(b[l]),
                                  fromBits<float>(c[l]))));
    });
    return;
  }
  forLanes(mask, [&](unsigned l) {
    d[l] = toBits(apply32<Op>(mode, fromBits<float>(a[l]),
                              fromBits<float>(b[l]), fromBits<float>(c[l])));
  });
}

template <class Op, unsigned sources>
void handler64(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)),
                 *b = sources > 1 ? w.lanes(i.src(1)) : a,
                 *c = sources > 2 ? w.lanes(i.src(2)) : a;
  forLanes(mask, [&](unsigned l) {
    d[l] = toBits(apply64<Op>(i.mode, fromBits<double>(a[l]),
                              fromBits<double>(b[l]), fromBits<double>(c[l])));
  });
}

template <class Op, unsigned sources>
void handler32x2(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)),
                 *b = sources > 1 ? w.lanes(i.src(1)) : a,
                 *c = sources > 2 ? w.lanes(i.src(2)) : a;
  forLanes(mask, [&](unsigned l) {
    uint64_t low =
        toBits(apply32<Op>(i.mode, fromBits<float>(a[l]), fromBits<float>(b[l]),
                           fromBits<float>(c[l])));
    uint64_t high = toBits(apply32<Op>(i.mode, fromBits<float>(a[l] >> 32),
                                       fromBits<float>(b[l] >> 32),
                                       fromBits<float>(c[l] >> 32)));
    d[l] = high << 32 | low;
  });
}

template <class Op, unsigned sources> bool arithmetic(Decoder &d, Type type) {
  if (!d.simple(type, sources))
    return false;
  d.inst.mode = floatModes(d);
  return d.run(type == Type::F32     ? handler32<Op, sources>
               : type == Type::F64   ? handler64<Op, sources>
               : type == Type::F32x2 ? handler32x2<Op, sources>
                                     : nullptr);
}

/// add.f32.f16 and the like: one operand of a narrower type.
template <class Op> void mixedHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  bool isFma = i.srcs == 3;
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1)),
                 *c = w.lanes(i.src(isFma ? 2 : 1));
  const FloatFormat &format = *formatOf(i.type2);
  forLanes(mask, [&](unsigned l) {
    float x = decode(format, a[l]);
    float y = isFma ? float(decode(format, b[l])) : fromBits<float>(b[l]);
    d[l] = toBits(apply32<Op>(i.mode, x, y, fromBits<float>(c[l])));
  });
}
template <class Op> bool mixed(Decoder &d, unsigned sources) {
  Type narrow = d.type(1);
  d.inst.type2 = narrow;
  d.inst.mode = floatModes(d);
  if (!d.expectOperands(sources + 1, sources + 1) || !d.dst(0))
    return false;
  for (unsigned k = 1; k <= sources; ++k)
    if (!d.src(k, k == sources ? Type::F32 : narrow))
      return false;
  return d.run(mixedHandler<Op>);
}

template <class T> void minMaxHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  bool isMax = i.offset[0];
  forLanes(mask, [&](unsigned l) {
    auto value = [&](unsigned k) {
      T x = fromBits<T>(w.lanes(i.src(k))[l]);
      if constexpr (sizeof(T) == 4)
        if (i.mode & ftz)
          x = flush(x);
      return x;
    };
    T result = minMax<T>(value(0), value(1), isMax, i.mode);
    if (i.srcs > 2)
      result = minMax<T>(result, value(2), isMax, i.mode);
    if constexpr (sizeof(T) == 4)
      result = canonical(result);
    d[l] = toBits(result);
  });
}
bool minMaxOf(Decoder &d, Type type, bool isMax) {
  if (!d.simple(type, d.operandCount() - 1))
    return false;
  d.inst.mode = floatModes(d);
  d.inst.offset[0] = isMax;
  return d.run(type == Type::F32   ? minMaxHandler<float>
               : type == Type::F64 ? minMaxHandler<double>
                                   : nullptr);
}

template <bool isAbs> void signHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0));
  uint64_t sign = i.type == Type::F64 ? uint64_t(1) << 63 : 0x80000000u;
  forLanes(mask, [&](unsigned l) {
    uint64_t value = a[l];
    if (i.mode & ftz)
      value = toBits(flush(fromBits<float>(value)));
    d[l] = isAbs ? value & ~sign : value ^ sign;
  });
}
template <bool isAbs> bool signOf(Decoder &d, Type type) {
  d.inst.mode = d.has("ftz") ? uint64_t(ftz) : 0;
  return d.simple(type, 1) && d.run(signHandler<isAbs>);
}

using Function = double (*)(double);
template <Function function>
void approximate(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0));
  forLanes(mask, [&](unsigned l) {
    if (i.type == Type::F64) {
      d[l] = toBits(function(fromBits<double>(a[l])));
      return;
    }
    float x = fromBits<float>(a[l]);
    if (i.mode & ftz)
      x = flush(x);
    float result = static_cast<float>(function(x));
    if (i.mode & ftz)
      result = flush(result);
    d[l] = toBits(canonical(result));
  });
}
double reciprocal(double x) { return 1 / x; }
double reciprocalRoot(double x) { return 1 / std::sqrt(x); }
double root(double x) { return std::sqrt(x); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
double log2Of(double x) { return std::log2(x); }
double exp2Of(double x) { return std::exp2(x); }
double tanhOf(double x) { return std::tanh(x); }

template <Function function> bool approximation(Decoder &d) {
  Type type = d.type();
  if (type != Type::F32 && type != Type::F64)
    return decodeHalf(d);
  d.inst.mode = d.has("ftz") && type == Type::F32 ? uint64_t(ftz) : 0;
  return d.simple(type, 1) && d.run(approximate<function>);
}
bool rcp(Decoder &d) {
  return d.has("approx") ? approximation<reciprocal>(d)
                         : arithmetic<Rcp, 1>(d, d.type());
}
bool squareRoot(Decoder &d) {
  return d.has("approx") ? approximation<root>(d)
                         : arithmetic<Sqrt, 1>(d, d.type());
}

void copysignHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1));
  uint64_t sign = i.type == Type::F64 ? uint64_t(1) << 63 : 0x80000000u;
  forLanes(mask, [&](unsigned l) { d[l] = (a[l] & sign) | (b[l] & ~sign); });
}
bool copysignOf(Decoder &d) {
  return d.simple(d.type(), 2) && d.run(copysignHandler);
}

void testHandler(Warp &w, const Inst &i, uint32_t mask) {
  const uint64_t *a = w.lanes(i.src(0));
  setLanes(w.predicate(i.dst(0)), mask, [&](unsigned l) {
    int kind = i.type == Type::F64 ? std::fpclassify(fromBits<double>(a[l]))
                                   : std::fpclassify(fromBits<float>(a[l]));
    switch (i.mode) {
    case 0:
      return kind != FP_INFINITE && kind != FP_NAN;
    case 1:
      return kind == FP_INFINITE;
    case 2:
      return kind != FP_NAN;
    case 3:
      return kind == FP_NAN;
    case 4:
      return kind == FP_NORMAL;
    default:
      return kind == FP_SUBNORMAL;
    }
  });
}
bool testp(Decoder &d) {
  static constexpr std::string_view names[] = {
      "finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  for (uint64_t k = 0; k < 6; ++k)
    if (d.has(names[k]))
      d.inst.mode = k;
  return d.simple(d.type(), 1) && d.run(testHandler);
}
} // namespace

bool decodeFloat(Decoder &d) {
  const std::string &opcode = d.in().opcode();
  Type type = d.type();
  bool isMixed = type == Type::F32 && d.type(1) != Type::None;
  if (opcode == "add")
    return isMixed ? mixed<Add>(d, 2) : arithmetic<Add, 2>(d, type);
  if (opcode == "sub")
    return isMixed ? mixed<Sub>(d, 2) : arithmetic<Sub, 2>(d, type);
  if (opcode == "mul")
    return arithmetic<Mul, 2>(d, type);
  if (opcode == "fma" || opcode == "mad")
    return isMixed ? mixed<Fma>(d, 3) : arithmetic<Fma, 3>(d, type);
  if (opcode == "div") // .approx and .full are within a few ulp of this.
    return arithmetic<Div, 2>(d, type);
  if (opcode == "min" || opcode == "max")
    return minMaxOf(d, type, opcode == "max");
  if (opcode == "abs")
    return signOf<true>(d, type);
  if (opcode == "neg")
    return signOf<false>(d, type);
  return d.unsupported("type");
}

static bool decodeFma(Decoder &d) {
  Type type = d.type();
  return type == Type::F32 || type == Type::F64 || type == Type::F32x2
             ? decodeFloat(d)
             : decodeHalf(d);
}

void addFloats(OpcodeTable &table) {
  table["fma"] = decodeFma;
  table["rcp"] = rcp;
  table["sqrt"] = squareRoot;
  table["rsqrt"] = approximation<reciprocalRoot>;
  table["sin"] = approximation<sine>;
  table["cos"] = approximation<cosine>;
  table["lg2"] = approximation<log2Of>;
  table["ex2"] = approximation<exp2Of>;
  table["tanh"] = approximation<tanhOf>;
  table["copysign"] = copysignOf;
  table["testp"] = testp;
}

} // namespace blockscale::sim
