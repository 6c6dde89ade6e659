//===-- Arguments.cpp - Arrays and numbers for an entry ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Arguments.h"
#include "blockscale/Runtime/Npy.h"
#include "blockscale/Sim/TensorMap.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace blockscale::sim {

namespace {
std::vector<std::string> split(const std::string &text, char at) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool parseShape(const std::string &text, std::vector<int64_t> &shape,
                std::string &error) {
  for (const std::string &part : split(text, 'x')) {
    char *end = nullptr;
    errno = 0;
    int64_t extent = std::strtoll(part.c_str(), &end, 10);
    if (part.empty() || *end || extent < 0 || errno) {
      error = "expects sizes such as 4x64, but got '" + text + "'";
      return false;
    }
    shape.push_back(extent);
  }
  return true;
}

/// The address of a copy of an array, which is an output too if `output` is
/// set.
bool addInput(const std::string &path, const std::string &output,
              Device &device, uint64_t &address,
              std::vector<OutputArray> &outputs, std::string &error) {
  std::optional<runtime::Tensor> tensor = runtime::readNpy(path, error);
  if (!tensor)
    return false;
  address = device.upload(tensor->data(), tensor->bytes(), path);
  if (!output.empty())
    outputs.push_back({output, address, std::move(*tensor)});
  return true;
}

bool addOutput(const std::string &path, const std::string &typeName,
               const std::string &shapeText, Device &device, uint64_t &address,
               std::vector<OutputArray> &outputs, std::string &error) {
  std::optional<runtime::DataType> type = runtime::dataTypeFromName(typeName);
  std::vector<int64_t> shape;
  if (!type) {
    error = "expects a type such as f32, but got '" + typeName + "'";
    return false;
  }
  if (!parseShape(shapeText, shape, error))
    return false;
  std::optional<runtime::Tensor> tensor =
      runtime::Tensor::allocate(*type, shape, error);
  if (!tensor)
    return false;
  address = device.allocate(tensor->bytes(), path);
  outputs.push_back({path, address, std::move(*tensor)});
  return true;
}

struct MapType {
  const char *name;
  TensorMapType type;
  unsigned bits;
};
constexpr MapType mapTypes[] = {{"u8", TensorMapType::U8, 8},
                                {"u16", TensorMapType::U16, 16},
                                {"u32", TensorMapType::U32, 32},
                                {"i32", TensorMapType::S32, 32},
                                {"f16", TensorMapType::F16, 16},
                                {"bf16", TensorMapType::BF16, 16},
                                {"f32", TensorMapType::F32, 32},
                                {"f64", TensorMapType::F64, 64},
                                {"u4", TensorMapType::U4Align8, 4},
                                {"u4x16", TensorMapType::U4Align16, 4},
                                {"u6x16", TensorMapType::U6Align16, 6}};

/// TYPE:SHAPE:BOX[:SWIZZLE] for memory at `address`.
bool addMap(const std::vector<std::string> &parts, size_t at, uint64_t address,
            Launch &launch, std::string &error) {
  TensorMapShape map;
  unsigned bits = 0;
  for (const MapType &row : mapTypes)
    if (parts[at] == row.name)
      map.type = row.type, bits = row.bits;
  std::vector<int64_t> shape, box;
  if (!bits) {
    error = "expects a type of tensor maps, but got '" + parts[at] + "'";
    return false;
  }
  if (!parseShape(parts[at + 1], shape, error) ||
      !parseShape(parts[at + 2], box, error))
    return false;
  if (shape.size() != box.size() || shape.empty() || shape.size() > 5) {
    error = "expects a box of the shape's rank, 1 to 5, but got '" +
            parts[at + 1] + "' and '" + parts[at + 2] + "'";
    return false;
  }
  map.rank = shape.size();
  map.address = address;
  uint64_t stride = bits;
  for (unsigned i = 0; i < map.rank; ++i) {
    map.size[i] = shape[map.rank - 1 - i];
    map.box[i] = box[map.rank - 1 - i];
    map.stride[i] = i ? stride / 8 : 0;
    stride *= map.size[i];
  }
  std::string swizzle = at + 3 < parts.size() ? parts[at + 3] : "0";
  if (swizzle == "32")
    map.swizzle = TensorMapSwizzle::B32;
  else if (swizzle == "64")
    map.swizzle = TensorMapSwizzle::B64;
  else if (swizzle == "128")
    map.swizzle = TensorMapSwizzle::B128;
  else if (swizzle != "0") {
    error = "expects a swizzle of 0, 32, 64 or 128, but got '" + swizzle + "'";
    return false;
  }
  std::optional<TensorMap> made = makeTensorMap(map, error);
  if (made)
    launch.add(*made);
  return made.has_value();
}

/// A number of `text` between T's limits.
template <class T> bool addInteger(const std::string &text, Launch &launch) {
  char *end = nullptr;
  errno = 0;
  bool negative = !text.empty() && text[0] == '-', fits = false;
  T value = 0;
  if (negative) {
    long long wide = std::strtoll(text.c_str(), &end, 0);
    value = static_cast<T>(wide);
    fits = std::is_signed_v<T> && wide == static_cast<long long>(value);
  } else {
    unsigned long long wide = std::strtoull(text.c_str(), &end, 0);
    value = static_cast<T>(wide);
    fits = value >= 0 && wide == static_cast<unsigned long long>(value);
  }
  launch.add(value);
  return !text.empty() && *end == 0 && errno == 0 && fits;
}
template <class T> bool addReal(const std::string &text, Launch &launch) {
  char *end = nullptr;
  double wide = std::strtod(text.c_str(), &end);
  // An infinity must be spelled.
  bool fits = std::abs(wide) <= std::numeric_limits<T>::max() ||
              text.find_first_of("iInN") != std::string::npos;
  launch.add(static_cast<T>(wide));
  return !text.empty() && *end == 0 && fits;
}

struct NumberType {
  const char *name;
  bool (*add)(const std::string &text, Launch &launch);
};
constexpr NumberType numberTypes[] = {
    {"i8", addInteger<int8_t>},   {"u8", addInteger<uint8_t>},
    {"i16", addInteger<int16_t>}, {"u16", addInteger<uint16_t>},
    {"i32", addInteger<int32_t>}, {"u32", addInteger<uint32_t>},
    {"i64", addInteger<int64_t>}, {"u64", addInteger<uint64_t>},
    {"f32", addReal<float>},      {"f64", addReal<double>}};
} // namespace

bool addArgument(const std::string &text, Device &device, Launch &launch,
                 std::vector<OutputArray> &outputs, std::string &error) {
  std::vector<std::string> parts = split(text, ':');
  const std::string &kind = parts[0];
  uint64_t address = 0;
  if (kind == "null" && parts.size() == 1) {
    launch.add(address);
    return true;
  }
  if (kind == "in" && parts.size() == 2) {
    if (!addInput(parts[1], "", device, address, outputs, error))
      return false;
    launch.add(address);
    return true;
  }
  if (kind == "inout" && parts.size() == 3 && !parts[2].empty()) {
    if (!addInput(parts[1], parts[2], device, address, outputs, error))
      return false;
    launch.add(address);
    return true;
  }
  if (kind == "out" && parts.size() == 4) {
    if (!addOutput(parts[1], parts[2], parts[3], device, address, outputs,
                   error))
      return false;
    launch.add(address);
    return true;
  }
  if (kind == "map-in" && (parts.size() == 5 || parts.size() == 6))
    return addInput(parts[1], "", device, address, outputs, error) &&
           addMap(parts, 2, address, launch, error);
  if (kind == "map-out" && (parts.size() == 5 || parts.size() == 6))
    return addOutput(parts[1], parts[2], parts[3], device, address, outputs,
                     error) &&
           addMap(parts, 2, address, launch, error);
  for (const NumberType &row : numberTypes)
    if (parts.size() == 2 && kind == row.name) {
      if (row.add(parts[1], launch))
        return true;
      error = "expects a number that " + kind + " holds, but got '" + parts[1] +
              "'";
      return false;
    }
  error = "expects an argument such as in:x.npy, out:y.npy:f32:4x64 or i32:5, "
          "but got '" +
          text + "'";
  return false;
}

} // namespace blockscale::sim
