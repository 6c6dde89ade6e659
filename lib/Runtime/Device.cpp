//===-- Device.cpp - Where compiled functions run ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/Device.h"
#include "CUDA/CUDADevice.h"
#include "Simulator/SimDevice.h"
#include "blockscale/Runtime/GPU/Chip.h"

using namespace blockscale::runtime;

namespace {

/// Compiled host code is all there is, and it returns when it is done.
class CPUDevice : public Device {
public:
  std::string_view name() const override { return "cpu"; }
  bool prepare(std::string_view target, std::string &error) override {
    if (target == "cpu")
      return true;
    error = "it was compiled for '" + std::string(target) +
            "', which device 'cpu' does not run";
    if (Chip::parse(target))
      error += "; choose device 'cuda', or 'sim' for the simulator";
    return false;
  }
};

struct Row {
  std::string_view name;
  /// The N of `name:N`, one of several devices or a seed, that `name` means;
  /// -1: it takes none.
  int number;
  std::unique_ptr<Device> (*make)(int number);
};
/// Every device of this build. A new one is a new line.
const Row devices[] = {
    {"cpu", -1,
     [](int) -> std::unique_ptr<Device> {
       return std::make_unique<CPUDevice>();
     }},
    {"cuda", 0,
     [](int number) -> std::unique_ptr<Device> {
       return std::make_unique<cuda::CUDADevice>(number);
     }},
    {"sim", 1,
     [](int number) -> std::unique_ptr<Device> {
       return std::make_unique<SimDevice>(number);
     }},
};

/// N of `:N`, or -1.
int numberOf(std::string_view rest) {
  if (rest.size() < 2 || rest.size() > 4 || rest.front() != ':')
    return -1;
  int number = 0;
  for (char digit : rest.substr(1)) {
    if (digit < '0' || digit > '9')
      return -1;
    number = number * 10 + (digit - '0');
  }
  return number;
}

} // namespace

std::unique_ptr<Device> Device::create(std::string_view name,
                                       std::string &error) {
  std::string known;
  for (const Row &row : devices) {
    if (name.substr(0, row.name.size()) == row.name) {
      std::string_view rest = name.substr(row.name.size());
      int number = rest.empty() ? row.number : numberOf(rest);
      if (rest.empty() || (row.number >= 0 && number >= 0))
        return row.make(number);
    }
    known += (known.empty() ? "" : ", ") + std::string(row.name) +
             (row.number >= 0 ? "[:N]" : "");
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

std::string_view Device::defaultFor(std::string_view target) {
  return Chip::parse(target) ? "cuda" : "cpu";
}
