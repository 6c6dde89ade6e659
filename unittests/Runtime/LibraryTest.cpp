//===-- LibraryTest.cpp - Loading and calling libraries ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Against TestLibrary.c, built as CMakeLists.txt says.
//
//===----------------------------------------------------------------------===//
#include "blockscale/Runtime/Library.h"
#include "TemporaryFolder.h"
#include "Views.h"
#include "blockscale/Runtime/Convert.h"
#include "blockscale/Runtime/Device.h"

#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace blockscale::runtime;
using blockscale::test::TemporaryFolder;

static std::string variant(const std::string &name) {
  return std::string(TEST_LIBRARIES) + "/" + name + ".so";
}
static std::unique_ptr<Library> open(const std::string &path,
                                     std::string &error) {
  return Library::open(path, Device::create("cpu", error), error);
}
static std::string openError(const std::string &path) {
  std::string error;
  EXPECT_EQ(open(path, error), nullptr);
  return error;
}

namespace {
class LibraryTest : public testing::Test {
protected:
  void SetUp() override {
    library = open(variant("good"), error);
    ASSERT_NE(library, nullptr) << error;
  }
  const Entry &entry(const char *name) {
    return *library->manifest().find(name, error);
  }
  std::string callError(const char *name,
                        const std::vector<TensorView> &inputs) {
    EXPECT_FALSE(library->call(entry(name), inputs, error));
    return error;
  }
  template <typename T>
  static TensorView view(DataType type, std::vector<int64_t> shape,
                         const std::vector<T> &data) {
    return blockscale::test::view(type, std::move(shape), data.data());
  }

  std::string error;
  std::unique_ptr<Library> library;
  const std::vector<float> matrix = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::vector<float> two = {2};
};
} // namespace

TEST_F(LibraryTest, Call) {
  auto results = library->call(
      entry("scale_rows"),
      {view(DataType::F32, {3, 4}, matrix), view(DataType::F32, {}, two)},
      error);
  ASSERT_TRUE(results) << error;
  ASSERT_EQ(results->size(), 2u);
  EXPECT_EQ((*results)[0].text(), "f32[3x4]");
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(valueAt((*results)[0], i), 2 * i);
  EXPECT_EQ((*results)[1].text(), "f32[]");
  EXPECT_EQ(valueAt((*results)[1], 0), -2);
}

TEST_F(LibraryTest, EmptyArrays) {
  auto results =
      library->call(entry("scale_rows"),
                    {view(DataType::F32, {0, 4}, std::vector<float>()),
                     view(DataType::F32, {}, two)},
                    error);
  ASSERT_TRUE(results) << error;
  EXPECT_EQ((*results)[0].text(), "f32[0x4]");
}

TEST_F(LibraryTest, NoArguments) {
  auto results = library->call(entry("nothing"), {}, error);
  ASSERT_TRUE(results) << error;
  EXPECT_TRUE(results->empty());
}

TEST_F(LibraryTest, ResultsOutliveTheLibrary) {
  auto results = library->call(
      entry("scale_rows"),
      {view(DataType::F32, {3, 4}, matrix), view(DataType::F32, {}, two)},
      error);
  ASSERT_TRUE(results) << error;
  library.reset(); // Joins its threads, too.
  EXPECT_EQ(valueAt((*results)[0], 11), 22);
}

TEST_F(LibraryTest, PackedStorage) {
  std::vector<uint8_t> bytes(2 * 3);
  auto results = library->call(entry("unpack"),
                               {view(DataType::U8, {2, 3}, bytes)}, error);
  ASSERT_TRUE(results) << error;
  EXPECT_EQ((*results)[0].text(), "bf16[2]");
  EXPECT_EQ(valueAt((*results)[0], 1), 3);
}

TEST_F(LibraryTest, TiledStorage) {
  std::vector<uint8_t> bytes(1024);
  auto results = library->call(entry("count_tiles"),
                               {view(DataType::U8, {1024}, bytes)}, error);
  ASSERT_TRUE(results) << error;
  EXPECT_EQ(valueAt((*results)[0], 0), 2);
  EXPECT_EQ(callError("count_tiles", {view(DataType::U8, {500}, bytes)}),
            "input 0 of 'count_tiles' expects tensor<?x4xf8E4M3FN, "
            "#blockscale.tiled_128x4>, stored as u8[?], but got u8[500]: the "
            "last size must be a multiple of 512");
}

TEST_F(LibraryTest, SharedStridedAndConstantResults) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    auto results = library->call(entry("odd_results"),
                                 {view(DataType::F32, {3, 4}, matrix)}, error);
    ASSERT_TRUE(results) << error;
    for (int i = 0; i < 12; ++i)
      EXPECT_EQ(valueAt((*results)[0], i), i);
    for (int i = 0; i < 16; ++i) {
      EXPECT_EQ(valueAt((*results)[1], i), i % 4 * 4 + i / 4);
      EXPECT_EQ(valueAt((*results)[2], i), i % 4 * 4 + i / 4);
    }
    EXPECT_EQ(valueAt((*results)[3], 0), 42);
  }
}

TEST_F(LibraryTest, ConcurrentCalls) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      std::string why;
      for (int i = 0; i < 100; ++i) {
        auto results = library->call(
            *library->manifest().find("scale_rows", why),
            {view(DataType::F32, {3, 4}, matrix), view(DataType::F32, {}, two)},
            why);
        if (!results || valueAt((*results)[0], 11) != 22)
          ++wrong;
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(LibraryTest, WrongArguments) {
  TensorView good = view(DataType::F32, {3, 4}, matrix);
  TensorView factor = view(DataType::F32, {}, two);
  EXPECT_EQ(callError("scale_rows", {good}),
            "'scale_rows' expects 2 inputs, but got 1");
  EXPECT_EQ(
      callError("scale_rows", {view(DataType::F32, {4, 3}, matrix), factor}),
      "input 0 of 'scale_rows' expects tensor<?x4xf32>, but got "
      "f32[4x3]: dimension 1 must be 4");
  EXPECT_EQ(callError("scale_rows", {view(DataType::F32, {4}, matrix), factor}),
            "input 0 of 'scale_rows' expects tensor<?x4xf32>, but got f32[4]: "
            "rank 2 is expected");
  EXPECT_EQ(
      callError("scale_rows", {view(DataType::F64, {3, 4}, matrix), factor}),
      "input 0 of 'scale_rows' expects tensor<?x4xf32>, but got "
      "f64[3x4]");
  EXPECT_EQ(
      callError("scale_rows", {view(DataType::F32, {-3, 4}, matrix), factor}),
      "input 0 of 'scale_rows' has impossible sizes ?x4");
  TensorView missing = good;
  missing.data = nullptr;
  EXPECT_EQ(callError("scale_rows", {missing, factor}),
            "input 0 of 'scale_rows' has no data");
}

TEST_F(LibraryTest, ErrorsOfTheFunction) {
  std::vector<uint16_t> data(4);
  EXPECT_EQ(callError("add_same", {view(DataType::BF16, {3}, data),
                                   view(DataType::BF16, {4}, data)}),
            "'add_same': expects equal sizes of operands 0 and 1");
  EXPECT_TRUE(library->call(
      entry("add_same"),
      {view(DataType::BF16, {4}, data), view(DataType::BF16, {4}, data)},
      error))
      << error;
  EXPECT_EQ(callError("wrong_size", {}),
            "result 0 of 'wrong_size' expects tensor<?x4xf32>, but got "
            "f32[2x5]: dimension 1 must be 4; the library is faulty");
}

TEST_F(LibraryTest, TwoLibrariesDoNotClash) {
  TemporaryFolder folder;
  std::filesystem::copy_file(variant("good"), folder.path("other.so"));
  std::unique_ptr<Library> other = open(folder.path("other.so"), error);
  ASSERT_NE(other, nullptr) << error;
  for (Library *each : {library.get(), other.get()}) {
    auto results = each->call(
        *each->manifest().find("scale_rows", error),
        {view(DataType::F32, {3, 4}, matrix), view(DataType::F32, {}, two)},
        error);
    ASSERT_TRUE(results) << error;
  }
}

TEST(LibraryOpen, NotALibrary) {
  TemporaryFolder folder;
  EXPECT_EQ(openError("no/such.so"),
            "cannot load 'no/such.so': No such file or directory");
  EXPECT_EQ(openError(folder.path("")),
            "cannot load '" + folder.path("") + "': it is not a file");
  std::string text = folder.write("text.so", "hello");
  EXPECT_EQ(openError(text),
            "cannot load '" + text + "': it is not a shared library");
  std::string empty = folder.write("empty.so", "");
  EXPECT_EQ(openError(empty),
            "cannot load '" + empty + "': it is not a shared library");
}

TEST(LibraryOpen, AnotherMachine) {
  TemporaryFolder folder;
  std::string bytes;
  {
    std::ifstream file(variant("good"), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  bytes[18] = 2; // e_machine: SPARC
  std::string path = folder.write("sparc.so", bytes);
  EXPECT_EQ(openError(path), "cannot load '" + path +
                                 "': it was compiled for another kind of "
                                 "machine");
}

TEST(LibraryOpen, TruncatedAnywhere) {
  TemporaryFolder folder;
  std::string bytes;
  {
    std::ifstream file(variant("good"), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  ASSERT_GT(bytes.size(), 4096u);
  for (size_t length = 4; length < bytes.size();
       length += length < 100 ? 1 : 509) {
    std::string path = folder.write("cut.so", bytes.substr(0, length));
    EXPECT_EQ(openError(path), "cannot load '" + path + "': it is truncated")
        << length;
  }
}

TEST(LibraryOpen, WrongManifests) {
  EXPECT_EQ(openError(variant("no_manifest")),
            "cannot use '" + variant("no_manifest") +
                "': it exports no 'blockscale_manifest'; libraries are made by "
                "blockscale-compile --emit=shared");
  EXPECT_EQ(openError(variant("bad_json")),
            "cannot use '" + variant("bad_json") +
                "': malformed manifest: it is not JSON");
  EXPECT_EQ(openError(variant("no_entry")),
            "cannot use '" + variant("no_entry") +
                "': its manifest names 'absent', but it exports no "
                "'blockscale_entry_absent'");
  EXPECT_EQ(openError(variant("other_target")),
            "cannot use '" + variant("other_target") +
                "': it was compiled for 'sm_120a', which device 'cpu' does not "
                "run; choose device 'cuda', or 'sim' for the simulator");
}

TEST(Device, Names) {
  std::string error;
  std::unique_ptr<Device> cpu = Device::create("cpu", error);
  ASSERT_NE(cpu, nullptr);
  EXPECT_EQ(cpu->name(), "cpu");
  EXPECT_EQ(cpu->asGPU(), nullptr);
  EXPECT_TRUE(cpu->prepare("cpu", error)) << error;
  EXPECT_FALSE(cpu->prepare("tpu", error));
  EXPECT_EQ(error,
            "it was compiled for 'tpu', which device 'cpu' does not run");
  for (std::string_view name : Device::available())
    EXPECT_NE(Device::create(name, error), nullptr);
  EXPECT_EQ(Device::create("tpu", error), nullptr);
  EXPECT_EQ(error.rfind("this build has no device 'tpu'; it has cpu", 0), 0u);
  EXPECT_EQ(Device::create("cuda:12", error)->name(), "cuda:12");
  EXPECT_EQ(Device::create("sim:12", error)->name(), "sim");
  for (const char *name : {"", "cpu:0", "cuda:", "cuda:x", "cuda:-1", "cuda1",
                           "cuda:1234", "sim:"})
    EXPECT_EQ(Device::create(name, error), nullptr) << name;
  EXPECT_EQ(Device::defaultFor("cpu"), "cpu");
  EXPECT_EQ(Device::defaultFor("sm_90a"), "cuda");
}

TEST(LibraryOpen, ForTheManifestAlone) {
  std::string error;
  std::unique_ptr<Library> library =
      Library::open(variant("other_target"), error);
  ASSERT_NE(library, nullptr) << error;
  EXPECT_EQ(library->manifest().target, "sm_120a");
  library = Library::openFor(variant("good"), "", error);
  ASSERT_NE(library, nullptr) << error;
  EXPECT_EQ(library->device().name(), "cpu");
  EXPECT_EQ(library->gpu(), nullptr);
  const Entry &nothing = *library->manifest().find("nothing", error);
  EXPECT_FALSE(library->callOnDevice(nothing, {}, nullptr, error));
  EXPECT_EQ(error, "device 'cpu' has no memory of its own; call with arrays on "
                   "the host");
}
