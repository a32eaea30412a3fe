// SPDX-License-Identifier: Apache-2.0
// twill bench gemm on a device that stores bf16: dense products by cuBLASLt, 2:4 products of ours and
// of the vendor's library, in slices in turn at settled clocks, and what the method costs besides.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/gemm_problem.h"
#include "cli/bench/ratio_report.h"
#include "cli/bench/sparse_overheads.h"
#include "cli/commands.h"

namespace twill::cli {

// The vendor's library beside ours.
struct PeerTimes {
  std::string description = {};  // algorithm and form
  std::string reason = {};       // why there is none
  std::string note = {};         // where its product is not quite ours
  double seconds = 0.0;          // 0: there is none, like all below
  double transposed_seconds =
      0.0;                        // the same with its result stored transposed, which we cannot use
  double compress_seconds = 0.0;  // its own packing
  PairedRatio ratio = {};         // its time over ours
};

struct ProductTimes {
  std::string product;  // forward, wgrad
  std::string pattern;
  double flops = 0.0;                // of the dense product
  double dense_seconds = 0.0;        // our gemm: the best algorithm of the library
  double first_guess_seconds = 0.0;  // what the library takes unasked; 0: not measured
  double packed_seconds = 0.0;
  PairedRatio gain = {};  // dense over packed
  PeerTimes peer = {};
};

struct ProductCase {
  WeightShape shape;
  std::int64_t tokens = 0;
  bool wgrad = true;
};

// One case.
struct ProductBench {
  ProductCase problem;
  std::vector<ProductTimes> products = {};
  std::vector<SparseOverhead> overheads = {};
  DeviceReadings readings = {};  // behind the products
};

// Weights and tokens of FFNs from 124M to 7B parameters; weight gradients of the wide ones.
std::vector<ProductCase> usual_product_cases();

// Operands of `type`; seconds are those of each candidate.
ProductBench measure_products(const Context& context, const ProductCase& problem,
                              const std::vector<GemmPattern>& patterns, DType type, double seconds);

// Geometric means and the least of gain and ratio; empty where there is nothing to compare with.
struct ProductMeans {
  std::int64_t products = 0, peers = 0;
  double gain = 0.0, least_gain = 0.0;
  double ratio = 0.0, least_ratio = 0.0;  // the peer's time over ours
};
// Of all products, or of those with one name.
ProductMeans means_of(const std::vector<ProductBench>& benches, const std::string& product = {});

std::string report_of(const ProductBench& bench, double copy);
std::string means_report(const std::vector<ProductBench>& benches);
JsonValue json_of(const ProductBench& bench, double copy);
JsonValue json_of(const ProductMeans& means);

// On a context whose backend stores bf16.
int bench_products(const BenchCommand& command, const Context& context);

}  // namespace twill::cli
