//===-- Presets.cpp - The one table of named formats ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Text.h"
#include "blockscale/Numerics/Format.h"

#include <cassert>

using namespace blockscale;

namespace {
/// A preset as one writes it.
struct Row {
  const char *name;
  const char *element;
  const char *block;
  const char *scale;
  const char *tensor;
  const char *zero;
  const char *source;
};
} // namespace

// Where two names mean the same format, the first is printed.
static constexpr Row kRows[] = {
    {"mxfp8_e4m3", "e4m3", "32", "e8m0", "none", "none", "OCP MX 1.0"},
    {"mxfp8_e5m2", "e5m2", "32", "e8m0", "none", "none", "OCP MX 1.0"},
    {"mxfp6_e2m3", "e2m3", "32", "e8m0", "none", "none", "OCP MX 1.0"},
    {"mxfp6_e3m2", "e3m2", "32", "e8m0", "none", "none", "OCP MX 1.0"},
    {"mxfp4", "e2m1", "32", "e8m0", "none", "none", "OCP MX 1.0"},
    {"nvfp4", "e2m1", "16", "ue4m3", "f32", "none",
     "NVIDIA Blackwell; Transformer Engine"},
    {"mxint8", "int8q6", "32", "e8m0", "none", "none", "OCP MX 1.0"},
    {"mxint6", "int6q4", "32", "e8m0", "none", "none", "arXiv 2510.25602"},
    {"mxint4", "int4q2", "32", "e8m0", "none", "none", "arXiv 2510.25602"},
    {"nvint4", "int4", "16", "ue4m3", "f32", "none", "arXiv 2510.25602"},
    {"fp4_ue5m3", "e2m1", "16", "ue5m3", "none", "none",
     "arXiv 2609.02846; PTX ISA 9.4"},
    {"fp4_e1m6", "e2m1", "16", "ue1m6", "f32", "none", "arXiv 2505.19115"},
    {"fp4_e2m5", "e2m1", "16", "ue2m5", "f32", "none", "arXiv 2505.19115"},
    {"fp4_e3m4", "e2m1", "16", "ue3m4", "f32", "none", "arXiv 2505.19115"},
    {"fp4_e4m3", "e2m1", "16", "ue4m3", "f32", "none", "arXiv 2505.19115"},
    {"fp4_e5m2", "e2m1", "16", "ue5m2", "f32", "none", "arXiv 2505.19115"},
    {"fp4_e6m1", "e2m1", "16", "ue6m1", "f32", "none", "arXiv 2505.19115"},
    {"fp4_e8m0", "e2m1", "16", "e8m0", "f32", "none", "arXiv 2505.19115"},
    {"nf4", "nf4", "64", "f32", "none", "none", "bitsandbytes (QLoRA)"},
    {"uint4", "uint4", "64", "f16", "none", "code", "AWQ, GPTQ"},
};

static Format formatOf(const Row &row) {
  Format format;
  std::string error;
  auto element = ElementType::fromName(row.element, error);
  auto scale = ScaleType::fromName(row.scale, error);
  assert(element && scale && "a preset must parse");
  format.element = *element;
  format.scale = *scale;
  format.blockCols = *parseUnsigned(row.block);
  format.hasTensorScale = std::string_view(row.tensor) == "f32";
  if (std::string_view(row.zero) == "code")
    format.zero = ZeroPoint::Code;
  return format;
}

const std::vector<Preset> &blockscale::presets() {
  static const std::vector<Preset> all = [] {
    std::vector<Preset> presets;
    for (const Row &row : kRows)
      presets.push_back({row.name, formatOf(row), row.source});
    return presets;
  }();
  return all;
}

std::optional<Format> Format::fromPreset(std::string_view name) {
  for (const Preset &preset : presets())
    if (preset.name == name)
      return preset.format;
  return std::nullopt;
}

std::string_view Format::presetName() const {
  for (const Preset &preset : presets())
    if (preset.format == *this)
      return preset.name;
  return {};
}
