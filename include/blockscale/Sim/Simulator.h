//===-- Simulator.h - Executes PTX on the CPU -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A functional simulator of PTX kernels:
//
//   sim::Device device;
//   std::string error;
//   if (!device.load(ptx, error)) ...
//   uint64_t x = device.upload(host.data(), host.size() * 4, "x");
//   sim::Launch launch;
//   launch.entry = "scale";
//   launch.grid = {blocks, 1, 1};
//   launch.block = {256, 1, 1};
//   launch.add(x).add(uint32_t(n));
//   sim::Result result = device.launch(launch);
//   if (!result) puts(result.text().c_str());
//   device.read(x, host.data(), host.size() * 4);
//
// It knows nothing but PTX. It stops at what hardware leaves undefined: reads
// of uninitialised registers or memory, accesses out of bounds or misaligned,
// unordered conflicting accesses to shared memory, deadlocks, partial warps at
// warp-synchronous instructions. See docs/Simulator.md.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_SIM_SIMULATOR_H
#define BLOCKSCALE_SIM_SIMULATOR_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace blockscale::sim {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// What a simulated program did wrong.
enum class Fault : uint8_t {
  None,
  BadLaunch,     ///< No such entry, wrong parameters, sizes over the limits.
  Unsupported,   ///< An instruction that the simulator does not execute.
  Trap,          ///< `trap`, a failed assert.
  OutOfBounds,   ///< No allocation there.
  Misaligned,    ///< The address is no multiple of the access's size.
  Uninitialized, ///< A register or byte was read before it was written.
  Race,          ///< Conflicting accesses to shared memory without order.
  Deadlock,      ///< Every warp waits.
  BadSync,       ///< Wrong member mask, barrier count or mbarrier state.
  BadOperand,    ///< A descriptor, selector or size that the ISA forbids.
  TooLong,       ///< Options::maxInstructions was reached.
};

struct Report {
  Fault fault = Fault::None;
  std::string message;     ///< In words, without the place.
  uint32_t line = 0;       ///< Of the PTX text; 0 if there is none.
  std::string instruction; ///< The opcode there.
  Dim3 cta = {0, 0, 0}, thread = {0, 0, 0};
  bool hasThread = false;
  uint64_t address = 0;
  bool hasAddress = false;

  /// `line 12: st.shared.u32: cta (0,0,0) thread (5,0,0): address 0x...: ...`
  std::string text() const;
};

/// Counts of a launch, if Options::profile.
struct Profile {
  std::map<std::string, uint64_t>
      instructions; ///< Warp instructions by opcode.
  uint64_t threadInstructions = 0;
  uint64_t sharedAccesses = 0; ///< Warp instructions that touch shared memory.
  uint64_t sharedWavefronts = 0;
  uint64_t sharedIdealWavefronts = 0; ///< With no bank conflict.
  uint64_t globalAccesses = 0;
  uint64_t globalSectors = 0; ///< Of 32 bytes.
  uint64_t globalBytes = 0;   ///< That were asked for.
  uint64_t maxSharedBytes = 0;

  uint64_t bankConflicts() const {
    return sharedWavefronts - sharedIdealWavefronts;
  }
  std::string text() const;
};

struct Result {
  Report report;
  Profile profile;
  uint64_t warpInstructions = 0;

  explicit operator bool() const { return report.fault == Fault::None; }
  std::string text() const { return report.text(); }
};

struct Options {
  bool checkRegisters = true; ///< Uninitialised registers.
  bool checkMemory = true;    ///< Uninitialised bytes.
  bool checkRaces = true;     ///< Shared memory, between warps.
  bool checkWarpRaces = true; ///< And between lanes without `bar.warp.sync`.
  bool profile = false;
  unsigned threads = 0; ///< Host threads; 0: one per core.
  /// Warps change turns after so many instructions, with a seed on average.
  unsigned quantum = 64;
  /// Chooses the order in which warps run and how late asynchronous copies
  /// land; the same number chooses the same. 0: warps in turns, copies at once.
  uint64_t seed = 1;
  uint64_t maxInstructions = 0; ///< Warp instructions of a CTA; 0: no limit.
};

struct Launch {
  std::string entry;
  Dim3 grid, block, cluster; ///< An all-1 cluster: what the entry asks for.
  uint32_t sharedBytes = 0;  ///< Dynamic.
  bool nonPortableCluster = false;          ///< Up to 16 CTAs instead of 8.
  std::vector<std::vector<uint8_t>> params; ///< One element per parameter.
  Options options;

  /// Appends a parameter by value: addresses as uint64_t.
  template <class T> Launch &add(const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto *bytes = reinterpret_cast<const uint8_t *>(&value);
    params.emplace_back(bytes, bytes + sizeof value);
    return *this;
  }
};

struct ParamInfo {
  std::string name;
  uint64_t bytes = 0;
  uint64_t align = 1;
};

struct EntryInfo {
  std::string name;
  std::vector<ParamInfo> params;
  std::optional<Dim3> requiredBlock, cluster; ///< .reqntid, .reqnctapercluster
};

class Device {
public:
  Device();
  ~Device();
  Device(Device &&) noexcept;
  Device &operator=(Device &&) noexcept;

  /// Adds the entries and variables of a PTX text. False, with an error that
  /// names the line, if it is no PTX.
  bool load(std::string_view ptx, std::string &error);
  std::vector<EntryInfo> entries() const;
  /// Decodes an entry now instead of at its first launch: an error names the
  /// first instruction that is unknown.
  bool prepare(const std::string &entry, std::string &error);

  /// Memory for kernels; contents uninitialised. Never fails: a host without
  /// memory ends the program.
  uint64_t allocate(uint64_t bytes, std::string name = "");
  /// allocate() and write().
  uint64_t upload(const void *data, uint64_t bytes, std::string name = "");
  /// False if `address` is no allocation's start.
  bool release(uint64_t address);
  /// False if the range is not within one allocation.
  bool write(uint64_t address, const void *data, uint64_t bytes);
  bool read(uint64_t address, void *data, uint64_t bytes) const;
  bool fill(uint64_t address, uint8_t value, uint64_t bytes);
  /// Whether the range is within one allocation.
  bool contains(uint64_t address, uint64_t bytes) const;
  /// Whether every byte of the range has been written.
  bool isInitialized(uint64_t address, uint64_t bytes) const;
  /// Address of a `.global` or `.const` variable.
  std::optional<uint64_t> symbol(const std::string &name) const;

  Result launch(const Launch &launch);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace blockscale::sim

#endif // BLOCKSCALE_SIM_SIMULATOR_H
