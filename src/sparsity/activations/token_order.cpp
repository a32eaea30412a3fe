// SPDX-License-Identifier: Apache-2.0
#include "sparsity/activations/token_order.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/require.h"
#include "base/rng.h"

namespace twill {

std::vector<std::int32_t> random_token_order(std::int64_t num_tokens, std::uint64_t seed,
                                             std::uint32_t stream) {
  require(num_tokens >= 0 && num_tokens <= std::numeric_limits<std::int32_t>::max(),
          "[random_token_order] num_tokens must be in [0, 2^31), got {}", num_tokens);
  // The word above, the token below: one number to compare, and equal words fall by token.
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(num_tokens));
  for (std::uint64_t t = 0; t < keys.size(); ++t)
    keys[t] = std::uint64_t{random_bits(seed, Purpose::kOrder, stream, t)[0]} << 32 | t;
  std::sort(keys.begin(), keys.end());
  std::vector<std::int32_t> order;
  order.reserve(keys.size());
  for (const std::uint64_t key : keys)
    order.push_back(static_cast<std::int32_t>(key & 0xFFFF'FFFFu));
  return order;
}

std::vector<std::int32_t> inverse_order(const std::vector<std::int32_t>& order) {
  std::vector<std::int32_t> inverse(order.size());
  for (std::size_t p = 0; p < order.size(); ++p)
    inverse[static_cast<std::size_t>(order[p])] = static_cast<std::int32_t>(p);
  return inverse;
}

}  // namespace twill
