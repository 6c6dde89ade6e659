//===-- Device.cpp - Modules, memory and launches ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "LaunchChecks.h"
#include "Machine.h"
#include "Text.h"

#include <algorithm>
#include <thread>

namespace blockscale::sim {

struct Device::Impl {
  Memory memory;
  struct Module {
    Syntax syntax;
    ModuleTarget target;
    std::unordered_map<std::string, uint64_t> symbols;
  };
  std::vector<std::unique_ptr<Module>> modules;
  struct Entry {
    const Module *module;
    const Function *function;
    std::unique_ptr<Program> program; ///< Once it was decoded.
  };
  std::map<std::string, Entry> entries;

  Entry *decode(const std::string &name, std::string &error);
  bool define(Module &module, std::string &error);
};

Device::Device() : impl(std::make_unique<Impl>()) {}
Device::~Device() = default;
Device::Device(Device &&) noexcept = default;
Device &Device::operator=(Device &&) noexcept = default;

/// Allocates and fills the variables of a module.
bool Device::Impl::define(Module &module, std::string &error) {
  for (const Variable &variable : module.syntax.globals) {
    if (variable.space == Space::Shared || variable.unsized)
      continue;
    uint64_t bytes = variable.bytes();
    uint64_t address =
        memory.allocate(bytes, variable.name, variable.space == Space::Const);
    Allocation &allocation = *memory.find(address, bytes);
    // Variables without an initial value are zero.
    std::memset(allocation.data.get(), 0, bytes);
    std::memset(allocation.written.get(), 1, bytes);
    module.symbols[variable.name] = address;
  }
  for (const Variable &variable : module.syntax.globals) {
    if (variable.init.empty())
      continue;
    auto self = module.symbols.find(variable.name);
    if (self == module.symbols.end())
      continue;
    uint64_t size = bitWidth(variable.type) / 8;
    Allocation &allocation = *memory.find(self->second, 0);
    for (const Variable::Init &init : variable.init) {
      uint64_t bits = init.bits;
      if (!init.name.empty()) {
        auto target = module.symbols.find(init.name);
        if (target == module.symbols.end()) {
          error = "line " + std::to_string(variable.line) +
                  ": expects a variable as initial value of '" + variable.name +
                  "', but got '" + init.name + "'";
          return false;
        }
        bits += target->second;
      }
      if ((init.index + 1) * size > allocation.bytes) {
        error = "line " + std::to_string(variable.line) + ": '" +
                variable.name + "' has more initial values than elements";
        return false;
      }
      std::memcpy(allocation.data.get() + init.index * size, &bits, size);
    }
  }
  return true;
}

bool Device::load(std::string_view ptx, std::string &error) {
  std::optional<Syntax> syntax = parsePtx(ptx, error);
  if (!syntax)
    return false;
  auto module = std::make_unique<Impl::Module>();
  module->syntax = std::move(*syntax);
  std::optional<ModuleTarget> target = moduleTarget(module->syntax, error);
  if (!target)
    return false;
  module->target = *target;
  error.clear();
  for (const Function &function : module->syntax.functions)
    if (function.isEntry && function.hasBody &&
        impl->entries.count(function.name)) {
      error = "line " + std::to_string(function.line) + ": entry '" +
              function.name + "' was loaded before";
      return false;
    }
  if (!impl->define(*module, error))
    return false;
  for (const Function &function : module->syntax.functions)
    if (function.isEntry && function.hasBody)
      impl->entries[function.name] = {module.get(), &function, nullptr};
  impl->modules.push_back(std::move(module));
  return true;
}

static std::optional<Dim3>
dim(const std::optional<std::array<uint32_t, 3>> &value) {
  if (!value)
    return std::nullopt;
  return Dim3{(*value)[0], (*value)[1], (*value)[2]};
}

std::vector<EntryInfo> Device::entries() const {
  std::vector<EntryInfo> result;
  for (const auto &[name, entry] : impl->entries) {
    EntryInfo info;
    info.name = name;
    for (const Variable &param : entry.function->params)
      info.params.push_back({param.name, param.bytes(), param.align});
    info.requiredBlock = dim(entry.function->requiredBlock);
    info.cluster = dim(entry.function->cluster);
    result.push_back(std::move(info));
  }
  return result;
}

Device::Impl::Entry *Device::Impl::decode(const std::string &name,
                                          std::string &error) {
  auto it = entries.find(name);
  if (it == entries.end()) {
    error = "expects the name of an entry, but got '" + name + "'";
    return nullptr;
  }
  Entry &entry = it->second;
  if (!entry.program) {
    auto program = std::make_unique<Program>();
    Decoder decoder(entry.module->syntax, entry.module->target,
                    entry.module->symbols, *program, error);
    if (!decoder.entry(*entry.function))
      return nullptr;
    entry.program = std::move(program);
  }
  return &entry;
}

bool Device::prepare(const std::string &entry, std::string &error) {
  return impl->decode(entry, error) != nullptr;
}

uint64_t Device::allocate(uint64_t bytes, std::string name) {
  return impl->memory.allocate(bytes, std::move(name));
}

uint64_t Device::upload(const void *data, uint64_t bytes, std::string name) {
  uint64_t address = allocate(bytes, std::move(name));
  write(address, data, bytes);
  return address;
}

bool Device::release(uint64_t address) { return impl->memory.release(address); }

bool Device::write(uint64_t address, const void *data, uint64_t bytes) {
  Allocation *allocation = impl->memory.find(address, bytes);
  if (!allocation)
    return false;
  if (bytes) {
    std::memcpy(allocation->data.get() + (address - allocation->base), data,
                bytes);
    std::memset(allocation->written.get() + (address - allocation->base), 1,
                bytes);
  }
  return true;
}

bool Device::read(uint64_t address, void *data, uint64_t bytes) const {
  const Allocation *allocation = impl->memory.find(address, bytes);
  if (!allocation)
    return false;
  if (bytes)
    std::memcpy(data, allocation->data.get() + (address - allocation->base),
                bytes);
  return true;
}

bool Device::fill(uint64_t address, uint8_t value, uint64_t bytes) {
  std::vector<uint8_t> data(bytes, value);
  return write(address, data.data(), bytes);
}

bool Device::contains(uint64_t address, uint64_t bytes) const {
  return impl->memory.find(address, bytes) != nullptr;
}

bool Device::isInitialized(uint64_t address, uint64_t bytes) const {
  const Allocation *allocation = impl->memory.find(address, bytes);
  return allocation &&
         !std::memchr(allocation->written.get() + (address - allocation->base),
                      0, bytes);
}

std::optional<uint64_t> Device::symbol(const std::string &name) const {
  for (const auto &module : impl->modules)
    if (auto it = module->symbols.find(name); it != module->symbols.end())
      return it->second;
  return std::nullopt;
}

Result Device::launch(const Launch &launch) {
  Result result;
  auto refuse = [&](Fault fault, const std::string &message) {
    result.report.fault = fault;
    result.report.message = message;
    return result;
  };
  std::string error;
  Impl::Entry *entry = impl->decode(launch.entry, error);
  if (!entry)
    return refuse(impl->entries.count(launch.entry) ? Fault::Unsupported
                                                    : Fault::BadLaunch,
                  error);
  Machine machine;
  machine.memory = &impl->memory;
  machine.program = entry->program.get();
  machine.launch = &launch;
  error = checkLaunch(launch, *entry->function, entry->module->target,
                      *entry->program, machine);
  if (!error.empty())
    return refuse(Fault::BadLaunch, error);

  uint64_t clusters = machine.grid.count() / machine.cluster.count();
  unsigned threads = launch.options.threads
                         ? launch.options.threads
                         : std::thread::hardware_concurrency();
  threads = std::max<uint64_t>(1, std::min<uint64_t>(threads, clusters));
  std::atomic<uint64_t> next{0};
  std::vector<std::unique_ptr<Cluster>> workers(threads);
  auto work = [&](unsigned index) {
    workers[index] = std::make_unique<Cluster>(machine);
    for (uint64_t number; (number = next++) < clusters;) {
      // The clusters before a failed one still run: theirs is the report.
      if (machine.failed)
        break;
      workers[index]->start(number);
      workers[index]->run();
    }
  };
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads; ++i)
    pool.emplace_back(work, i);
  work(0);
  for (std::thread &thread : pool)
    thread.join();

  result.report = machine.report;
  for (const auto &worker : workers) {
    result.warpInstructions += worker->warpInstructions;
    if (!launch.options.profile)
      continue;
    Profile &sum = result.profile;
    const Profile &part = worker->profile;
    sum.threadInstructions += part.threadInstructions;
    sum.sharedAccesses += part.sharedAccesses;
    sum.sharedWavefronts += part.sharedWavefronts;
    sum.sharedIdealWavefronts += part.sharedIdealWavefronts;
    sum.globalAccesses += part.globalAccesses;
    sum.globalSectors += part.globalSectors;
    sum.globalBytes += part.globalBytes;
    sum.maxSharedBytes = machine.sharedBytes;
    for (size_t i = 0; i < worker->opcodeCounts.size(); ++i)
      if (worker->opcodeCounts[i])
        sum.instructions[machine.program->opcodes[i]] +=
            worker->opcodeCounts[i];
  }
  return result;
}

std::string Report::text() const {
  if (fault == Fault::None)
    return "";
  std::string text;
  if (line)
    text += "line " + std::to_string(line) + ": ";
  if (!instruction.empty())
    text += instruction + ": ";
  if (hasThread)
    text += "cta " + triple(cta) + " thread " + triple(thread) + ": ";
  if (hasAddress)
    text += "address " + hex(address) + ": ";
  return text + message;
}

std::string Profile::text() const {
  std::vector<std::pair<uint64_t, std::string>> sorted;
  uint64_t all = 0;
  for (const auto &[name, count] : instructions) {
    sorted.emplace_back(count, name);
    all += count;
  }
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text = std::to_string(all) + " warp instructions, " +
                     std::to_string(threadInstructions) +
                     " thread instructions\n";
  for (const auto &[count, name] : sorted)
    text += "  " + std::to_string(count) + "  " + name + "\n";
  text += "shared memory: " + std::to_string(maxSharedBytes) +
          " bytes per CTA, " + std::to_string(sharedAccesses) + " accesses, " +
          std::to_string(sharedWavefronts) + " wavefronts, " +
          std::to_string(bankConflicts()) + " of them by bank conflicts\n";
  text += "global memory: " + std::to_string(globalAccesses) + " accesses, " +
          std::to_string(globalSectors) + " sectors of 32 bytes for " +
          std::to_string(globalBytes) + " bytes asked for\n";
  return text;
}

} // namespace blockscale::sim
