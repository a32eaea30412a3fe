// SPDX-License-Identifier: Apache-2.0
#include "nn/lm_head.h"

#include <algorithm>

#include "ops/layers/cross_entropy.h"
#include "ops/numbers/fill.h"
#include "ops/products/gemm.h"
#include "ops/products/times_packed.h"

namespace twill {
namespace {

// The cut depends on the backend, the vocabulary and the largest pass alone, so it changes no bit
// between runs.
std::int64_t choose_piece(const Builder& builder, std::int64_t vocab) {
  const KernelTable& kernels = builder.context().kernels();
  const std::int64_t tokens = builder.max_tokens(), tile = kernels.head_row_tile;
  const std::int64_t most =
      std::clamp<std::int64_t>(kernels.head_piece_elements / vocab, 1, tokens);
  if (tile == 1) return most;
  const std::int64_t pieces = (tokens + most - 1) / most;
  const std::int64_t rows = (tokens + pieces - 1) / pieces;
  return std::min((rows + tile - 1) / tile * tile, tokens);
}

Parameter& own_weight(Builder& builder, const std::string& name, const LmHead::Options& options) {
  return builder.parameter(name + ".weight", {options.vocab, options.width}, Init::kNormal,
                           options.init_std);
}

}  // namespace

LmHead::LmHead(Builder& builder, const std::string& name, Options options, Parameter* tied)
    : weight_(tied != nullptr ? *tied : own_weight(builder, name, options)),
      seam_(builder.linear_seam({.name = name,
                                 .family = LayerFamily::kHead,
                                 .weight = &weight_,
                                 .shares_weight = tied != nullptr})) {
  // The head is the first to touch its gradient in a backward pass: it overwrites.
  weight_.clear_gradient = false;
  builder.scratch("head.logits", logits_, {choose_piece(builder, options.vocab), options.vocab});
}

View LmHead::piece_logits(const Pass& pass, ConstView x, std::int64_t begin,
                          std::int64_t count) const {
  const View logits = logits_.row_range(0, count);
  const ConstView rows = x.row_range(begin, count);
  if (seam_.packed_forward && count >= kFewestPackedTokens) {
    times_packed(pass.context, {.x = rows, .packed = seam_.packed_forward, .c = logits});
  } else {
    gemm(pass.context, {.a = rows, .b = seam_.forward_operand(), .c = logits, .trans_b = true});
  }
  return logits;
}

void LmHead::weight_gradient(const Pass& pass, ConstView x, ConstView dlogits,
                             bool accumulate) const {
  if (!seam_.kept)
    return gemm(
        pass.context,
        {.a = dlogits, .b = x, .c = weight_.gradient, .trans_a = true, .accumulate = accumulate});
  // The embedding adds to the weight's own gradient, which nobody has overwritten then.
  if (seam_.shares_weight && !accumulate) fill(pass.context, {.x = weight_.gradient});
  kept_gradient(pass.context, {.dy = dlogits,
                               .x = x,
                               .kept = seam_.kept,
                               .values = seam_.kept_gradient,
                               .accumulate = accumulate});
}

template <class Body>
void LmHead::for_each_piece(const Pass& pass, const Body& body) const {
  for (std::int64_t begin = 0; begin < pass.tokens(); begin += piece_tokens())
    body(begin, std::min(piece_tokens(), pass.tokens() - begin));
}

void LmHead::loss(const Pass& pass, ConstView x, ConstView targets, View loss) const {
  score(pass, x, targets, loss, {});
}

void LmHead::score(const Pass& pass, ConstView x, ConstView targets, View loss, View best) const {
  for_each_piece(pass, [&](std::int64_t begin, std::int64_t count) {
    cross_entropy(pass.context, {.logits = piece_logits(pass, x, begin, count),
                                 .targets = targets.slice(begin, count),
                                 .loss = loss.slice(begin, count),
                                 .best = best ? best.slice(begin, count) : View()});
  });
}

void LmHead::loss_and_gradient(const Pass& pass, ConstView x, ConstView targets, const Scale& scale,
                               View loss, View dx) const {
  for_each_piece(pass, [&](std::int64_t begin, std::int64_t count) {
    const View logits = piece_logits(pass, x, begin, count);
    cross_entropy(pass.context, {.logits = logits,
                                 .targets = targets.slice(begin, count),
                                 .loss = loss.slice(begin, count),
                                 .dlogits = logits,
                                 .scale = scale.share,
                                 .count = scale.count});
    weight_gradient(pass, x.row_range(begin, count), logits, pass.accumulate || begin > 0);
    const View rows = dx.row_range(begin, count);
    if (seam_.packed_dgrad && count >= kFewestPackedTokens) {
      times_packed(pass.context, {.x = logits, .packed = seam_.packed_dgrad, .c = rows});
    } else {
      gemm(pass.context, {.a = logits, .b = seam_.dgrad_operand(), .c = rows});
    }
  });
}

ConstView LmHead::logits_of_row(const Pass& pass, ConstView x, std::int64_t row) const {
  return piece_logits(pass, x, row, 1);
}

}  // namespace twill
