//===-- Lanes.h - Values of slots as C++ types ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_LANES_H
#define BLOCKSCALE_LIB_SIM_LANES_H

#include "Machine.h"

#include <cstring>
#include <type_traits>

namespace blockscale::sim {

template <class T> inline T fromBits(uint64_t bits) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
}

template <class T> inline uint64_t toBits(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::make_unsigned_t<T>>(value);
  } else {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
}

/// Sign- or zero-extends a value to the destination register's width.
template <class T> inline uint64_t widen(T value, unsigned dstBits) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(value));
    return dstBits >= 64 ? bits : bits & ((uint64_t(1) << dstBits) - 1);
  } else {
    return toBits(value);
  }
}

template <class F>
inline void setLanes(uint32_t &predicate, uint32_t mask, F &&f) {
  uint32_t bits = 0;
  forLanes(mask, [&](unsigned lane) {
    bits |= static_cast<uint32_t>(static_cast<bool>(f(lane))) << lane;
  });
  predicate = (predicate & ~mask) | bits;
}

// Handlers from `struct Op { template <class T> static R of(T...); }`.
template <class Op, class T>
void unaryHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0));
  forLanes(mask, [&](unsigned l) { d[l] = toBits(Op::of(fromBits<T>(a[l]))); });
}

template <class Op, class T>
void binaryHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1));
  forLanes(mask, [&](unsigned l) {
    d[l] = toBits(Op::of(fromBits<T>(a[l]), fromBits<T>(b[l])));
  });
}

template <class Op, class T>
void ternaryHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.lanes(i.dst(0));
  const uint64_t *a = w.lanes(i.src(0)), *b = w.lanes(i.src(1)),
                 *c = w.lanes(i.src(2));
  forLanes(mask, [&](unsigned l) {
    d[l] =
        toBits(Op::of(fromBits<T>(a[l]), fromBits<T>(b[l]), fromBits<T>(c[l])));
  });
}

#define SIM_BY_INTEGER(handler, Op, type)                                      \
  [](Type t) -> Handler {                                                      \
    switch (t) {                                                               \
    case Type::U16:                                                            \
      return handler<Op, uint16_t>;                                            \
    case Type::B16:                                                            \
      return handler<Op, uint16_t>;                                            \
    case Type::U32:                                                            \
    case Type::B32:                                                            \
      return handler<Op, uint32_t>;                                            \
    case Type::U64:                                                            \
    case Type::B64:                                                            \
      return handler<Op, uint64_t>;                                            \
    case Type::S16:                                                            \
      return handler<Op, int16_t>;                                             \
    case Type::S32:                                                            \
      return handler<Op, int32_t>;                                             \
    case Type::S64:                                                            \
      return handler<Op, int64_t>;                                             \
    default:                                                                   \
      return nullptr;                                                          \
    }                                                                          \
  }(type)

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_LANES_H
