//===-- Integers.cpp - Integer arithmetic -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Lanes.h"

#include <algorithm>
#include <limits>

namespace blockscale::sim {

namespace {
template <class T> using Unsigned = std::make_unsigned_t<T>;

/// Wide enough for products of T.
template <class T> struct WiderOf {
  using type = int64_t;
};
template <> struct WiderOf<uint16_t> {
  using type = uint64_t;
};
template <> struct WiderOf<uint32_t> {
  using type = uint64_t;
};
template <> struct WiderOf<int64_t> {
  using type = __int128;
};
template <> struct WiderOf<uint64_t> {
  using type = unsigned __int128;
};
template <class T> using Wider = typename WiderOf<T>::type;

template <class T> T wrap(Unsigned<T> value) { return static_cast<T>(value); }

struct Add {
  template <class T> static T of(T a, T b) {
    return wrap<T>(Unsigned<T>(a) + Unsigned<T>(b));
  }
};
struct AddSat {
  static int32_t of(int32_t a, int32_t b) {
    return std::clamp<int64_t>(int64_t(a) + b, INT32_MIN, INT32_MAX);
  }
};
struct Sub {
  template <class T> static T of(T a, T b) {
    return wrap<T>(Unsigned<T>(a) - Unsigned<T>(b));
  }
};
struct SubSat {
  static int32_t of(int32_t a, int32_t b) {
    return std::clamp<int64_t>(int64_t(a) - b, INT32_MIN, INT32_MAX);
  }
};
struct MulLo {
  template <class T> static T of(T a, T b) {
    return static_cast<T>(Wider<T>(a) * Wider<T>(b));
  }
};
struct MulHi {
  template <class T> static T of(T a, T b) {
    return static_cast<T>((Wider<T>(a) * Wider<T>(b)) >> (8 * sizeof(T)));
  }
};
struct Mul24Lo {
  template <class T> static T of(T a, T b) {
    constexpr unsigned up = 8 * sizeof(T) - 24;
    T x = static_cast<T>(Unsigned<T>(a) << up) >> up;
    T y = static_cast<T>(Unsigned<T>(b) << up) >> up;
    return static_cast<T>(Wider<T>(x) * y);
  }
};
struct Mul24Hi {
  template <class T> static T of(T a, T b) {
    constexpr unsigned up = 8 * sizeof(T) - 24;
    T x = static_cast<T>(Unsigned<T>(a) << up) >> up;
    T y = static_cast<T>(Unsigned<T>(b) << up) >> up;
    return static_cast<T>((Wider<T>(x) * y) >> 16);
  }
};
template <class Product> struct Mad {
  template <class T> static T of(T a, T b, T c) {
    return Add::of(Product::of(a, b), c);
  }
};
struct MadHiSat {
  static int32_t of(int32_t a, int32_t b, int32_t c) {
    return AddSat::of(MulHi::of(a, b), c);
  }
};
struct Div {
  // Hardware gives all ones for a zero divisor.
  template <class T> static T of(T a, T b) {
    if (b == 0)
      return static_cast<T>(~T(0));
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
      return wrap<T>(-Unsigned<T>(a));
    return a / b;
  }
};
struct Rem {
  template <class T> static T of(T a, T b) {
    if (b == 0)
      return static_cast<T>(~T(0));
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
      return 0;
    return a % b;
  }
};
struct Min {
  template <class T> static T of(T a, T b) { return std::min(a, b); }
};
struct Max {
  template <class T> static T of(T a, T b) { return std::max(a, b); }
};
struct MinRelu {
  static int32_t of(int32_t a, int32_t b) {
    return std::max(std::min(a, b), 0);
  }
};
struct MaxRelu {
  static int32_t of(int32_t a, int32_t b) {
    return std::max(std::max(a, b), 0);
  }
};
struct Abs {
  template <class T> static T of(T a) {
    return a < T(0) ? wrap<T>(-Unsigned<T>(a)) : a;
  }
};
struct Neg {
  template <class T> static T of(T a) { return wrap<T>(-Unsigned<T>(a)); }
};
struct Sad {
  template <class T> static T of(T a, T b, T c) {
    Unsigned<T> difference = a < b ? Unsigned<T>(b) - Unsigned<T>(a)
                                   : Unsigned<T>(a) - Unsigned<T>(b);
    return wrap<T>(Unsigned<T>(c) + difference);
  }
};

/// Two 16-bit integers in a register.
template <class Op, class T> struct Pair {
  static uint32_t of(uint32_t a, uint32_t b) {
    uint16_t low = Op::of(static_cast<T>(a), static_cast<T>(b));
    uint16_t high = Op::of(static_cast<T>(a >> 16), static_cast<T>(b >> 16));
    return uint32_t(high) << 16 | low;
  }
};
struct ReluOf16Min {
  static int16_t of(int16_t a, int16_t b) {
    return std::max<int16_t>(std::min(a, b), 0);
  }
};
struct ReluOf16Max {
  static int16_t of(int16_t a, int16_t b) {
    return std::max<int16_t>(std::max(a, b), 0);
  }
};

template <class Op> bool pairs(Decoder &d, Type type) {
  if (!d.simple(Type::B32, 2))
    return false;
  return d.run(type == Type::S16x2
                   ? Handler(binaryHandler<Pair<Op, int16_t>, uint32_t>)
                   : Handler(binaryHandler<Pair<Op, uint16_t>, uint32_t>));
}

template <class T> void mulWide(Warp &w, const Inst &i, uint32_t mask) {
  using W = std::conditional_t<
      sizeof(T) == 2,
      std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>, Wider<T>>;
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1));
  const uint64_t *c = i.srcs > 2 ? w.lanes(i.src(2)) : nullptr;
  forLanes(mask, [&](unsigned l) {
    W product = W(fromBits<T>(a[l])) * W(fromBits<T>(b[l]));
    if (c)
      product = Add::of(product, fromBits<W>(c[l]));
    d[l] = toBits(product);
  });
}

Handler wideHandler(Type type) {
  switch (type) {
  case Type::U16:
    return mulWide<uint16_t>;
  case Type::S16:
    return mulWide<int16_t>;
  case Type::U32:
    return mulWide<uint32_t>;
  case Type::S32:
    return mulWide<int32_t>;
  default:
    return nullptr;
  }
}

enum CarryMode : uint64_t { usesCarry = 1, setsCarry = 2, subtracts = 4 };

/// add.cc, addc, sub.cc, subc, mad.cc, madc: the product of a mad is lo or hi.
template <class T> void carryHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1));
  const uint64_t *c = i.srcs > 2 ? w.lanes(i.src(2)) : nullptr;
  using U = std::make_unsigned_t<T>;
  uint32_t carryIn = w.predicate(carrySlot), carryOut = 0;
  forLanes(mask, [&](unsigned l) {
    U x = static_cast<U>(a[l]), y = static_cast<U>(b[l]);
    if (c) {
      x = i.mode & 8
              ? static_cast<U>(MulHi::of(fromBits<T>(a[l]), fromBits<T>(b[l])))
              : static_cast<U>(x * y);
      y = static_cast<U>(c[l]);
    }
    unsigned __int128 in = i.mode & usesCarry ? carryIn >> l & 1 : 0;
    unsigned __int128 wide = i.mode & subtracts ? (unsigned __int128)x - y - in
                                                : (unsigned __int128)x + y + in;
    d[l] = static_cast<U>(wide);
    carryOut |= uint32_t(wide >> (8 * sizeof(U)) & 1) << l;
  });
  if (i.mode & setsCarry)
    w.predicate(carrySlot) = (carryIn & ~mask) | carryOut;
}

bool carry(Decoder &d, size_t sources, uint64_t mode) {
  Type type = d.type();
  d.inst.mode =
      mode | (d.has("cc") ? uint64_t(setsCarry) : 0) | (d.has("hi") ? 8 : 0);
  return d.simple(type, sources) &&
         d.run(type == Type::S64      ? carryHandler<int64_t>
               : bitWidth(type) == 64 ? carryHandler<uint64_t>
               : type == Type::S32    ? carryHandler<int32_t>
                                      : carryHandler<uint32_t>);
}

bool isPair(Type type) { return type == Type::U16x2 || type == Type::S16x2; }

/// Passes floats and halves on.
template <bool (*integers)(Decoder &, Type)> bool shared(Decoder &d) {
  Type type = d.type();
  switch (type) {
  case Type::F32:
  case Type::F64:
  case Type::F32x2:
    return decodeFloat(d);
  case Type::F16:
  case Type::F16x2:
  case Type::BF16:
  case Type::BF16x2:
    return decodeHalf(d);
  default:
    return integers(d, type);
  }
}

bool add(Decoder &d, Type type) {
  if (isPair(type))
    return pairs<Add>(d, type);
  if (d.has("cc"))
    return carry(d, 2, 0);
  if (!d.simple(type, 2))
    return false;
  if (d.has("sat"))
    return d.run(binaryHandler<AddSat, int32_t>);
  return d.run(SIM_BY_INTEGER(binaryHandler, Add, type));
}

bool sub(Decoder &d, Type type) {
  if (d.has("cc"))
    return carry(d, 2, subtracts);
  if (!d.simple(type, 2))
    return false;
  if (d.has("sat"))
    return d.run(binaryHandler<SubSat, int32_t>);
  return d.run(SIM_BY_INTEGER(binaryHandler, Sub, type));
}

bool addc(Decoder &d) { return carry(d, 2, usesCarry); }
bool subc(Decoder &d) { return carry(d, 2, usesCarry | subtracts); }
bool madc(Decoder &d) { return carry(d, 3, usesCarry); }

bool mul(Decoder &d, Type type) {
  if (!d.simple(type, 2))
    return false;
  if (d.has("wide"))
    return d.run(wideHandler(type));
  return d.run(d.has("hi") ? SIM_BY_INTEGER(binaryHandler, MulHi, type)
                           : SIM_BY_INTEGER(binaryHandler, MulLo, type));
}

bool mad(Decoder &d, Type type) {
  if (d.has("cc"))
    return carry(d, 3, 0);
  if (!d.expectOperands(4, 4) || !d.dst(0) || !d.src(1, type) ||
      !d.src(2, type))
    return false;
  if (d.has("wide")) {
    bool narrow = bitWidth(type) == 16;
    return d.src(3, isSigned(type) ? (narrow ? Type::S32 : Type::S64)
                                   : (narrow ? Type::U32 : Type::U64)) &&
           d.run(wideHandler(type));
  }
  if (!d.src(3, type))
    return false;
  if (d.has("sat"))
    return d.run(ternaryHandler<MadHiSat, int32_t>);
  return d.run(d.has("hi") ? SIM_BY_INTEGER(ternaryHandler, Mad<MulHi>, type)
                           : SIM_BY_INTEGER(ternaryHandler, Mad<MulLo>, type));
}

template <class Op32, class Op32s> bool multiply24(Decoder &d, size_t sources) {
  Type type = d.type();
  return d.simple(type, sources) && d.run([&]() -> Handler {
    if (sources == 2)
      return type == Type::S32 ? Handler(binaryHandler<Op32, int32_t>)
                               : Handler(binaryHandler<Op32s, uint32_t>);
    return type == Type::S32 ? Handler(ternaryHandler<Mad<Op32>, int32_t>)
                             : Handler(ternaryHandler<Mad<Op32s>, uint32_t>);
  }());
}
bool mul24(Decoder &d) {
  return d.has("hi") ? multiply24<Mul24Hi, Mul24Hi>(d, 2)
                     : multiply24<Mul24Lo, Mul24Lo>(d, 2);
}
bool mad24(Decoder &d) {
  return d.has("hi") ? multiply24<Mul24Hi, Mul24Hi>(d, 3)
                     : multiply24<Mul24Lo, Mul24Lo>(d, 3);
}

bool div(Decoder &d, Type type) {
  return d.simple(type, 2) && d.run(SIM_BY_INTEGER(binaryHandler, Div, type));
}
bool rem(Decoder &d) {
  Type type = d.type();
  return d.simple(type, 2) && d.run(SIM_BY_INTEGER(binaryHandler, Rem, type));
}
bool min(Decoder &d, Type type) {
  if (isPair(type))
    return d.has("relu") ? pairs<ReluOf16Min>(d, type) : pairs<Min>(d, type);
  if (!d.simple(type, 2))
    return false;
  if (d.has("relu"))
    return d.run(binaryHandler<MinRelu, int32_t>);
  return d.run(SIM_BY_INTEGER(binaryHandler, Min, type));
}
bool max(Decoder &d, Type type) {
  if (isPair(type))
    return d.has("relu") ? pairs<ReluOf16Max>(d, type) : pairs<Max>(d, type);
  if (!d.simple(type, 2))
    return false;
  if (d.has("relu"))
    return d.run(binaryHandler<MaxRelu, int32_t>);
  return d.run(SIM_BY_INTEGER(binaryHandler, Max, type));
}
bool abs(Decoder &d, Type type) {
  return d.simple(type, 1) && d.run(SIM_BY_INTEGER(unaryHandler, Abs, type));
}
bool neg(Decoder &d, Type type) {
  return d.simple(type, 1) && d.run(SIM_BY_INTEGER(unaryHandler, Neg, type));
}
bool sad(Decoder &d) {
  Type type = d.type();
  return d.simple(type, 3) && d.run(SIM_BY_INTEGER(ternaryHandler, Sad, type));
}

} // namespace

void addIntegers(OpcodeTable &table) {
  table["add"] = shared<add>;
  table["sub"] = shared<sub>;
  table["addc"] = addc;
  table["subc"] = subc;
  table["mul"] = shared<mul>;
  table["mad"] = shared<mad>;
  table["madc"] = madc;
  table["mul24"] = mul24;
  table["mad24"] = mad24;
  table["div"] = shared<div>;
  table["rem"] = rem;
  table["min"] = shared<min>;
  table["max"] = shared<max>;
  table["abs"] = shared<abs>;
  table["neg"] = shared<neg>;
  table["sad"] = sad;
}

} // namespace blockscale::sim
