// SPDX-License-Identifier: Apache-2.0
// Which of the library's algorithms computes a product: chosen once, remembered for the queue's
// life, and, where a search has timed the candidates, in a file for later runs. Knows no CUDA.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace twill::cuda {

// All that a choice may depend on. Plain numbers, so that a line of the file is a list of them.
struct ProductKey {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t trans_a = 0, trans_b = 0, accumulate = 0;  // 0 or 1
  std::int64_t type = 0, result_type = 0;                 // DType of a and b, of c
  std::int64_t epilogue = 0;                              // GemmEpilogue
  // Bytes by which the operands are aligned, at most 16; 0: not there.
  std::int64_t align_a = 0, align_b = 0, align_c = 0;
  std::int64_t align_bias = 0, align_addend = 0, align_before = 0;

  auto operator<=>(const ProductKey&) const = default;
};

// The bytes of cublasLtMatmulAlgo_t: opaque, but the same version of the library takes them back.
using Algorithm = std::array<std::uint64_t, 8>;

// Stands for an algorithm where a product and its activation are quicker one after the other.
inline constexpr Algorithm kInTwoSteps{};

class ProductPlan {
 public:
  // `machine` is one line that names GPU, library and driver: what a file holds for another machine
  // is not read, and is replaced. Without a file everything stays in memory.
  ProductPlan(std::string machine, std::filesystem::path file);

  // What was decided for a product: nullptr not yet, an empty optional that there is no algorithm.
  const std::optional<Algorithm>* chosen(const ProductKey& key) const;
  void choose(const ProductKey& key, std::optional<Algorithm> algorithm);

  // The outcome of a search, in this run or in one before; nullptr: none.
  const Algorithm* searched(const ProductKey& key) const;
  // Also writes the file. One that cannot be written costs the next run a search: no error.
  void keep_searched(const ProductKey& key, const Algorithm& algorithm);

 private:
  std::map<ProductKey, Algorithm> read_file() const;
  void write_file() const;

  std::string header_;
  std::filesystem::path file_;
  std::map<ProductKey, std::optional<Algorithm>> chosen_;
  std::map<ProductKey, Algorithm> searched_;
};

// products-<gpu>-<version>.txt in $TWILL_CACHE, $XDG_CACHE_HOME/twill or ~/.cache/twill, the first
// that is set; empty when none is.
std::filesystem::path default_products_file(std::string_view gpu, std::int64_t version);

// Seconds of one launch of a candidate; infinity when it fails, or when its first launch takes
// longer than `hopeless`.
using TimeCandidate = std::function<double(std::size_t candidate, double hopeless)>;

// The candidate to take of `count` > 0. The first is the library's own choice: another one must
// clearly beat it, so that noise does not decide.
std::size_t choose_fastest(std::size_t count, const TimeCandidate& time);

}  // namespace twill::cuda
