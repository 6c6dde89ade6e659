//===-- HostBuilder.h - The numeric templates on host bits ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value is up to 256 lanes of 32 bits, held in place. Used by the constant
// folder, by the reference interpreter and by the tests of compiled code.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_NUMERICS_HOSTBUILDER_H
#define BLOCKSCALE_NUMERICS_HOSTBUILDER_H

#include "blockscale/Numerics/ValueBuilder.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

namespace blockscale {

class HostValue {
public:
  static constexpr unsigned kMaxLanes = 256;

  HostValue() : HostValue(1) { bits[0] = 0; }
  /// The lanes are left unset.
  explicit HostValue(unsigned count) : count(count) {
    assert(count >= 1 && count <= kMaxLanes && "lane count out of range");
  }
  HostValue(const HostValue &other) : count(other.count) { copyLanes(other); }
  HostValue &operator=(const HostValue &other) {
    count = other.count;
    copyLanes(other);
    return *this;
  }

  static HostValue ofBits(const uint32_t *lanes, unsigned count) {
    HostValue value(count);
    std::copy_n(lanes, count, value.bits);
    return value;
  }
  static HostValue ofFloats(const float *lanes, unsigned count) {
    HostValue value(count);
    std::memcpy(value.bits, lanes, count * sizeof(float));
    return value;
  }

  unsigned lanes() const { return count; }
  uint32_t operator[](unsigned lane) const { return bits[lane]; }
  uint32_t &operator[](unsigned lane) { return bits[lane]; }
  float asFloat(unsigned lane = 0) const { return f32OfBits(bits[lane]); }
  const uint32_t *data() const { return bits; }

private:
  /// Those in use. Most values are short: a copy of a known size is no call of
  /// memmove, which was a third of the work.
  void copyLanes(const HostValue &other) {
    constexpr unsigned kShort = 16;
    std::memcpy(bits, other.bits, kShort * sizeof(uint32_t));
    if (count > kShort)
      std::memcpy(bits + kShort, other.bits + kShort,
                  (count - kShort) * sizeof(uint32_t));
  }

  unsigned count;
  uint32_t bits[kMaxLanes];
};

class HostBuilder {
public:
  using Value = HostValue;
  using V = const HostValue &;

  Value i32(uint32_t constant) { return Value::ofBits(&constant, 1); }
  Value f32(float constant) { return Value::ofFloats(&constant, 1); }

  Value add(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return a + b; });
  }
  Value sub(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return a - b; });
  }
  Value mul(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return a * b; });
  }
  std::pair<Value, Value> mulWide(V x, V y) {
    return {mul(x, y), map(x, y, [](uint32_t a, uint32_t b) {
              return uint32_t((uint64_t(a) * b) >> 32);
            })};
  }
  Value band(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return a & b; });
  }
  Value bor(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return a | b; });
  }
  Value bxor(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return a ^ b; });
  }
  Value shl(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return a << inRange(b); });
  }
  Value lshr(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return a >> inRange(b); });
  }
  Value ashr(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) {
      return uint32_t(int32_t(a) >> inRange(b));
    });
  }
  Value umin(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return a < b ? a : b; });
  }
  Value umax(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return a > b ? a : b; });
  }
  Value smin(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) {
      return int32_t(a) < int32_t(b) ? a : b;
    });
  }
  Value smax(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) {
      return int32_t(a) > int32_t(b) ? a : b;
    });
  }

  Value eq(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return uint32_t(a == b); });
  }
  Value ne(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return uint32_t(a != b); });
  }
  Value ult(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return uint32_t(a < b); });
  }
  Value ule(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) { return uint32_t(a <= b); });
  }
  Value ugt(V x, V y) { return ult(y, x); }
  Value uge(V x, V y) { return ule(y, x); }
  Value slt(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) {
      return uint32_t(int32_t(a) < int32_t(b));
    });
  }
  Value sle(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) {
      return uint32_t(int32_t(a) <= int32_t(b));
    });
  }
  Value sgt(V x, V y) { return slt(y, x); }
  Value sge(V x, V y) { return sle(y, x); }
  Value land(V x, V y) { return band(x, y); }
  Value lor(V x, V y) { return bor(x, y); }
  Value lnot(V x) { return bxor(x, i32(1)); }

  Value flt(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) {
      return uint32_t(f32OfBits(a) < f32OfBits(b));
    });
  }
  Value fle(V x, V y) {
    return map(x, y, [](uint32_t a, uint32_t b) {
      return uint32_t(f32OfBits(a) <= f32OfBits(b));
    });
  }
  Value fgt(V x, V y) { return flt(y, x); }

  Value select(V condition, V x, V y) {
    unsigned count = std::max({condition.lanes(), x.lanes(), y.lanes()});
    if (x.lanes() == count && y.lanes() == count &&
        condition.lanes() == count) {
      Value result(count);
      for (unsigned i = 0; i < count; ++i)
        result[i] = condition[i] ? x[i] : y[i];
      return result;
    }
    Value result(count);
    for (unsigned i = 0; i < count; ++i)
      result[i] = at(condition, i) ? at(x, i) : at(y, i);
    return result;
  }

  Value fadd(V x, V y) {
    return fmap(x, y, [](float a, float b) { return a + b; });
  }
  Value fsub(V x, V y) {
    return fmap(x, y, [](float a, float b) { return a - b; });
  }
  Value fmul(V x, V y) {
    return fmap(x, y, [](float a, float b) { return a * b; });
  }
  Value fdiv(V x, V y) {
    return fmap(x, y, [](float a, float b) { return a / b; });
  }
  Value fmuladd(V x, V s, V c) { return fadd(fmul(x, s), c); }
  Value fsqrt(V x) {
    Value result(x.lanes());
    for (unsigned i = 0; i < x.lanes(); ++i)
      result[i] = bitsOfF32(std::sqrt(x.asFloat(i)));
    return result;
  }

  Value asInt(V x) { return x; }
  Value asFloat(V x) { return x; }
  Value toFloat(V x) {
    Value result(x.lanes());
    for (unsigned i = 0; i < x.lanes(); ++i)
      result[i] = bitsOfF32(float(int32_t(x[i])));
    return result;
  }

  unsigned lanes(V x) { return x.lanes(); }
  Value laneConstants(const std::vector<uint32_t> &constants) {
    return Value::ofBits(constants.data(), constants.size());
  }
  Value shuffle(V x, const std::vector<int> &index) {
    Value result(index.size());
    for (unsigned i = 0; i < index.size(); ++i)
      result[i] = x[index[i]];
    return result;
  }
  Value interleave4(V w0, V w1, V w2, V w3) {
    Value result(4 * w0.lanes());
    for (unsigned i = 0; i < w0.lanes(); ++i) {
      result[4 * i] = w0[i];
      result[4 * i + 1] = w1[i];
      result[4 * i + 2] = w2[i];
      result[4 * i + 3] = w3[i];
    }
    return result;
  }

  Value reduceUMax(V x) {
    uint32_t largest = 0;
    for (unsigned i = 0; i < x.lanes(); ++i)
      largest = std::max(largest, x[i]);
    return i32(largest);
  }
  Value reduceFAdd(V x) {
    unsigned width = 1;
    while (width < x.lanes())
      width *= 2;
    float sums[HostValue::kMaxLanes];
    for (unsigned i = 0; i < width; ++i)
      sums[i] = i < x.lanes() ? x.asFloat(i) : 0.0f;
    for (width /= 2; width; width /= 2)
      for (unsigned i = 0; i < width; ++i)
        sums[i] += sums[i + width];
    return f32(sums[0]);
  }

private:
  static uint32_t inRange(uint32_t amount) {
    assert(amount < 32 && "a shift by 32 or more is poison in IR");
    return amount & 31;
  }
  static uint32_t at(V x, unsigned lane) {
    return x[x.lanes() == 1 ? 0 : lane];
  }

  template <typename F> static Value map(V x, V y, F operation) {
    unsigned n = x.lanes(), m = y.lanes();
    if (n == m) {
      Value result(n);
      for (unsigned i = 0; i < n; ++i)
        result[i] = operation(x[i], y[i]);
      return result;
    }
    if (m == 1) {
      Value result(n);
      uint32_t scalar = y[0];
      for (unsigned i = 0; i < n; ++i)
        result[i] = operation(x[i], scalar);
      return result;
    }
    assert(n == 1 && "expects equal lane counts, or one scalar");
    Value result(m);
    uint32_t scalar = x[0];
    for (unsigned i = 0; i < m; ++i)
      result[i] = operation(scalar, y[i]);
    return result;
  }
  template <typename F> static Value fmap(V x, V y, F operation) {
    return map(x, y, [operation](uint32_t a, uint32_t b) {
      return bitsOfF32(operation(f32OfBits(a), f32OfBits(b)));
    });
  }
};

} // namespace blockscale

#endif // BLOCKSCALE_NUMERICS_HOSTBUILDER_H
