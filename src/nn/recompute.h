// SPDX-License-Identifier: Apache-2.0
// What is not kept from the forward to the backward pass but computed a second time. The second time
// gives the same bits, because it is the same call on the same operands, or one with the same result to the bit:
// memory for time, and nothing else.
//
//   norm        outputs of the norms: one pass over the stream each
//   activation  outputs of the FFN's activation
//   ffn         the whole FFN but its input: its first product once more
//   block       everything but a block's input: the forward pass but its last product once more
#pragma once

#include <array>
#include <string_view>

namespace twill {

inline constexpr std::array<std::string_view, 7> kRecomputeNames{
    "none", "norm", "activation", "norm+activation", "ffn", "norm+ffn", "block"};

struct Recompute {
  bool norm = false;
  bool activation = false;
  bool ffn = false;
  bool block = false;

  // What a layer keeps.
  bool keeps_normed() const { return !norm && !block; }
  bool keeps_activated() const { return !activation && !ffn && !block; }
  bool keeps_hidden() const { return !ffn && !block; }
  bool keeps_inside() const { return !block; }
};

// `name` is one of kRecomputeNames.
constexpr Recompute recompute_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return {.norm = has("norm"),
          .activation = has("activation"),
          .ffn = has("ffn"),
          .block = has("block")};
}

}  // namespace twill
