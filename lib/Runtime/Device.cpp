//===-- Device.cpp - Where compiled functions run ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/Device.h"

using namespace blockscale::runtime;

namespace {

/// Compiled host code is all there is, and it returns when it is done.
class CPUDevice : public Device {
public:
  std::string_view name() const override { return "cpu"; }
  bool runs(std::string_view target) const override { return target == "cpu"; }
  bool prepare(std::string &) override { return true; }
  bool synchronize(std::string &) override { return true; }
};

struct Row {
  std::string_view name;
  std::unique_ptr<Device> (*make)();
};
/// Every device of this build. A new one is a new line.
const Row devices[] = {
    {"cpu",
     []() -> std::unique_ptr<Device> { return std::make_unique<CPUDevice>(); }},
};

} // namespace

std::unique_ptr<Device> Device::create(std::string_view name,
                                       std::string &error) {
  std::string known;
  for (const Row &row : devices) {
    if (row.name == name)
      return row.make();
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  error =
      "this build has no device '" + std::string(name) + "'; it has " + known;
  return nullptr;
}

std::vector<std::string_view> Device::available() {
  std::vector<std::string_view> names;
  for (const Row &row : devices)
    names.push_back(row.name);
  return names;
}
