/*===-- FakeDriver.c - A CUDA driver without a GPU --------------*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver functions that the runtime uses, over host memory: everything is
 * done at once. It knows the kernels of TestGPULibrary.c. Pointers of the
 * "device" are none of the host, so that using one there crashes, as it would.
 *
 * FAKE_CUDA_DEVICES, FAKE_CUDA_CAPABILITY (90), FAKE_CUDA_POOLS (1) describe
 * it; FAKE_CUDA_FAIL=symbol:code makes a function fail; FAKE_CUDA_LOG names a
 * file to which calls of interest are appended.
 *
 *===----------------------------------------------------------------------===*/
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;

static const CUdeviceptr deviceBit = 1ull << 62;
static long liveBytes; /* Allocated and not freed. */

static void *host(CUdeviceptr pointer) {
  return (void *)(uintptr_t)(pointer & ~deviceBit);
}

static int setting(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static void record(const char *format, ...) {
  const char *path = getenv("FAKE_CUDA_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file)
    return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(file, format, arguments);
  va_end(arguments);
  fclose(file);
}

static CUresult failure(const char *symbol) {
  const char *text = getenv("FAKE_CUDA_FAIL");
  const size_t length = strlen(symbol);
  if (text && strncmp(text, symbol, length) == 0 && text[length] == ':')
    return atoi(text + length + 1);
  return 0;
}

/* A function that does nothing, unless it was told to fail. */
#define SUCCEEDS(symbol, ...)                                                  \
  CUresult symbol(__VA_ARGS__) { return failure(#symbol); }
#define CHECK(symbol)                                                          \
  do {                                                                         \
    CUresult result = failure(#symbol);                                        \
    if (result)                                                                \
      return result;                                                           \
  } while (0)

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC visibility push(default)

SUCCEEDS(cuInit, unsigned flags)
SUCCEEDS(cuCtxSynchronize, void)
SUCCEEDS(cuStreamSynchronize, void *stream)
SUCCEEDS(cuStreamDestroy_v2, void *stream)
SUCCEEDS(cuEventDestroy_v2, void *event)
SUCCEEDS(cuEventRecord, void *event, void *stream)
SUCCEEDS(cuEventSynchronize, void *event)
SUCCEEDS(cuMemPoolSetAttribute, void *pool, int attribute, void *value)
SUCCEEDS(cuMemPoolDestroy, void *pool)
SUCCEEDS(cuModuleUnload, void *module)

CUresult cuDriverGetVersion(int *version) {
  *version = 12040;
  return 0;
}
CUresult cuGetErrorName(CUresult result, const char **name) {
  *name = result == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == 218 ? "CUDA_ERROR_INVALID_PTX"
          : result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                          : "CUDA_ERROR_FAKE";
  return 0;
}
CUresult cuGetErrorString(CUresult result, const char **text) {
  *text = result == 700 ? "an illegal memory access was encountered"
                        : "a made-up error";
  return 0;
}

CUresult cuDeviceGetCount(int *count) {
  *count = setting("FAKE_CUDA_DEVICES", 1);
  return 0;
}
CUresult cuDeviceGet(int *device, int index) {
  *device = index;
  return index < setting("FAKE_CUDA_DEVICES", 1) ? 0 : 101;
}
CUresult cuDeviceGetName(char *name, int length, int device) {
  snprintf(name, (size_t)length, "Fake GPU %d", device);
  return 0;
}
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
  case 16: /* MULTIPROCESSOR_COUNT */
    *value = 5;
    return 0;
  case 38: /* L2_CACHE_SIZE */
    *value = 1000;
    return 0;
  case 75: /* COMPUTE_CAPABILITY_MAJOR */
    *value = setting("FAKE_CUDA_CAPABILITY", 90) / 10;
    return 0;
  case 76: /* COMPUTE_CAPABILITY_MINOR */
    *value = setting("FAKE_CUDA_CAPABILITY", 90) % 10;
    return 0;
  case 97: /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    *value = 232448;
    return 0;
  case 115: /* MEMORY_POOLS_SUPPORTED */
    *value = setting("FAKE_CUDA_POOLS", 1);
    return 0;
  }
  return 1;
}

static int context;
static _Thread_local void *current;
static _Thread_local int pushed;
CUresult cuDevicePrimaryCtxRetain(void **result, int device) {
  CHECK(cuDevicePrimaryCtxRetain);
  record("open device %d\n", device);
  *result = &context;
  return 0;
}
CUresult cuDevicePrimaryCtxRelease_v2(int device) {
  record("close device %d, %ld bytes live\n", device, liveBytes);
  return 0;
}
CUresult cuCtxGetCurrent(void **result) {
  *result = current;
  return 0;
}
CUresult cuCtxPushCurrent_v2(void *pushedContext) {
  current = pushedContext;
  ++pushed;
  return 0;
}
CUresult cuCtxPopCurrent_v2(void **result) {
  *result = current;
  if (--pushed == 0)
    current = NULL;
  return 0;
}

CUresult cuStreamCreate(void **stream, unsigned flags) {
  CHECK(cuStreamCreate);
  static int own;
  *stream = &own;
  return 0;
}
CUresult cuEventCreate(void **event, unsigned flags) {
  CHECK(cuEventCreate);
  static int any;
  *event = &any;
  return 0;
}
CUresult cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  *milliseconds = 0.5f;
  return 0;
}

/*===-- Memory --===*/

static CUresult allocate(CUdeviceptr *pointer, size_t bytes) {
  if (!current)
    return 201;
  if (bytes > (size_t)1 << 32)
    return 2;
  /* The size lies in front, and 256 bytes keep the alignment. */
  char *memory = aligned_alloc(256, (bytes + 511) / 256 * 256);
  *(size_t *)memory = bytes;
  memset(memory + 256, 0xee, bytes);
  liveBytes += (long)bytes;
  *pointer = (CUdeviceptr)(uintptr_t)(memory + 256) | deviceBit;
  return 0;
}
static CUresult release(CUdeviceptr pointer) {
  if (!(pointer & deviceBit))
    return 1;
  char *memory = (char *)host(pointer) - 256;
  liveBytes -= (long)*(size_t *)memory;
  free(memory);
  return 0;
}
CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
  *available = 1000;
  *total = 2000;
  return 0;
}
CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  CHECK(cuMemAlloc_v2);
  return allocate(pointer, bytes);
}
CUresult cuMemFree_v2(CUdeviceptr pointer) { return release(pointer); }
CUresult cuMemAllocHost_v2(void **pointer, size_t bytes) {
  *pointer = malloc(bytes);
  return 0;
}
CUresult cuMemFreeHost(void *pointer) {
  free(pointer);
  return 0;
}
CUresult cuMemPoolCreate(void **pool, const void *properties) {
  CHECK(cuMemPoolCreate);
  static int own;
  *pool = &own;
  return 0;
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, void *pool,
                                 void *stream) {
  CHECK(cuMemAllocFromPoolAsync);
  return allocate(pointer, bytes);
}
CUresult cuMemFreeAsync(CUdeviceptr pointer, void *stream) {
  CHECK(cuMemFreeAsync);
  return release(pointer);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                              void *stream) {
  CHECK(cuMemcpyHtoDAsync_v2);
  record("copy %zu bytes in\n", bytes);
  memcpy(host(to), from, bytes);
  return 0;
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                              void *stream) {
  CHECK(cuMemcpyDtoHAsync_v2);
  memcpy(to, host(from), bytes);
  return 0;
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                              void *stream) {
  CHECK(cuMemcpyDtoDAsync_v2);
  memcpy(host(to), host(from), bytes);
  return 0;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes,
                         void *stream) {
  CHECK(cuMemsetD8Async);
  memset(host(to), byte, bytes);
  return 0;
}

/* Each device has the same memory, that of FAKE_CUDA_OWNER (0). */
CUresult cuPointerGetAttribute(void *value, int attribute,
                               CUdeviceptr pointer) {
  if (attribute != 9 || !(pointer & deviceBit)) /* DEVICE_ORDINAL */
    return 1;
  *(int *)value = setting("FAKE_CUDA_OWNER", 0);
  return 0;
}

/*===-- Kernels --===*/

static char kernels[][16] = {"scale_rows", "tile"};

CUresult cuModuleLoadDataEx(void **module, const void *image,
                            unsigned numOptions, int *options, void **values) {
  CUresult result = failure("cuModuleLoadDataEx");
  if (strstr(image, ".version 99"))
    result = 222;
  for (unsigned i = 0; result && i < numOptions; ++i)
    if (options[i] == 5) /* CU_JIT_ERROR_LOG_BUFFER */
      snprintf(values[i], (size_t)(uintptr_t)values[i + 1],
               "ptxas error :\n  line 7: Unknown symbol 'x'\n");
  static int any;
  *module = &any;
  return result;
}
CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
  CHECK(cuModuleGetFunction);
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i)
    if (strcmp(name, kernels[i]) == 0) {
      *function = kernels[i];
      return 0;
    }
  return 500;
}
CUresult cuFuncSetAttribute(void *function, int attribute, int value) {
  CHECK(cuFuncSetAttribute);
  record("attribute %d of %s is %d\n", attribute, (const char *)function,
         value);
  return 0;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                     void *function, int block,
                                                     size_t sharedBytes) {
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  record("occupancy of %s with %d threads, %zu bytes\n", (const char *)function,
         block, sharedBytes);
  *blocks = 2;
  return 0;
}

typedef struct {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void *stream;
  struct {
    int id;
    char pad[4];
    unsigned value[16];
  } *attributes;
  unsigned numAttributes;
} CUlaunchConfig;

/* The fake's own tensor map. */
typedef struct {
  const float *base;
  uint64_t rows, columns, rowBytes;
  uint32_t boxColumns, boxRows;
} Map;

static CUresult runKernel(const CUlaunchConfig *config, const char *kernel,
                          void **params) {
  unsigned cluster = 1, overlaps = 0;
  for (unsigned i = 0; i < config->numAttributes; ++i) {
    if (config->attributes[i].id == 4) /* CLUSTER_DIMENSION */
      cluster = config->attributes[i].value[0];
    if (config->attributes[i].id == 6) /* PROGRAMMATIC_STREAM_SERIALIZATION */
      overlaps = config->attributes[i].value[0];
  }
  record("launch %s grid %u %u %u block %u %u %u shared %u cluster %u "
         "stream %s%s\n",
         kernel, config->gridX, config->gridY, config->gridZ, config->blockX,
         config->blockY, config->blockZ, config->sharedBytes, cluster,
         config->stream == NULL           ? "default"
         : config->stream == (void *)0x77 ? "0x77"
                                          : "own",
         overlaps ? " overlaps" : "");
  if (strcmp(kernel, "scale_rows") == 0) {
    const float *in = host(*(CUdeviceptr *)params[0]);
    const float factor = *(float *)host(*(CUdeviceptr *)params[1]);
    float *out = host(*(CUdeviceptr *)params[2]);
    for (uint32_t i = 0; i < *(uint32_t *)params[3]; ++i)
      out[i] = in[i] * factor;
    return 0;
  }
  const Map *map = params[0];
  float *out = host(*(CUdeviceptr *)params[1]);
  for (unsigned row = 0; row < config->gridX * map->boxRows; ++row)
    for (unsigned column = 0; column < map->boxColumns; ++column)
      out[row * map->boxColumns + column] =
          row < map->rows ? map->base[row * (map->rowBytes / 4) + column] : 0;
  return 0;
}
CUresult cuLaunchKernel(void *function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, void *stream,
                        void **params, void **extra) {
  CHECK(cuLaunchKernel);
  CUlaunchConfig config = {gridX,  gridY,       gridZ,  blockX, blockY,
                           blockZ, sharedBytes, stream, NULL,   0};
  return runKernel(&config, function, params);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, void *function,
                          void **params, void **extra) {
  CHECK(cuLaunchKernelEx);
  return runKernel(config, function, params);
}

CUresult cuTensorMapEncodeTiled(void *map, int type, unsigned rank,
                                void *address, const uint64_t *sizes,
                                const uint64_t *strides, const uint32_t *box,
                                const uint32_t *elementStrides, int interleave,
                                int swizzle, int promotion, int fill) {
  CHECK(cuTensorMapEncodeTiled);
  record("tensor map type %d rank %u sizes %llu %llu stride %llu box %u %u "
         "element strides %u %u interleave %d swizzle %d promotion %d fill "
         "%d\n",
         type, rank, (unsigned long long)sizes[0], (unsigned long long)sizes[1],
         (unsigned long long)strides[0], box[0], box[1], elementStrides[0],
         elementStrides[1], interleave, swizzle, promotion, fill);
  Map *made = map;
  *made = (Map){host((CUdeviceptr)(uintptr_t)address),
                sizes[1],
                sizes[0],
                strides[0],
                box[0],
                box[1]};
  return 0;
}
