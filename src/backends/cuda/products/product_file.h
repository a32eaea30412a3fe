// SPDX-License-Identifier: Apache-2.0
// Which of the library's algorithms computes a product, as text: in a file that the runs of one
// machine share, and as a block that travels with a run. Knows no CUDA.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace twill::cuda {

// All that a choice may depend on. Plain numbers, so that a line of the file is a list of them.
struct ProductKey {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t trans_a = 0, trans_b = 0, accumulate = 0;  // 0 or 1
  std::int64_t type = 0,
               result_type = 0;  // DType of a and b, of c; of 2:4 products a mark of their ways
  std::int64_t epilogue = 0;     // GemmEpilogue; of 2:4 products from 16 on
  // Bytes by which the operands are aligned, at most 16; 0: not there.
  std::int64_t align_a = 0, align_b = 0, align_c = 0;
  std::int64_t align_bias = 0, align_addend = 0, align_before = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): about what the compiler makes of it
  auto operator<=>(const ProductKey&) const = default;
};

// The bytes of cublasLtMatmulAlgo_t: opaque, but the same version of the library takes them back.
using Algorithm = std::array<std::uint64_t, 8>;

// Stands for an algorithm where a product and its activation are quicker one after the other.
inline constexpr Algorithm kInTwoSteps{};

using ProductMap = std::map<ProductKey, Algorithm>;

// What algorithms belong to. The driver brings no kernels: it may change the times that a search
// sees, and so does for the file, but not what an algorithm computes.
struct Machine {
  std::string gpu;
  std::int64_t num_sms = 0;
  std::int64_t cublaslt_version = 0;
  std::int64_t driver = 0;  // version of CUDA that it knows

  std::string text() const;
  std::string text_without_driver() const;
};

// A header that names `owner`, a line per product, a checksum.
std::string to_text(const ProductMap& products, std::string_view owner);
// nullopt: `text` is not whole, or has another owner.
std::optional<ProductMap> from_text(std::string_view text, std::string_view owner);
// Whom `text` belongs to, by its header; empty when it has none that this build can read.
std::string owner_of(std::string_view text);

class ProductFile {
 public:
  // Without a path nothing is read or written.
  ProductFile(const Machine& machine, std::filesystem::path path);

  // A damaged file says so in one line and counts as empty.
  ProductMap read();
  // Adds an entry unless another process came first, and returns all that the file then holds.
  // `refused` is an answer that did not work here: it may be replaced. A file that cannot be
  // written costs the next run a search, so it is one warning and no error.
  ProductMap add(const ProductKey& key, const Algorithm& algorithm, const Algorithm* refused);

 private:
  void warn_once(std::string_view what);
  bool replace(const ProductMap& products) const;

  std::string owner_;
  std::filesystem::path path_;
  bool has_warned_ = false;
};

// products-<format>-<gpu>-<SMs>-<cuBLASLt>-<driver>.txt in $TWILL_CACHE, $XDG_CACHE_HOME/twill or
// ~/.cache/twill, the first that is set; empty when none is.
std::filesystem::path default_products_path(const Machine& machine);

}  // namespace twill::cuda
