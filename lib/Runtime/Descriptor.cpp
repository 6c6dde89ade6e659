//===-- Descriptor.cpp - How arrays are passed to compiled code -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Descriptor.h"

#include <algorithm>
#include <cstring>

using namespace blockscale::runtime;

static_assert(sizeof(void *) == sizeof(int64_t), "a 64-bit machine");
static constexpr size_t numFields(size_t rank) { return 3 + 2 * rank; }

static void write(const TensorView &view, int64_t *fields) {
  const size_t rank = view.shape.size();
  std::memcpy(&fields[0], &view.data, sizeof(void *));
  std::memcpy(&fields[1], &view.data, sizeof(void *));
  fields[2] = 0;
  std::vector<int64_t> strides = rowMajorStrides(view.shape);
  for (size_t i = 0; i < rank; ++i) {
    fields[3 + i] = view.shape[i];
    fields[3 + rank + i] = strides[i];
  }
}

Descriptor::Descriptor(const int64_t *fields, size_t rank)
    : offset(fields[2]), sizes(fields + 3, fields + 3 + rank),
      strides(fields + 3 + rank, fields + 3 + 2 * rank) {
  std::memcpy(&allocated, &fields[0], sizeof(void *));
  std::memcpy(&aligned, &fields[1], sizeof(void *));
}

bool Descriptor::isRowMajor() const {
  // Strides of nothing say nothing, those of sizes before the 0 included.
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
    return true;
  std::vector<int64_t> expected = rowMajorStrides(sizes);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1 && strides[i] != expected[i])
      return false;
  return true;
}

Arguments::Arguments(const Entry &entry, const std::vector<TensorView> &inputs)
    : entry(entry) {
  // Addresses of fields are taken, so they are all made before.
  size_t results = 1, arguments = 0;
  for (const TensorType &type : entry.results)
    results += numFields(type.storageShape.size());
  for (const TensorView &input : inputs)
    arguments += numFields(input.shape.size());
  resultFields.resize(results);
  inputFields.resize(arguments);
  args.push_back(resultFields.data());
  int64_t *next = inputFields.data();
  for (const TensorView &input : inputs) {
    write(input, next);
    args.push_back(next);
    next += numFields(input.shape.size());
  }
}

std::vector<Descriptor> Arguments::results() const {
  std::vector<Descriptor> descriptors;
  size_t position = 0;
  for (const TensorType &type : entry.results) {
    const size_t rank = type.storageShape.size();
    descriptors.emplace_back(&resultFields[position], rank);
    position += numFields(rank);
  }
  return descriptors;
}

bool blockscale::runtime::checkArray(const TensorType &type,
                                     const TensorView &array,
                                     std::string &error) {
  std::optional<int64_t> count = elementCount(array.shape, size(array.type));
  if (!count)
    error = "has impossible sizes " + shapeText(array.shape);
  else if (!array.data && *count > 0)
    error = "has no data";
  else
    return type.accepts(array.type, array.shape, error);
  return false;
}

bool blockscale::runtime::checkResult(const Entry &entry, size_t index,
                                      const Descriptor &result,
                                      std::string &error) {
  const TensorType &type = entry.results[index];
  std::string why;
  std::optional<int64_t> count =
      elementCount(result.sizes, size(type.storageType));
  if (count && (result.aligned || *count == 0) &&
      type.accepts(type.storageType, result.sizes, why))
    return true;
  error = "result " + std::to_string(index) + " of '" + entry.name + "' " +
          (why.empty() ? "has no data" : why) + "; the library is faulty";
  return false;
}
