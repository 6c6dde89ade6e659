//===-- Memory.cpp - Global memory of the simulated device ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Memory.h"

#include <algorithm>
#include <cstring>

namespace blockscale::sim {

uint64_t Memory::allocate(uint64_t bytes, std::string name, bool readOnly) {
  auto allocation = std::make_unique<Allocation>();
  allocation->base = nextBase;
  allocation->bytes = bytes;
  allocation->name = std::move(name);
  allocation->readOnly = readOnly;
  allocation->data.reset(new uint8_t[bytes + 1]);
  std::memset(allocation->data.get(), 0xcb, bytes);
  allocation->written.reset(new uint8_t[bytes + 1]());
  // A gap behind each allocation makes overruns visible.
  nextBase += (bytes + 4096 + 511) / 512 * 512;
  allocations.push_back(std::move(allocation));
  return allocations.back()->base;
}

bool Memory::release(uint64_t address) {
  for (auto it = allocations.begin(); it != allocations.end(); ++it)
    if ((*it)->base == address) {
      allocations.erase(it);
      return true;
    }
  return false;
}

Allocation *Memory::find(uint64_t address, uint64_t bytes) const {
  auto it = std::upper_bound(
      allocations.begin(), allocations.end(), address,
      [](uint64_t a, const auto &other) { return a < other->base; });
  if (it == allocations.begin())
    return nullptr;
  Allocation *candidate = std::prev(it)->get();
  uint64_t offset = address - candidate->base;
  if (offset > candidate->bytes || bytes > candidate->bytes - offset)
    return nullptr;
  return candidate;
}

std::string Memory::describe(uint64_t address) const {
  const Allocation *nearest = nullptr;
  for (const auto &allocation : allocations)
    if (allocation->base <= address)
      nearest = allocation.get();
  if (!nearest)
    return "no allocation is below it";
  std::string name =
      nearest->name.empty() ? "an allocation" : "'" + nearest->name + "'";
  return "byte " + std::to_string(address - nearest->base) + " of " + name +
         ", which has " + std::to_string(nearest->bytes) + " bytes";
}

} // namespace blockscale::sim
