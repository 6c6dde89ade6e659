//===-- Harness.cpp - Runs snippets of PTX ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace blockscale::sim::test {

std::string Snippet::text(size_t inputs) const {
  std::string all = ".version 8.8\n.target " + target + "\n.address_size 64\n" +
                    declarations +
                    ".visible .entry snippet(.param .u64 in, .param .u64 out)"
                    "\n{\n.reg .b64 %a<9>, %y<16>, %o<16>, %in, %out, %at;\n"
                    ".reg .b32 %r<9>, %x<64>, %lane, %thread, %smem;\n"
                    ".reg .b16 %h<9>, %z<16>;\n.reg .pred %p<16>;\n"
                    ".shared .align 1024 .b8 memory[" +
                    std::to_string(sharedBytes) +
                    "];\nmov.u32 %smem, memory;\nld.param.u64 %in, [in];\n"
                    "ld.param.u64 %out, [out];\nmov.u32 %thread, %tid.x;\n"
                    "mov.u32 %lane, %laneid;\n"
                    "mad.wide.u32 %at, %thread, 8, %in;\n";
  for (size_t k = 0; k < inputs; ++k) {
    std::string n = std::to_string(k);
    all += "ld.global.b64 %a" + n + ", [%at+" +
           std::to_string(k * threads * 8) + "];\ncvt.u32.u64 %r" + n + ", %a" +
           n + ";\ncvt.u16.u64 %h" + n + ", %a" + n + ";\n";
  }
  all += "mad.wide.u32 %at, %thread, 8, %out;\n" + body + "\n";
  for (unsigned k = 0; k < outputs; ++k)
    all += "st.global.b64 [%at+" + std::to_string(k * threads * 8) + "], %o" +
           std::to_string(k) + ";\n";
  return all + "ret;\n}\n";
}

/// For comparing with hardware: each run as text, inputs and outputs.
static void dump(const std::string &text, unsigned threads, const Words &in,
                 const Words &out) {
  const char *folder = std::getenv("BLOCKSCALE_SIM_DUMP");
  if (!folder)
    return;
  static unsigned number = 0;
  const auto *test = testing::UnitTest::GetInstance()->current_test_info();
  std::string path = std::string(folder) + "/" + test->test_suite_name() + "." +
                     test->name() + "." + std::to_string(number++);
  std::ofstream(path + ".ptx") << text;
  std::ofstream data(path + ".data", std::ios::binary);
  uint64_t header[3] = {threads, in.size(), out.size()};
  data.write(reinterpret_cast<const char *>(header), sizeof header);
  data.write(reinterpret_cast<const char *>(in.data()), in.size() * 8);
  data.write(reinterpret_cast<const char *>(out.data()), out.size() * 8);
}

Result Snippet::run(const std::vector<Words> &inputs, std::vector<Words> &out,
                    Options options) const {
  Device device;
  std::string error, ptx = text(inputs.size());
  Result result;
  if (!device.load(ptx, error)) {
    result.report.fault = Fault::BadLaunch;
    result.report.message = error;
    return result;
  }
  Words all;
  for (const Words &input : inputs) {
    Words padded = input;
    padded.resize(threads);
    all.insert(all.end(), padded.begin(), padded.end());
  }
  Launch launch;
  launch.entry = "snippet";
  launch.block = {threads};
  launch.options = options;
  uint64_t in = device.upload(all.data(), all.size() * 8, "in");
  uint64_t to = device.allocate(threads * outputs * 8, "out");
  launch.add(in).add(to);
  result = device.launch(launch);
  Words flat(threads * outputs);
  device.read(to, flat.data(), flat.size() * 8);
  if (result)
    dump(ptx, threads, all, flat);
  out.clear();
  for (unsigned k = 0; k < outputs; ++k)
    out.emplace_back(flat.begin() + k * threads,
                     flat.begin() + (k + 1) * threads);
  return result;
}

std::vector<Words> Snippet::operator()(const std::vector<Words> &inputs) const {
  std::vector<Words> out;
  Result result = run(inputs, out);
  EXPECT_TRUE(result) << result.text() << "\n" << body;
  return out;
}

Words evaluate(const std::string &body, const std::vector<Words> &inputs) {
  Words result;
  size_t count = inputs.front().size();
  for (size_t start = 0; start < count; start += 1024) {
    Snippet snippet(body);
    snippet.threads = std::min<size_t>(1024, count - start);
    std::vector<Words> part;
    for (const Words &input : inputs)
      part.emplace_back(input.begin() + start,
                        input.begin() + start + snippet.threads);
    Words out = snippet(part).front();
    result.insert(result.end(), out.begin(), out.end());
  }
  return result;
}

Words crossLeft(const Words &values) {
  Words result;
  for (uint64_t a : values)
    result.insert(result.end(), values.size(), a);
  return result;
}

Words crossRight(const Words &values) {
  Words result;
  for (size_t i = 0; i < values.size(); ++i)
    result.insert(result.end(), values.begin(), values.end());
  return result;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace blockscale::sim::test
