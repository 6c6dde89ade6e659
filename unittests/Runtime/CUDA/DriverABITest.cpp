//===-- DriverABITest.cpp - Our driver types against cuda.h -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built where there is a CUDA toolkit; the runtime itself needs none.
//
//===----------------------------------------------------------------------===//
#include "../../../lib/Runtime/CUDA/Driver.h"

#include <cuda.h>
#include <gtest/gtest.h>
#include <type_traits>

namespace ours = blockscale::runtime::cuda;

#define SAME_FIELD(type, mine, theirType, theirs)                              \
  static_assert(offsetof(ours::type, mine) == offsetof(theirType, theirs) &&   \
                sizeof(ours::type::mine) == sizeof(theirType::theirs))

static_assert(sizeof(ours::PoolProperties) == sizeof(CUmemPoolProps));
SAME_FIELD(PoolProperties, allocationType, CUmemPoolProps, allocType);
SAME_FIELD(PoolProperties, handleTypes, CUmemPoolProps, handleTypes);
SAME_FIELD(PoolProperties, maxSize, CUmemPoolProps, maxSize);
static_assert(offsetof(ours::PoolProperties, locationType) ==
              offsetof(CUmemPoolProps, location) +
                  offsetof(CUmemLocation, type));
static_assert(offsetof(ours::PoolProperties, locationId) ==
              offsetof(CUmemPoolProps, location) + offsetof(CUmemLocation, id));

static_assert(sizeof(ours::LaunchConfig) == sizeof(CUlaunchConfig));
SAME_FIELD(LaunchConfig, gridZ, CUlaunchConfig, gridDimZ);
SAME_FIELD(LaunchConfig, blockX, CUlaunchConfig, blockDimX);
SAME_FIELD(LaunchConfig, sharedBytes, CUlaunchConfig, sharedMemBytes);
SAME_FIELD(LaunchConfig, stream, CUlaunchConfig, hStream);
SAME_FIELD(LaunchConfig, attributes, CUlaunchConfig, attrs);
SAME_FIELD(LaunchConfig, numAttributes, CUlaunchConfig, numAttrs);
static_assert(sizeof(ours::LaunchAttribute) == sizeof(CUlaunchAttribute));
SAME_FIELD(LaunchAttribute, id, CUlaunchAttribute, id);
SAME_FIELD(LaunchAttribute, value, CUlaunchAttribute, value);
static_assert(sizeof(ours::Pointer) == sizeof(CUdeviceptr) &&
              sizeof(ours::DeviceHandle) == sizeof(CUdevice));

static_assert(int(ours::Success) == CUDA_SUCCESS &&
              int(ours::OutOfMemory) == CUDA_ERROR_OUT_OF_MEMORY &&
              int(ours::StubLibrary) == CUDA_ERROR_STUB_LIBRARY &&
              int(ours::NoDevice) == CUDA_ERROR_NO_DEVICE &&
              int(ours::UnsupportedPTXVersion) ==
                  CUDA_ERROR_UNSUPPORTED_PTX_VERSION &&
              int(ours::NotFound) == CUDA_ERROR_NOT_FOUND);
static_assert(int(ours::MultiprocessorCount) ==
              CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(int(ours::L2CacheSize) == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE &&
              int(ours::ComputeCapabilityMajor) ==
                  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              int(ours::ComputeCapabilityMinor) ==
                  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR &&
              int(ours::MaxSharedMemoryPerBlockOptin) ==
                  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN &&
              int(ours::MemoryPoolsSupported) ==
                  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
static_assert(int(ours::DeviceOrdinal) == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(
    int(ours::MaxDynamicSharedSizeBytes) ==
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
    int(ours::NonPortableClusterSizeAllowed) ==
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED &&
    int(ours::ErrorLogBuffer) == CU_JIT_ERROR_LOG_BUFFER &&
    int(ours::ErrorLogBufferSizeBytes) == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES &&
    int(ours::ReleaseThreshold) == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD &&
    int(ours::ClusterDimension) == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
    int(ours::ProgrammaticStreamSerialization) ==
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);

TEST(DriverABI, Values) {
  ours::PoolProperties properties;
  EXPECT_EQ(properties.allocationType, int(CU_MEM_ALLOCATION_TYPE_PINNED));
  EXPECT_EQ(properties.locationType, int(CU_MEM_LOCATION_TYPE_DEVICE));
  ours::LaunchAttribute attribute = {};
  attribute.value.clusterDim = {2, 3, 4};
  const auto &theirs = reinterpret_cast<const CUlaunchAttribute &>(attribute);
  EXPECT_EQ(theirs.value.clusterDim.x, 2u);
  EXPECT_EQ(theirs.value.clusterDim.z, 4u);
  attribute.value.allowed = 5;
  EXPECT_EQ(theirs.value.programmaticStreamSerializationAllowed, 5);
  // Functions whose signature is easiest to get wrong.
  EXPECT_EQ(int(CU_TENSOR_MAP_L2_PROMOTION_L2_256B), 3);
}
