// SPDX-License-Identifier: Apache-2.0
// One trip of a batch through the layers, forward and backward.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/view.h"

namespace twill {

struct Pass {
  const Context& context;
  std::int64_t batch = 1;
  std::int64_t time = 1;
  // Decoding: the tokens follow on `past` earlier ones, whose keys and values are in the cache, and
  // are added to it. One sequence, and a builder with the option `decoding`.
  bool cached = false;
  std::int64_t past = 0;
  // Dropout is active, and draws from (seed, micro_step).
  bool training = false;
  std::uint64_t seed = 0;
  std::uint32_t micro_step = 0;
  // (1) i32, optional: where micro_step stands when the work runs. Recorded work reads it there.
  ConstView micro_step_at = {};
  // Activations are selected, attention sees its pattern and operands are rounded, as the seams say
  // (nn/seam.h). Without it a pass is the model as it was built, on the forward operands.
  bool as_trained = false;
  // (batch) i32, optional: how many tokens of each sequence exist; the rest is padding, which
  // attention neither sees nor fills. Absent: all. Not beside a cache.
  ConstView lengths = {};
  // The step's gradients already hold earlier micro-batches: add to them.
  bool accumulate = false;

  // Of a pass that is a piece of another: how many of its tokens come before. Random draws go by a token's
  // place in the whole pass, so that the cut into pieces changes none of them.
  std::int64_t first_token = 0;

  // The piece [begin, begin + count) of the tokens, which adds to the gradients of those before it.
  Pass piece(std::int64_t begin, std::int64_t count) const {
    Pass part = *this;
    part.batch = 1;
    part.time = count;
    part.accumulate = accumulate || begin > 0;
    part.first_token = first_token + begin;
    return part;
  }

  std::int64_t tokens() const { return batch * time; }
  // The part of a buffer that this pass uses: buffers are reserved for the largest pass.
  View rows(View buffer) const { return buffer.row_range(0, tokens()); }
};

}  // namespace twill
