//===-- NpyHeader.h - The dictionary in front of an array -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_RUNTIME_NPYHEADER_H
#define BLOCKSCALE_LIB_RUNTIME_NPYHEADER_H

#include "blockscale/Runtime/DataType.h"

namespace blockscale::runtime {

struct NpyHeader {
  DataType type = DataType::U8;
  bool bigEndian = false;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, keys
/// in any order. Sizes are non-negative; their product is not checked.
std::optional<NpyHeader> parseNpyHeader(std::string_view text,
                                        std::string &error);

/// NumPy's name of a type, as written: `<f4`, `|u1`, `<V2` for bf16.
std::string_view npyDescr(DataType type);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_NPYHEADER_H
