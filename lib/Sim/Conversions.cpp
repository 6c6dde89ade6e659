//===-- Conversions.cpp - cvt -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FloatModes.h"
#include "Lanes.h"

#include <cfenv>

namespace blockscale::sim {

namespace {
bool isInteger(Type type) {
  switch (type) {
  case Type::B8:
  case Type::U8:
  case Type::S8:
  case Type::B16:
  case Type::U16:
  case Type::S16:
  case Type::B32:
  case Type::U32:
  case Type::S32:
  case Type::B64:
  case Type::U64:
  case Type::S64:
    return true;
  default:
    return false;
  }
}

__int128 extend(uint64_t bits, Type type) {
  unsigned width = bitWidth(type);
  if (width < 64)
    bits &= (uint64_t(1) << width) - 1;
  if (isSigned(type) && (bits >> (width - 1) & 1))
    return __int128(bits) - (__int128(1) << width);
  return bits;
}

/// Clamped to the range of `type`.
uint64_t clampTo(__int128 value, Type type) {
  unsigned width = bitWidth(type);
  __int128 low = isSigned(type) ? -(__int128(1) << (width - 1)) : 0;
  __int128 high = (__int128(1) << (isSigned(type) ? width - 1 : width)) - 1;
  return static_cast<uint64_t>(std::clamp(value, low, high));
}

uint64_t truncated(uint64_t bits, unsigned width) {
  return width >= 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

double loadFloat(uint64_t bits, Type type, bool flushes) {
  if (type == Type::F64)
    return fromBits<double>(bits);
  if (type == Type::F32) {
    float value = fromBits<float>(bits);
    return flushes ? flush(value) : value;
  }
  return decode(*formatOf(type), bits);
}

double roundToInteger(double value, Round round) {
  switch (round) {
  case Round::Zero:
    return std::trunc(value);
  case Round::Down:
    return std::floor(value);
  case Round::Up:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

uint64_t storeFloat(double value, Type type, uint64_t mode,
                    uint64_t random = 0) {
  if (mode & saturate)
    value = value > 0 ? std::min(value, 1.0) : 0.0;
  if ((mode & relu) && !(value > 0) && !std::isnan(value))
    value = 0.0;
  if (type == Type::F64)
    return toBits(value);
  if (type == Type::F32 && (mode & ftz))
    value = std::fabs(value) < FLT_MIN ? std::copysign(0.0, value) : value;
  if (type == Type::UE8M0x2 || type == Type::UE8M0)
    return encodeUE8M0(value, Round(mode & roundMask), mode & satFinite);
  uint64_t bits = encode(*formatOf(type), value, Round(mode & roundMask),
                         mode & satFinite, random);
  return type == Type::TF32 ? bits << 13 : bits;
}

struct Data {
  Type to, from;
  bool integerRounding = false;
};

void integerToInteger(Warp &w, const Inst &i, uint32_t mask) {
  const Data &data = i.as<Data>();
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0));
  forLanes(mask, [&](unsigned l) {
    __int128 value = extend(a[l], data.from);
    if (i.mode & saturate)
      value = extend(clampTo(value, data.to), data.to);
    d[l] = truncated(
        static_cast<uint64_t>(extend(static_cast<uint64_t>(value), data.to)),
        i.dstBits);
  });
}

void integerToFloat(Warp &w, const Inst &i, uint32_t mask) {
  const Data &data = i.as<Data>();
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0));
  forLanes(mask, [&](unsigned l) {
    __int128 value = extend(a[l], data.from);
    double nearest = static_cast<double>(value);
    __int128 rest = value - static_cast<__int128>(nearest);
    if (data.to != Type::F64) {
      nearest = roundToOdd(nearest, static_cast<double>(rest));
    } else if (rest != 0) {
      Round round = Round(i.mode & roundMask);
      bool up = round == Round::Up || (round == Round::Zero && value < 0);
      bool down = round == Round::Down || (round == Round::Zero && value > 0);
      if (up && rest > 0)
        nearest = std::nextafter(nearest, HUGE_VAL);
      if (down && rest < 0)
        nearest = std::nextafter(nearest, -HUGE_VAL);
    }
    d[l] = storeFloat(nearest, data.to, i.mode);
  });
}

void floatToInteger(Warp &w, const Inst &i, uint32_t mask) {
  const Data &data = i.as<Data>();
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0));
  forLanes(mask, [&](unsigned l) {
    double value = loadFloat(a[l], data.from, i.mode & ftz);
    value = roundToInteger(value, Round(i.mode & roundMask));
    // NaN is 0, or only the top bit where f64 or 64 bits are involved.
    bool lowest = data.from == Type::F64 || bitWidth(data.to) == 64;
    if (std::isnan(value)) {
      d[l] = lowest ? uint64_t(1) << (bitWidth(data.to) - 1) : 0;
      return;
    }
    __int128 whole = value >= 0x1p100    ? __int128(1) << 100
                     : value <= -0x1p100 ? -(__int128(1) << 100)
                                         : static_cast<__int128>(value);
    d[l] = truncated(
        static_cast<uint64_t>(extend(clampTo(whole, data.to), data.to)),
        i.dstBits);
  });
}

void floatToFloat(Warp &w, const Inst &i, uint32_t mask) {
  const Data &data = i.as<Data>();
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0));
  forLanes(mask, [&](unsigned l) {
    // Hardware moves the bits of these NaN instead of making a new one.
    bool wide = data.to == Type::F32 && data.from == Type::BF16;
    bool narrow = data.to == Type::TF32 && data.from == Type::F32;
    if (wide || narrow) {
      uint32_t bits = static_cast<uint32_t>(wide ? a[l] << 16 : a[l]);
      if ((bits & 0x7fffffff) > 0x7f800000) {
        d[l] = bits & 0xffffe000;
        return;
      }
    }
    double value = loadFloat(a[l], data.from, i.mode & ftz);
    uint64_t mode = i.mode;
    if (data.integerRounding) {
      value = roundToInteger(value, Round(i.mode & roundMask));
      mode &= ~uint64_t(roundMask);
    }
    d[l] = storeFloat(value, data.to, mode);
  });
}

unsigned elementBits(Type type) {
  switch (type) {
  case Type::E2M1x2:
  case Type::E2M1x4:
    return 4;
  case Type::F16x2:
  case Type::BF16x2:
    return 16;
  case Type::F32:
    return 32;
  default:
    return 8;
  }
}
unsigned elementCount(Type type) {
  switch (type) {
  case Type::E4M3x4:
  case Type::E5M2x4:
  case Type::E2M3x4:
  case Type::E3M2x4:
  case Type::E2M1x4:
    return 4;
  case Type::F16x2:
  case Type::BF16x2:
  case Type::E4M3x2:
  case Type::E5M2x2:
  case Type::E2M3x2:
  case Type::E3M2x2:
  case Type::E2M1x2:
  case Type::UE8M0x2:
    return 2;
  default:
    return 1;
  }
}

/// The random bits of element `k` (0: the lowest) as a fraction of 64 bits.
uint64_t randomBits(Type to, uint32_t bits, unsigned k) {
  switch (to) {
  case Type::F16x2:
    return uint64_t(bits >> (16 * k) & 0x1fff) << 51;
  case Type::BF16x2:
    return uint64_t(bits >> (16 * k) & 0xffff) << 48;
  case Type::E2M1x4: {
    unsigned shift = k < 2 ? 0 : 8;
    uint64_t value =
        (bits >> (16 + shift) & 0xff) << 8 | (bits >> shift & 0xff);
    return value << 48;
  }
  default:
    return uint64_t(bits >> (k < 2 ? 0 : 16) & 0xffff) << 48;
  }
}

/// Packed results; sources packed as well, or one f32 each, the highest first.
void packed(Warp &w, const Inst &i, uint32_t mask) {
  const Data &data = i.as<Data>();
  uint64_t *d = w.lanes(i.dst(0));
  const unsigned count = elementCount(data.to), width = elementBits(data.to);
  const bool fromPacked = elementCount(data.from) > 1;
  const unsigned fromWidth = elementBits(data.from);
  const bool random = (i.mode & roundMask) == uint64_t(Round::Random);
  const FloatFormat *from = formatOf(data.from);
  forLanes(mask, [&](unsigned l) {
    uint64_t result = 0;
    for (unsigned k = 0; k < count; ++k) {
      double value;
      if (!fromPacked) {
        value = fromBits<float>(w.lanes(i.src(count - 1 - k))[l]);
      } else {
        uint64_t bits = w.lanes(i.src(0))[l] >> (fromWidth * k);
        value = data.from == Type::UE8M0x2 ? decodeUE8M0(bits)
                                           : decode(*from, bits);
      }
      uint64_t fraction =
          random ? randomBits(data.to, w.lanes(i.src(count))[l], k) : 0;
      uint64_t bits = storeFloat(value, data.to, i.mode, fraction);
      result |= truncated(bits, width) << (width * k);
    }
    d[l] = result;
  });
}

/// cvt.pack: two integers saturated into the low half of d, above c.
void pack(Warp &w, const Inst &i, uint32_t mask) {
  const Data &data = i.as<Data>();
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1));
  unsigned width = bitWidth(data.to);
  forLanes(mask, [&](unsigned l) {
    uint64_t high = truncated(clampTo(extend(a[l], data.from), data.to), width);
    uint64_t low = truncated(clampTo(extend(b[l], data.from), data.to), width);
    uint64_t both = high << width | low;
    if (i.srcs > 2)
      both |= w.lanes(i.src(2))[l] << (2 * width);
    d[l] = static_cast<uint32_t>(both);
  });
}

bool decodeConvert(Decoder &d) {
  auto data = std::make_shared<Data>();
  data->to = d.type(0);
  data->from = d.type(1);
  d.inst.mode = floatModes(d);
  d.inst.type = data->to;
  d.inst.data = data;
  if (data->to == Type::None || data->from == Type::None)
    return d.unsupported("pair of types");
  if (!d.dst(0))
    return false;
  if (d.has("pack")) {
    for (size_t k = 1; k < d.operandCount(); ++k)
      if (!d.src(k, k == 3 ? Type::B32 : data->from))
        return false;
    return d.run(pack);
  }
  if (elementCount(data->to) > 1) {
    for (size_t k = 1; k < d.operandCount(); ++k)
      if (!d.srcs(d.operand(k),
                  k > 1 && d.has("rs") && k + 1 == d.operandCount()
                      ? Type::B32
                      : data->from))
        return false;
    size_t expected = elementCount(data->from) > 1 ? 1 : elementCount(data->to);
    expected += d.has("rs");
    if (d.srcCount() != expected)
      return d.fail("expects " + std::to_string(expected) +
                    " sources, but got " + std::to_string(d.srcCount()));
    return d.run(packed);
  }
  if (!d.expectOperands(2, 2) || !d.src(1, data->from))
    return false;
  bool toInteger = isInteger(data->to), fromInteger = isInteger(data->from);
  if ((!toInteger && !isFloat(data->to)) ||
      (!fromInteger && !isFloat(data->from)))
    return d.unsupported("pair of types");
  data->integerRounding =
      d.has("rni") || d.has("rzi") || d.has("rmi") || d.has("rpi");
  return d.run(toInteger ? (fromInteger ? integerToInteger : floatToInteger)
                         : (fromInteger ? integerToFloat : floatToFloat));
}
} // namespace

void addConversions(OpcodeTable &table) { table["cvt"] = decodeConvert; }

} // namespace blockscale::sim
