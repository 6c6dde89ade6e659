//===-- CUDADevice.cpp - A GPU, through the CUDA driver ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CUDADevice.h"
#include "blockscale/Runtime/GPU/Chip.h"

using namespace blockscale::runtime;
using namespace blockscale::runtime::cuda;

static Pointer pointer(const void *memory) {
  return reinterpret_cast<uintptr_t>(memory);
}
static StreamHandle handle(Stream stream) {
  return static_cast<StreamHandle>(stream);
}

bool CUDADevice::check(Result result, const std::string &what,
                       std::string &error) const {
  if (result == Success)
    return true;
  error = shownName + ": cannot " + what + ": " + driver->text(result);
  return false;
}

int CUDADevice::attribute(DeviceAttribute which) const {
  int value = 0;
  driver->deviceGetAttribute(&value, which, device);
  return value;
}

//===----------------------------------------------------------------------===//
// Opening and closing
//===----------------------------------------------------------------------===//

bool CUDADevice::prepare(std::string_view target, std::string &error) {
  std::optional<Chip> chip = Chip::parse(target);
  if (!chip) {
    error = "it was compiled for '" + std::string(target) +
            "', which device '" + shownName +
            "' does not run; choose device '" +
            std::string(Device::defaultFor(target)) + "'";
    return false;
  }
  if (!driver && !open(error))
    return false;
  if (chip->runsOn(major, minor))
    return true;
  error = "it was compiled for '" + std::string(target) + "', which needs " +
          chip->requirement() + ", but device '" + shownName + "' (" +
          deviceName + ") has " + std::to_string(major) + "." +
          std::to_string(minor) + "; compile for another target";
  return false;
}

bool CUDADevice::open(std::string &error) {
  std::unique_ptr<Driver> loaded = Driver::load(error);
  if (!loaded)
    return false;
  auto describe = [&](int at) -> std::string {
    DeviceHandle other = 0;
    char text[256] = "";
    if (loaded->deviceGet(&other, at) == Success)
      loaded->deviceGetName(text, sizeof text - 1, other);
    return text;
  };
  int count = 0;
  loaded->deviceGetCount(&count);
  if (index >= count) {
    error = "there is no device '" + shownName + "'; the driver has";
    for (int i = 0; i < count; ++i)
      error += (i ? ", cuda:" : " cuda:") + std::to_string(i) + " (" +
               describe(i) + ")";
    if (count == 0)
      error = "no CUDA device: the driver has none";
    return false;
  }
  deviceName = describe(index);
  driver = std::move(loaded);

  bool ok = check(driver->deviceGet(&device, index), "be opened", error) &&
            check(driver->primaryCtxRetain(&context, device), "make a context",
                  error);
  if (ok) {
    CurrentContext current(*driver, context);
    major = attribute(ComputeCapabilityMajor);
    minor = attribute(ComputeCapabilityMinor);
    maxSharedBytes = attribute(MaxSharedMemoryPerBlockOptin);
    ok = check(driver->streamCreate(&stream, 0), "make a stream", error);
    if (ok && attribute(MemoryPoolsSupported)) {
      PoolProperties properties;
      properties.locationId = device;
      ok = check(driver->memPoolCreate(&pool, &properties),
                 "make a memory pool", error);
      // Memory that is freed stays for the next call.
      uint64_t keepAll = UINT64_MAX;
      ok = ok &&
           check(driver->memPoolSetAttribute(pool, ReleaseThreshold, &keepAll),
                 "set up its memory pool", error);
    }
  }
  if (!ok)
    close();
  return ok;
}

void CUDADevice::close() {
  if (context) {
    CurrentContext current(*driver, context);
    if (stream)
      driver->streamSynchronize(stream);
    destroyClock();
    if (pool)
      driver->memPoolDestroy(pool);
    if (stream)
      driver->streamDestroy(stream);
  }
  if (context)
    driver->primaryCtxRelease(device);
  pool = nullptr;
  stream = nullptr;
  context = nullptr;
  driver = nullptr;
}

CUDADevice::~CUDADevice() {
  if (driver)
    close();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void CUDADevice::reportMemory(uint64_t bytes, std::string &error) const {
  size_t available = 0, total = 0;
  driver->memGetInfo(&available, &total);
  error = shownName + ": " + std::to_string(bytes) +
          " bytes do not fit in its memory: " + std::to_string(available) +
          " of " + std::to_string(total) + " are free";
}

void *CUDADevice::allocate(uint64_t bytes, Stream on, std::string &error) {
  CurrentContext current(*driver, context);
  Pointer memory = 0;
  // The driver refuses to allocate nothing.
  const size_t size = bytes ? bytes : 1;
  Result result =
      pool ? driver->memAllocFromPoolAsync(&memory, size, pool, handle(on))
           : driver->memAlloc(&memory, size);
  // Absurd sizes are errors of other kinds, too.
  if (result == OutOfMemory || (result != Success && bytes >> 48))
    reportMemory(bytes, error);
  else if (check(result, "allocate memory", error))
    return reinterpret_cast<void *>(static_cast<uintptr_t>(memory));
  return nullptr;
}

void CUDADevice::free(void *memory, Stream on) {
  CurrentContext current(*driver, context);
  if (pool && driver->memFreeAsync(pointer(memory), handle(on)) == Success)
    return;
  // No pools, or the caller has destroyed the stream. This one waits.
  driver->memFree(pointer(memory));
}

bool CUDADevice::holds(const void *memory, uint64_t) {
  CurrentContext current(*driver, context);
  int owner = -1;
  return driver->pointerGetAttribute(&owner, DeviceOrdinal, pointer(memory)) ==
             Success &&
         owner == index;
}

bool CUDADevice::copyIn(void *to, const void *fromHost, uint64_t bytes,
                        Stream on, std::string &error) {
  CurrentContext current(*driver, context);
  return bytes == 0 || check(driver->memcpyHtoDAsync(pointer(to), fromHost,
                                                     bytes, handle(on)),
                             "copy to its memory", error);
}

bool CUDADevice::copyOut(void *toHost, const void *from, uint64_t bytes,
                         Stream on, std::string &error) {
  CurrentContext current(*driver, context);
  return bytes == 0 || check(driver->memcpyDtoHAsync(toHost, pointer(from),
                                                     bytes, handle(on)),
                             "copy from its memory", error);
}

bool CUDADevice::copy(void *to, const void *from, uint64_t bytes, Stream on,
                      std::string &error) {
  CurrentContext current(*driver, context);
  return bytes == 0 || check(driver->memcpyDtoDAsync(pointer(to), pointer(from),
                                                     bytes, handle(on)),
                             "copy within its memory", error);
}

bool CUDADevice::fill(void *to, uint8_t byte, uint64_t bytes, Stream on,
                      std::string &error) {
  CurrentContext current(*driver, context);
  return bytes == 0 ||
         check(driver->memsetD8Async(pointer(to), byte, bytes, handle(on)),
               "fill memory", error);
}

bool CUDADevice::synchronize(Stream on, std::string &error) {
  CurrentContext current(*driver, context);
  return check(driver->streamSynchronize(handle(on)), "finish its work", error);
}

uint64_t CUDADevice::cacheBytes() const { return attribute(L2CacheSize); }

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

/// A copy to the host leaves the cache as it is, save for these bytes.
constexpr size_t spacerBytes = 4 << 20;

bool CUDADevice::makeClock(std::string &error) {
  return (clock.host || check(driver->memAllocHost(&clock.host, spacerBytes),
                              "pin memory", error)) &&
         (clock.spacer || check(driver->memAlloc(&clock.spacer, spacerBytes),
                                "allocate memory", error)) &&
         (clock.start || check(driver->eventCreate(&clock.start, 0),
                               "make an event", error)) &&
         (clock.end ||
          check(driver->eventCreate(&clock.end, 0), "make an event", error));
}

void CUDADevice::destroyClock() {
  if (clock.end)
    driver->eventDestroy(clock.end);
  if (clock.start)
    driver->eventDestroy(clock.start);
  if (clock.spacer)
    driver->memFree(clock.spacer);
  if (clock.host)
    driver->memFreeHost(clock.host);
}

std::optional<double> CUDADevice::time(const std::function<bool()> &work,
                                       std::string &error) {
  std::lock_guard<std::mutex> lock(clock.mutex);
  CurrentContext current(*driver, context);
  // While the device is busy with a copy over the bus, the host gets ahead, so
  // that what is measured is the device, not the host's calls.
  float milliseconds = 0;
  bool ok =
      makeClock(error) &&
      check(driver->memcpyDtoHAsync(clock.host, clock.spacer, spacerBytes,
                                    stream),
            "copy from its memory", error) &&
      check(driver->eventRecord(clock.start, stream), "record an event",
            error) &&
      work() &&
      check(driver->eventRecord(clock.end, stream), "record an event", error) &&
      check(driver->eventSynchronize(clock.end), "finish its work", error) &&
      check(driver->eventElapsedTime(&milliseconds, clock.start, clock.end),
            "measure time", error);
  if (!ok)
    return std::nullopt;
  return milliseconds * 1e-3;
}
