// SPDX-License-Identifier: Apache-2.0
// twill bench gemm: the products of a linear layer dense and packed, in turns on the same operands.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/gemm_problem.h"
#include "cli/bench/ratio_report.h"
#include "cli/commands.h"

namespace twill::cli {

// A product of one shape, dense.
struct DenseProduct {
  std::string name;  // forward, dgrad, wgrad
  double flops = 0.0;
  double own_seconds = 0.0;         // our gemm
  double plain_call_seconds = 0.0;  // the library's own call with all threads; 0: there is none

  // The quicker of the two counts.
  bool takes_plain_call() const {
    return plain_call_seconds > 0.0 && plain_call_seconds < own_seconds;
  }
  double seconds() const { return takes_plain_call() ? plain_call_seconds : own_seconds; }
};

// The same with a packed weight.
struct PackedProduct {
  std::string pattern;
  std::string product;
  double density = 0.0;
  double dense_seconds = 0.0;  // medians of the turns
  double packed_seconds = 0.0;
  PairedRatio gain = {};        // dense over packed
  double pack_seconds = 0.0;    // with a new mask; wgrad: the search of the kept entries
  double repack_seconds = 0.0;  // with the mask of before
};

struct MaskSearch {
  std::string pattern;
  double seconds = 0.0;  // 0: drawn, not searched
};

// One shape, one number of tokens.
struct GemmBench {
  WeightShape shape;
  std::int64_t tokens = 0;
  std::vector<DenseProduct> dense = {};
  std::vector<MaskSearch> searches = {};
  std::vector<PackedProduct> packed = {};
};

void print_gemm(const GemmBench& bench);
JsonValue json_of(const GemmBench& bench);

}  // namespace twill::cli
