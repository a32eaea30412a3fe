// SPDX-License-Identifier: Apache-2.0
#include "nn/lm_head.h"

#include <algorithm>

#include "ops/cross_entropy.h"
#include "ops/gemm.h"

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
      seam_(builder.linear_seam({.name = name, .family = LayerFamily::kHead, .weight = &weight_})) {
  // The head is the first to touch its gradient in a backward pass: it overwrites.
  weight_.clear_gradient = false;
  builder.scratch("head.logits", logits_, {choose_piece(builder, options.vocab), options.vocab});
}

View LmHead::piece_logits(const Pass& pass, ConstView x, std::int64_t begin,
                          std::int64_t count) const {
  const View logits = logits_.row_range(0, count);
  gemm(
      pass.context,
      {.a = x.row_range(begin, count), .b = seam_.forward_operand(), .c = logits, .trans_b = true});
  return logits;
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

void LmHead::loss_and_gradient(const Pass& pass, ConstView x, ConstView targets, double scale,
                               View loss, View dx) const {
  for_each_piece(pass, [&](std::int64_t begin, std::int64_t count) {
    const View logits = piece_logits(pass, x, begin, count);
    cross_entropy(pass.context, {.logits = logits,
                                 .targets = targets.slice(begin, count),
                                 .loss = loss.slice(begin, count),
                                 .dlogits = logits,
                                 .scale = scale});
    gemm(pass.context, {.a = logits,
                        .b = x.row_range(begin, count),
                        .c = weight_.gradient,
                        .trans_a = true,
                        .accumulate = pass.accumulate || begin > 0});
    gemm(pass.context, {.a = logits, .b = seam_.dgrad_operand(), .c = dx.row_range(begin, count)});
  });
}

ConstView LmHead::logits_of_row(const Pass& pass, ConstView x, std::int64_t row) const {
  return piece_logits(pass, x, row, 1);
}

}  // namespace twill
