//===-- Random.cpp - Made-up inputs -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/Random.h"
#include "blockscale/Runtime/Convert.h"

#include <cstring>

using namespace blockscale::runtime;

namespace {

/// SplitMix64 (Steele, Lea and Flood, 2014).
class Generator {
public:
  explicit Generator(uint64_t seed) : state(seed) {}
  uint64_t bits() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  /// A sum of four uniform numbers: exact, so the same everywhere, unlike a
  /// normal number by way of a math library's logarithm.
  double bell() {
    uint64_t b = bits();
    double sum = static_cast<double>((b & 0xFFFF) + (b >> 16 & 0xFFFF) +
                                     (b >> 32 & 0xFFFF) + (b >> 48));
    constexpr double mean = 2.0 * 0xFFFF;
    constexpr double deviation = 0x10000 * 0.57735026918962576; // sqrt(4/12)
    return (sum - mean) / deviation;
  }

private:
  uint64_t state;
};

/// The codes an 8-bit storage gets: [first, first + count).
struct Codes {
  std::string_view dtype;
  unsigned first, count;
};
constexpr Codes codes[] = {
    {"f8E8M0FNU", 0x7D, 5},   // 1/4 to 4
    {"f8E4M3FN", 0x30, 0x11}, // 1/2 to 2
    {"f8E5M2", 0x38, 9},      // 1/2 to 2
    {"f4E2M1FN", 0, 256},     // two of any
    {"f6E2M3FN", 0, 64},      {"f6E3M2FN", 0, 64}, {"i4", 0, 256}, {"i1", 0, 2},
};

} // namespace

template <typename T, typename Make>
static void fill(Tensor &tensor, Make make) {
  for (int64_t i = 0; i < tensor.count(); ++i) {
    T value = static_cast<T>(make());
    std::memcpy(tensor.data() + i * sizeof value, &value, sizeof value);
  }
}

std::optional<Tensor>
blockscale::runtime::randomInput(const TensorType &type,
                                 const std::vector<int64_t> &sizes,
                                 uint64_t seed, std::string &error) {
  std::optional<std::vector<int64_t>> storage = type.storageFor(sizes, error);
  if (!storage)
    return std::nullopt;
  std::optional<Tensor> tensor =
      Tensor::allocate(type.storageType, *storage, error);
  if (!tensor)
    return std::nullopt;

  Generator random(seed);
  Codes range = {"", 0, 128};
  for (const Codes &row : codes)
    if (row.dtype == type.dtype)
      range = row;
  auto code = [&] { return range.first + random.bits() % range.count; };
  switch (type.storageType) {
  case DataType::F16:
    fill<uint16_t>(*tensor, [&] { return toF16(random.bell()); });
    break;
  case DataType::BF16:
    fill<uint16_t>(*tensor, [&] { return toBF16(random.bell()); });
    break;
  case DataType::F32:
    fill<float>(*tensor, [&] { return random.bell(); });
    break;
  case DataType::F64:
    fill<double>(*tensor, [&] { return random.bell(); });
    break;
  default:
    switch (size(type.storageType)) {
    case 1:
      fill<uint8_t>(*tensor, code);
      break;
    case 2:
      fill<uint16_t>(*tensor, code);
      break;
    case 4:
      fill<uint32_t>(*tensor, code);
      break;
    default:
      fill<uint64_t>(*tensor, code);
    }
  }
  return tensor;
}
