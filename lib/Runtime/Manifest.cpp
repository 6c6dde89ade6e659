//===-- Manifest.cpp - What a compiled shared library offers ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#define JSON_NOEXCEPTION
#include "blockscale/Runtime/Manifest.h"
#include "blockscale/Layout/ScaleLayout.h"

#include <nlohmann/json.hpp>
#include <utility>

using namespace blockscale::runtime;
using Json = nlohmann::json;

namespace {

/// Reads one JSON document, keeping track of where it is for errors. Returns
/// false as soon as something is wrong.
class Reader {
public:
  explicit Reader(std::string &error) : error(error) {}

  bool manifest(const Json &json, Manifest &manifest) {
    if (!json.is_object())
      return expected("", "an object", json);
    const Json *version = member(json, "", "version");
    if (!version)
      return false;
    if (*version != Manifest::currentVersion) {
      error = "expects a manifest of version " +
              std::to_string(Manifest::currentVersion) + ", but got " +
              shorten(*version) + "; use the tools the library came from";
      return false;
    }
    const Json *entries = array(json, "", "entries");
    if (!entries || !string(json, "", "target", manifest.target))
      return false;
    for (size_t i = 0; i < entries->size(); ++i)
      if (!entry((*entries)[i], "entries[" + std::to_string(i) + "]",
                 manifest.entries.emplace_back()))
        return false;
    return manifest.target == "cpu" || kernels(json, manifest.kernels);
  }

private:
  static std::string shorten(const Json &json) {
    // Nothing nested: to print it would recurse as deep as a file wants.
    if (json.is_structured())
      return json.is_array() ? "an array" : "an object";
    constexpr size_t limit = 40;
    std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() > limit ? text.substr(0, limit) + "..." : text;
  }
  bool expected(const std::string &where, const char *what,
                const std::string &got) {
    error = "malformed manifest: " + (where.empty() ? "it" : where) +
            " expects " + what + ", but got " + got;
    return false;
  }
  bool expected(const std::string &where, const char *what, const Json &got) {
    return expected(where, what, shorten(got));
  }
  const Json *member(const Json &object, const std::string &where,
                     const char *key) {
    auto found = object.find(key);
    if (found != object.end())
      return &*found;
    error = "malformed manifest: " + (where.empty() ? "" : where + ": ") + "'" +
            key + "' is missing";
    return nullptr;
  }
  static std::string join(const std::string &where, const char *key) {
    return where.empty() ? key : where + "." + key;
  }
  const Json *array(const Json &object, const std::string &where,
                    const char *key) {
    const Json *value = member(object, where, key);
    if (value && !value->is_array()) {
      expected(join(where, key), "an array", *value);
      return nullptr;
    }
    return value;
  }
  bool string(const Json &object, const std::string &where, const char *key,
              std::string &result) {
    const Json *value = member(object, where, key);
    if (!value)
      return false;
    const std::string *text = value->get_ptr<const std::string *>();
    if (!text)
      return expected(join(where, key), "a string", *value);
    result = *text;
    return true;
  }
  bool shape(const Json &object, const std::string &where,
             std::vector<int64_t> &result) {
    const Json *sizes = array(object, where, "shape");
    if (!sizes)
      return false;
    for (const Json &size : *sizes) {
      // -1 is dynamic; JSON's unsigned numbers are a type of their own.
      if (!size.is_number_integer() ||
          (size.is_number_unsigned() &&
           size.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) ||
          size.get<int64_t>() < -1)
        return expected(join(where, "shape"), "sizes or -1", size);
      result.push_back(size.get<int64_t>());
    }
    return true;
  }

  bool kernels(const Json &json, std::vector<Kernel> &result) {
    const Json *list = array(json, "", "kernels");
    if (!list)
      return false;
    for (size_t i = 0; i < list->size(); ++i) {
      const Json &item = (*list)[i];
      const std::string where = "kernels[" + std::to_string(i) + "]";
      Kernel &kernel = result.emplace_back();
      if (!item.is_object())
        return expected(where, "an object", item);
      if (!string(item, where, "name", kernel.name) ||
          !extents(item, where, "block", kernel.block) ||
          !extents(item, where, "cluster", kernel.cluster))
        return false;
      const Json *bytes = member(item, where, "shared_bytes");
      if (!bytes)
        return false;
      if (!isCount(*bytes, 0))
        return expected(where + ".shared_bytes", "a number of bytes", *bytes);
      kernel.sharedBytes = bytes->get<int64_t>();
    }
    return true;
  }
  bool extents(const Json &object, const std::string &where, const char *key,
               std::array<int64_t, 3> &result) {
    const Json *sizes = array(object, where, key);
    if (!sizes)
      return false;
    if (sizes->size() != result.size())
      return expected(join(where, key), "3 sizes",
                      std::to_string(sizes->size()));
    for (size_t i = 0; i < result.size(); ++i) {
      if (!isCount((*sizes)[i], 1))
        return expected(join(where, key), "positive sizes", (*sizes)[i]);
      result[i] = (*sizes)[i].get<int64_t>();
    }
    return true;
  }
  /// A number from `minimum` on that fits where launches want it.
  static bool isCount(const Json &json, int64_t minimum) {
    // JSON's unsigned numbers are a type of their own.
    return json.is_number_unsigned() && json.get<uint64_t>() <= INT32_MAX &&
           json.get<int64_t>() >= minimum;
  }

  bool entry(const Json &json, const std::string &where, Entry &entry) {
    if (!json.is_object())
      return expected(where, "an object", json);
    return string(json, where, "name", entry.name) &&
           tensors(json, where, "inputs", entry.inputs) &&
           tensors(json, where, "results", entry.results);
  }
  bool tensors(const Json &json, const std::string &where, const char *key,
               std::vector<TensorType> &result) {
    const Json *types = array(json, where, key);
    if (!types)
      return false;
    for (size_t i = 0; i < types->size(); ++i)
      if (!tensor((*types)[i], join(where, key) + "[" + std::to_string(i) + "]",
                  result.emplace_back()))
        return false;
    return true;
  }
  bool tensor(const Json &json, const std::string &where, TensorType &type) {
    if (!json.is_object())
      return expected(where, "an object", json);
    const Json *storage = member(json, where, "storage");
    if (!storage)
      return false;
    std::string inside = where + ".storage", storageType;
    if (!storage->is_object())
      return expected(inside, "an object", *storage);
    if (!string(json, where, "type", type.type) ||
        !string(json, where, "dtype", type.dtype) ||
        !string(json, where, "layout", type.layout) ||
        !shape(json, where, type.shape) ||
        !string(*storage, inside, "dtype", storageType) ||
        !shape(*storage, inside, type.storageShape))
      return false;
    std::optional<DataType> known = dataTypeFromName(storageType);
    if (!known)
      return expected(inside + ".dtype", "a type that memory can hold",
                      (*storage)["dtype"]);
    type.storageType = *known;
    if (type.layout != "linear" && !type.isTiled())
      return expected(where + ".layout", "\"linear\" or \"tiled_128x4\"",
                      json["layout"]);
    const size_t rank = type.storageShape.size();
    if (rank + type.isTiled() != type.shape.size() ||
        (type.isTiled() && rank < 1))
      return expected(inside + ".shape",
                      type.isTiled() ? "the batch sizes and one size in bytes"
                                     : "a size per dimension",
                      "[" + shapeText(type.storageShape) + "]");
    return true;
  }

  std::string &error;
};

/// tiledScaleBytes(), or nullopt if it might overflow.
std::optional<int64_t> tiledBytes(int64_t rows, int64_t columns) {
  constexpr int64_t limit = int64_t(1) << 31;
  if (rows > limit || columns > limit)
    return std::nullopt;
  return blockscale::tiledScaleBytes(rows, columns);
}

} // namespace

bool TensorType::isDynamic() const {
  for (int64_t extent : shape)
    if (extent < 0)
      return true;
  return false;
}

std::string TensorType::text() const {
  if (!isTiled() && name(storageType) == dtype && storageShape == shape)
    return type;
  return type + ", stored as " + arrayText(storageType, storageShape);
}

std::optional<std::vector<int64_t>>
TensorType::storageFor(const std::vector<int64_t> &sizes,
                       std::string &error) const {
  bool fits = sizes.size() == shape.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i)
    fits = sizes[i] >= 0 && (shape[i] < 0 || shape[i] == sizes[i]);
  if (!fits) {
    error = "expects sizes of " + type + ", but got " +
            (sizes.empty() ? "none" : shapeText(sizes));
    return std::nullopt;
  }
  std::vector<int64_t> result = storageShape;
  // Where packing changes a size, it is a static one: a dynamic storage size
  // is either the logical one or the bytes of tiled scales.
  for (size_t i = 0; i < result.size(); ++i)
    if (result[i] < 0)
      result[i] = sizes[i];
  if (isTiled() && storageShape.back() < 0) {
    std::optional<int64_t> bytes =
        tiledBytes(sizes[sizes.size() - 2], sizes[sizes.size() - 1]);
    if (!bytes) {
      error = "shape " + shapeText(sizes) + " is too large";
      return std::nullopt;
    }
    result.back() = *bytes;
  }
  return result;
}

bool TensorType::accepts(DataType given, const std::vector<int64_t> &sizes,
                         std::string &error) const {
  const std::string start =
      "expects " + text() + ", but got " + arrayText(given, sizes);
  if (!sameBits(storageType, given)) {
    error = start;
    return false;
  }
  if (sizes.size() != storageShape.size()) {
    error = start + ": rank " + std::to_string(storageShape.size()) +
            " is expected";
    return false;
  }
  for (size_t i = 0; i < sizes.size(); ++i)
    if (storageShape[i] >= 0 && sizes[i] != storageShape[i]) {
      error = start + ": dimension " + std::to_string(i) + " must be " +
              std::to_string(storageShape[i]);
      return false;
    }
  // Any number of rows is possible, but only in whole tiles.
  if (isTiled() && storageShape.back() < 0 && shape.back() >= 0) {
    int64_t step = tiledBytes(1, shape.back()).value_or(0);
    if (step ? sizes.back() % step != 0 : sizes.back() != 0) {
      error = start + ": the last size must be a multiple of " +
              std::to_string(step);
      return false;
    }
  }
  return true;
}

std::optional<Manifest> Manifest::parse(std::string_view json,
                                        std::string &error) {
  Json document = Json::parse(json, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    error = "malformed manifest: it is not JSON";
    return std::nullopt;
  }
  Manifest manifest;
  if (!Reader(error).manifest(document, manifest))
    return std::nullopt;
  return manifest;
}

const Entry *Manifest::find(std::string_view name, std::string &error) const {
  std::string known;
  for (const Entry &entry : entries) {
    if (entry.name == name)
      return &entry;
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  error = "there is no entry '" + std::string(name) + "'; " +
          (entries.empty() ? "there are none" : "expects one of " + known);
  return nullptr;
}
