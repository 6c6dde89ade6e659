//===-- Benchmark.cpp - Timing calls ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Benchmark.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

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
  return "median " + timeText(median) + ", min " + timeText(min) + ", max " +
         timeText(max) + " (" + std::to_string(repetitions) +
         " repetitions after " + std::to_string(warmUp) + " to warm up)";
}

std::optional<Timing>
blockscale::run::measure(runtime::Library &library, const runtime::Entry &entry,
                         const std::vector<runtime::TensorView> &inputs,
                         size_t repetitions, std::string &error) {
  constexpr double warmUpSeconds = 0.1, totalSeconds = 1;
  constexpr size_t minimum = 5, maximum = 1000;
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  auto callOnce = [&]() -> bool {
    Clock::time_point start = Clock::now();
    bool ok = library.call(entry, inputs, error).has_value();
    seconds.push_back(
        std::chrono::duration<double>(Clock::now() - start).count());
    return ok;
  };

  Timing timing;
  double spent = 0;
  do {
    if (!callOnce())
      return std::nullopt;
    spent += seconds.back();
    ++timing.warmUp;
  } while (spent < warmUpSeconds && timing.warmUp < maximum);
  seconds.clear();
  spent = 0;
  auto isEnough = [&] {
    if (repetitions)
      return seconds.size() >= repetitions;
    return seconds.size() >= maximum ||
           (seconds.size() >= minimum && spent >= totalSeconds);
  };
  while (!isEnough()) {
    if (!callOnce())
      return std::nullopt;
    spent += seconds.back();
  }

  std::sort(seconds.begin(), seconds.end());
  const size_t half = seconds.size() / 2;
  timing.median = seconds.size() % 2 ? seconds[half]
                                     : (seconds[half - 1] + seconds[half]) / 2;
  timing.min = seconds.front();
  timing.max = seconds.back();
  timing.repetitions = seconds.size();
  return timing;
}
