// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sparse_products/sparse_cache.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "tensor/dtype.h"

namespace twill::cuda {
namespace {

std::uint64_t mark_of(const SparseWay& way) {
  const std::string_view name(way.name);
  return hash_bytes(name.data(), name.size());
}

// Of the ways among which the choice is.
std::int64_t mark_of(const SparseChoices& choices) {
  std::string names;
  for (const std::size_t way : choices.possible())
    names += std::string(choices.ways()[way].name) + '\n';
  return static_cast<std::int64_t>(hash_bytes(names.data(), names.size()) >> 1);
}

}  // namespace

ProductKey sparse_key(SparseEpilogue epilogue, const SparseProduct& product,
                      const SparseChoices& choices) {
  const bool adds_other = product.addend != nullptr && product.addend != product.d;
  return {.m = product.m,
          .n = product.n,
          .k = product.k,
          .type = static_cast<std::int64_t>(DType::kBf16),
          .result_type = mark_of(choices),
          .epilogue = 16 + static_cast<std::int64_t>(epilogue),
          .align_bias = product.bias != nullptr ? 16 : 0,
          .align_addend = adds_other ? 16 : 0};
}

Algorithm to_algorithm(const SparseChoices& choices, const SparseChoice& choice) {
  return {mark_of(choices.ways()[choice.way]), choice.order.along_n ? 2u : 1u,
          static_cast<std::uint64_t>(choice.order.swizzle)};
}

std::optional<SparseChoice> from_algorithm(const SparseChoices& choices,
                                           const Algorithm& algorithm) {
  for (const std::size_t i : choices.possible())
    if (mark_of(choices.ways()[i]) == algorithm[0] &&
        std::ranges::count(kSparseSwizzles, static_cast<int>(algorithm[2])) > 0)
      return SparseChoice{
          i, {.along_n = algorithm[1] == 2, .swizzle = static_cast<int>(algorithm[2])}};
  return std::nullopt;
}

bool settle_known(const SparseChoices& choices, const ProductKey& key, bool has_two_steps,
                  ProductPlan& plan) {
  while (const Algorithm* known = plan.known(key)) {
    if (from_algorithm(choices, *known) || (has_two_steps && *known == kInTwoSteps)) {
      plan.choose_for_run(key, *known);
      return true;
    }
    plan.refuse(key);
  }
  return false;
}

}  // namespace twill::cuda
