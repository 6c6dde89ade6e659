//===-- Driver.cpp - The CUDA driver, loaded at run time --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Driver.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace blockscale::runtime::cuda;

std::unique_ptr<Driver> Driver::load(std::string &error) {
  const char *chosen = std::getenv("BLOCKSCALE_LIBCUDA");
  const char *name = chosen && *chosen ? chosen : "libcuda.so.1";
  std::unique_ptr<Driver> driver(new Driver);
  driver->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!driver->handle) {
    error = "no CUDA driver: " + std::string(dlerror()) +
            "; install NVIDIA's driver, or name its library in "
            "BLOCKSCALE_LIBCUDA";
    return nullptr;
  }
#define X(member, symbol, parameters)                                          \
  driver->member =                                                             \
      reinterpret_cast<Result(*) parameters>(dlsym(driver->handle, #symbol));
  BLOCKSCALE_DRIVER_FUNCTIONS(X)
  BLOCKSCALE_NEWER_DRIVER_FUNCTIONS(X)
#undef X
#define X(member, symbol, parameters)                                          \
  if (!driver->member) {                                                       \
    error = std::string("the CUDA driver ") + name +                           \
            " has no '" #symbol "': expects one of CUDA 11.2 or later";        \
    return nullptr;                                                            \
  }
  BLOCKSCALE_DRIVER_FUNCTIONS(X)
#undef X
  Result result = driver->init(0);
  if (result == Success)
    return driver;
  if (result == NoDevice)
    error = "no CUDA device: the driver finds none";
  else if (result == StubLibrary)
    error = std::string("no CUDA driver: ") + name +
            " is the toolkit's stub, good for linking only";
  else
    error = "the CUDA driver does not start: " + driver->text(result);
  return nullptr;
}

Driver::~Driver() {
  if (handle)
    dlclose(handle);
}

std::string Driver::version() const {
  int number = 0;
  driverGetVersion(&number);
  return std::to_string(number / 1000) + "." +
         std::to_string(number % 1000 / 10);
}

std::string Driver::text(Result result) const {
  const char *words = nullptr, *name = nullptr;
  if (getErrorString(result, &words) != Success || !words)
    words = "unknown error";
  if (getErrorName(result, &name) != Success || !name)
    return std::string(words) + " (" + std::to_string(result) + ")";
  return std::string(words) + " (" + name + ")";
}
