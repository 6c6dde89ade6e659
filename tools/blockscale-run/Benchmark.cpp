//===-- Benchmark.cpp - Timing calls ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Benchmark.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

using namespace blockscale;
using namespace blockscale::run;

static std::string timeText(double seconds) {
  struct Unit {
    double size;
    const char *name;
  };
  static constexpr Unit units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}};
  const Unit *unit = units;
  while (unit + 1 != std::end(units) && seconds < unit->size)
    ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s", seconds / unit->size, unit->name);
  return text;
}

std::string Timing::text() const {
  char rate[32];
  std::snprintf(rate, sizeof rate, "%.4g GB/s", bytesPerSecond() * 1e-9);
  return "median " + timeText(median) + ", " + rate + ", min " + timeText(min) +
         ", max " + timeText(max) + " (" + std::to_string(repetitions) +
         " repetitions after " + std::to_string(warmUp) + " to warm up" +
         (inputSets > 1 ? ", " + std::to_string(inputSets) + " input sets"
                        : "") +
         ")";
}

static uint64_t bytesOf(const runtime::TensorView &array) {
  return static_cast<uint64_t>(
             runtime::elementCount(array.shape, size(array.type)).value_or(0)) *
         size(array.type);
}

using Clock = std::chrono::steady_clock;
static double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Repeats `callOnce`, which gives the seconds to count, as measure() says.
static bool repeat(const std::function<std::optional<double>()> &callOnce,
                   size_t repetitions, Timing &timing) {
  constexpr double warmUpSeconds = 0.1, totalSeconds = 1;
  constexpr size_t minimum = 5, maximum = 1000;
  Clock::time_point start = Clock::now();
  do {
    if (!callOnce())
      return false;
    ++timing.warmUp;
  } while (since(start) < warmUpSeconds && timing.warmUp < maximum);

  start = Clock::now();
  std::vector<double> seconds;
  auto isEnough = [&] {
    if (repetitions)
      return seconds.size() >= repetitions;
    return seconds.size() >= maximum ||
           (seconds.size() >= minimum && since(start) >= totalSeconds);
  };
  while (!isEnough()) {
    std::optional<double> one = callOnce();
    if (!one)
      return false;
    seconds.push_back(*one);
  }
  std::sort(seconds.begin(), seconds.end());
  const size_t half = seconds.size() / 2;
  timing.median = seconds.size() % 2 ? seconds[half]
                                     : (seconds[half - 1] + seconds[half]) / 2;
  timing.min = seconds.front();
  timing.max = seconds.back();
  timing.repetitions = seconds.size();
  return true;
}

static bool measureHost(runtime::Library &library, const runtime::Entry &entry,
                        const std::vector<runtime::TensorView> &inputs,
                        size_t repetitions, Timing &timing,
                        std::string &error) {
  auto callOnce = [&]() -> std::optional<double> {
    Clock::time_point start = Clock::now();
    auto results = library.call(entry, inputs, error);
    if (!results)
      return std::nullopt;
    double seconds = since(start);
    timing.bytes = 0;
    for (const runtime::Tensor &result : *results)
      timing.bytes += result.bytes();
    return seconds;
  };
  return repeat(callOnce, repetitions, timing);
}

/// How many copies of inputs of `bytes` bytes leave nothing of one in the cache
/// when its turn comes again.
static size_t enoughSets(uint64_t bytes, uint64_t cacheBytes) {
  constexpr uint64_t most = 64; // Tiny inputs stay in the cache anyway.
  if (bytes == 0 || cacheBytes == 0)
    return 1;
  return std::min(most, 2 + (2 * cacheBytes - 1) / bytes);
}

static bool measureGPU(runtime::Library &library, const runtime::Entry &entry,
                       const std::vector<runtime::TensorView> &inputs,
                       size_t repetitions, Timing &timing, std::string &error) {
  std::shared_ptr<runtime::GPUDevice> gpu = library.gpu();
  const runtime::Stream stream = gpu->ownStream();
  std::vector<runtime::DeviceTensor> uploaded;
  std::vector<std::vector<runtime::TensorView>> sets(timing.inputSets);
  for (std::vector<runtime::TensorView> &set : sets)
    for (const runtime::TensorView &input : inputs) {
      std::optional<runtime::DeviceTensor> tensor =
          runtime::DeviceTensor::upload(gpu, input, stream, error);
      if (!tensor)
        return false;
      set.push_back(tensor->view());
      uploaded.push_back(std::move(*tensor));
    }
  if (!gpu->synchronize(stream, error))
    return false;

  auto round = [&]() -> bool {
    for (const std::vector<runtime::TensorView> &set : sets) {
      auto results = library.callOnDevice(entry, set, stream, error);
      if (!results)
        return false;
      timing.bytes = 0;
      for (const runtime::DeviceTensor &result : *results)
        timing.bytes += result.bytes();
    }
    return true;
  };
  auto callOnce = [&]() -> std::optional<double> {
    std::optional<double> seconds = gpu->time(round, error);
    if (!seconds)
      return std::nullopt;
    return *seconds / static_cast<double>(sets.size());
  };
  return repeat(callOnce, repetitions, timing);
}

std::optional<Timing>
blockscale::run::measure(runtime::Library &library, const runtime::Entry &entry,
                         const std::vector<runtime::TensorView> &inputs,
                         size_t repetitions, size_t inputSets,
                         std::string &error) {
  uint64_t inputBytes = 0;
  for (const runtime::TensorView &input : inputs)
    inputBytes += bytesOf(input);
  Timing timing;
  bool ok;
  if (std::shared_ptr<runtime::GPUDevice> gpu = library.gpu()) {
    timing.inputSets =
        inputSets ? inputSets : enoughSets(inputBytes, gpu->cacheBytes());
    ok = measureGPU(library, entry, inputs, repetitions, timing, error);
  } else {
    ok = measureHost(library, entry, inputs, repetitions, timing, error);
  }
  if (!ok)
    return std::nullopt;
  timing.bytes += inputBytes;
  return timing;
}
