//===-- Memory.h - Global memory of the simulated device --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_MEMORY_H
#define BLOCKSCALE_LIB_SIM_MEMORY_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace blockscale::sim {

// Generic addresses. Each window is 4 GiB; global allocations lie above all.
constexpr uint64_t sharedWindow = 0x0200'0000'0000;
constexpr uint64_t localWindow = 0x0300'0000'0000;
constexpr uint64_t paramWindow = 0x0400'0000'0000;
constexpr uint64_t globalBase = 0x7f00'0000'0000;
inline bool inWindow(uint64_t address, uint64_t window) {
  return address >> 32 == window >> 32;
}

/// A shared::cluster address is the CTA's rank above 24 bits of offset, so a
/// CTA's own addresses are valid in the whole cluster.
constexpr unsigned rankShift = 24;
/// The first bytes of shared memory belong to the system, as on sm_90.
constexpr uint32_t sharedBase = 1024;

struct Allocation {
  uint64_t base = 0, bytes = 0;
  std::string name;
  bool readOnly = false;
  std::unique_ptr<uint8_t[]> data;
  std::unique_ptr<uint8_t[]> written; ///< One flag per byte.
};

class Memory {
public:
  uint64_t allocate(uint64_t bytes, std::string name, bool readOnly = false);
  bool release(uint64_t address);
  /// The allocation that holds [address, address + bytes), or null.
  Allocation *find(uint64_t address, uint64_t bytes) const;
  /// What lies near `address`, in words.
  std::string describe(uint64_t address) const;
  /// One of a set of locks, for atomics at `address`.
  std::mutex &lock(uint64_t address) { return locks[address / 16 % 64]; }

private:
  std::vector<std::unique_ptr<Allocation>> allocations; ///< By address.
  uint64_t nextBase = globalBase;
  std::mutex locks[64];
};

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_MEMORY_H
