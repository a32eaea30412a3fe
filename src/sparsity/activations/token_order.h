// SPDX-License-Identifier: Apache-2.0
// A fixed order of tokens. Neighbouring tokens of a text fire the same neurons, so that groups of
// four along tokens are full where others are empty; a fixed random order evens that out.
#pragma once

#include <cstdint>
#include <vector>

namespace twill {

// A permutation of 0 … num_tokens - 1: tokens sorted by word 0 of philox(seed, kOrder, stream, t),
// equal words by t.
std::vector<std::int32_t> random_token_order(std::int64_t num_tokens, std::uint64_t seed,
                                             std::uint32_t stream = 0);

// inverse[order[p]] = p.
std::vector<std::int32_t> inverse_order(const std::vector<std::int32_t>& order);

}  // namespace twill
