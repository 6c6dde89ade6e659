//===-- CAPITest.cpp - The runtime's C API ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "blockscale-c/Runtime.h"

#include <gtest/gtest.h>
#include <string>

static const std::string path = std::string(TEST_LIBRARIES) + "/good.so";

TEST(RuntimeCAPI, Call) {
  BlockscaleLibrary *library = blockscaleLibraryOpen(path.c_str(), "cpu");
  ASSERT_NE(library, nullptr) << blockscaleRuntimeLastError();
  EXPECT_EQ(std::string(blockscaleLibraryGetManifest(library))
                .rfind("{\"version\":3,", 0),
            0u);
  float matrix[] = {1, 2, 3, 4}, factor = 3;
  const int64_t shape[] = {1, 4};
  BlockscaleArray inputs[] = {{"f32", 2, shape, matrix},
                              {"f32", 0, nullptr, &factor}};
  BlockscaleResults *results =
      blockscaleLibraryCall(library, "scale_rows", 2, inputs);
  ASSERT_NE(results, nullptr) << blockscaleRuntimeLastError();
  blockscaleLibraryDestroy(library);

  ASSERT_EQ(blockscaleResultsGetNum(results), 2);
  BlockscaleArray first = blockscaleResultsGet(results, 0);
  EXPECT_STREQ(first.dtype, "f32");
  ASSERT_EQ(first.rank, 2);
  EXPECT_EQ(first.shape[0], 1);
  EXPECT_EQ(first.shape[1], 4);
  EXPECT_EQ(static_cast<float *>(first.data)[3], 12);
  EXPECT_EQ(blockscaleResultsGet(results, 1).rank, 0);
  EXPECT_EQ(blockscaleResultsGet(results, 2).dtype, nullptr);
  EXPECT_EQ(blockscaleResultsGet(results, -1).data, nullptr);
  blockscaleResultsDestroy(results);
}

TEST(RuntimeCAPI, ResultsInMemoryOfTheCaller) {
  const std::string file = std::string(TEST_LIBRARIES) + "/gpu.so";
  BlockscaleLibrary *library = blockscaleLibraryOpen(file.c_str(), "sim");
  ASSERT_NE(library, nullptr) << blockscaleRuntimeLastError();
  float x[] = {1, 2, 3, 4}, poison[] = {-1, -1, -1, -1};
  const int64_t shape[] = {1, 4};
  const BlockscaleArray host[] = {{"f32", 2, shape, x},
                                  {"f32", 2, shape, poison}};
  BlockscaleResults *arrays =
      blockscaleLibraryUpload(library, 2, host, nullptr);
  ASSERT_NE(arrays, nullptr) << blockscaleRuntimeLastError();
  const BlockscaleArray input = blockscaleResultsGet(arrays, 0),
                        y = blockscaleResultsGet(arrays, 1);
  // Memory for the first result alone.
  const BlockscaleArray none = {nullptr, 0, nullptr, nullptr};
  BlockscaleArray given[] = {y, none, none};
  BlockscaleResults *results = blockscaleLibraryCallDeviceInto(
      library, "same", 1, &input, 3, given, nullptr);
  ASSERT_NE(results, nullptr) << blockscaleRuntimeLastError();
  ASSERT_EQ(blockscaleResultsGetNum(results), 3);
  EXPECT_EQ(blockscaleResultsGet(results, 0).data, y.data);
  EXPECT_NE(blockscaleResultsGet(results, 1).data, nullptr);
  blockscaleResultsDestroy(results);
  BlockscaleResults *back = blockscaleResultsDownload(arrays);
  ASSERT_NE(back, nullptr) << blockscaleRuntimeLastError();
  const BlockscaleArray copy = blockscaleResultsGet(back, 1);
  EXPECT_EQ(static_cast<float *>(copy.data)[3], 4);
  blockscaleResultsDestroy(back);

  given[1].dtype = "f31";
  EXPECT_EQ(blockscaleLibraryCallDeviceInto(library, "same", 1, &input, 3,
                                            given, nullptr),
            nullptr);
  EXPECT_STREQ(blockscaleRuntimeLastError(),
               "result 1 has a dtype that is none: 'f31'");
  EXPECT_EQ(blockscaleLibraryCallDeviceInto(library, "same", 1, &input, 1,
                                            given, nullptr),
            nullptr);
  EXPECT_STREQ(blockscaleRuntimeLastError(),
               "'same' expects memory for 3 results, but got it for 1");
  blockscaleResultsDestroy(arrays);
  blockscaleLibraryDestroy(library);
}

TEST(RuntimeCAPI, Errors) {
  EXPECT_EQ(blockscaleLibraryOpen("none.so", "cpu"), nullptr);
  EXPECT_STREQ(blockscaleRuntimeLastError(),
               "cannot load 'none.so': No such file or directory");
  EXPECT_EQ(blockscaleLibraryOpen(path.c_str(), "tpu"), nullptr);
  EXPECT_EQ(std::string(blockscaleRuntimeLastError())
                .rfind("this build has no device 'tpu'", 0),
            0u);

  BlockscaleLibrary *library = blockscaleLibraryOpen(path.c_str(), "cpu");
  ASSERT_NE(library, nullptr) << blockscaleRuntimeLastError();
  EXPECT_EQ(blockscaleLibraryCall(library, "none", 0, nullptr), nullptr);
  EXPECT_EQ(blockscaleLibraryCall(library, "scale_rows", 0, nullptr), nullptr);
  EXPECT_STREQ(blockscaleRuntimeLastError(),
               "'scale_rows' expects 2 inputs, but got 0");
  BlockscaleArray odd = {"f31", 0, nullptr, nullptr};
  EXPECT_EQ(blockscaleLibraryCall(library, "unpack", 1, &odd), nullptr);
  EXPECT_STREQ(blockscaleRuntimeLastError(),
               "input 0 has a dtype that is none: 'f31'");
  blockscaleLibraryDestroy(library);
  blockscaleLibraryDestroy(nullptr);
  blockscaleResultsDestroy(nullptr);
}
