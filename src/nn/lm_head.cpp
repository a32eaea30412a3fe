// SPDX-License-Identifier: Apache-2.0
#include "nn/lm_head.h"

#include <algorithm>

#include "base/require.h"
#include "ops/layers/cross_entropy.h"

namespace twill {
namespace {

// The cut depends on the backend, the vocabulary and the largest pass alone, so it changes no bit
// between runs.
std::int64_t equal_pieces(const Builder& builder, std::int64_t vocab) {
  const KernelTable& kernels = builder.context().kernels();
  const std::int64_t tokens = builder.max_tokens(), tile = kernels.head_row_tile;
  const std::int64_t most =
      std::clamp<std::int64_t>(kernels.head_piece_elements / vocab, 1, tokens);
  if (tile == 1) return most;
  const std::int64_t pieces = (tokens + most - 1) / most;
  const std::int64_t rows = (tokens + pieces - 1) / pieces;
  return std::min((rows + tile - 1) / tile * tile, tokens);
}

// A sample is drawn in blocks of sixteen tokens: pieces end where blocks do.
std::int64_t choose_piece(const Builder& builder, std::int64_t vocab) {
  constexpr std::int64_t kBlock = 16;
  const std::int64_t piece = equal_pieces(builder, vocab), tokens = builder.max_tokens();
  const Builder::Options& asked = builder.options();
  if (!asked.training || !asked.steers_head || !asked.samples_gradients || piece == tokens)
    return piece;
  require(piece >= kBlock,
          "a head over {} ids holds the logits of {} tokens at once: too few to sample their "
          "gradients, which are drawn in blocks of {}; leave \"head\" out of the layers, or set "
          "wgrad.estimator = \"dense\"",
          vocab, piece, kBlock);
  return piece / kBlock * kBlock;
}

}  // namespace

LmHead::LmHead(Builder& builder, const std::string& name, Options options, Parameter* tied)
    : linear_(builder, name,
              {.in = options.width,
               .out = options.vocab,
               .bias = false,
               .init_std = options.init_std,
               .family = LayerFamily::kHead,
               .shared = tied,
               .piece = choose_piece(builder, options.vocab),
               .steered = builder.options().steers_head}) {
  builder.scratch("head.logits", logits_, {choose_piece(builder, options.vocab), options.vocab});
}

View LmHead::piece_logits(const Pass& piece, ConstView x) const {
  const View logits = piece.rows(logits_);
  linear_.forward(piece, x, logits);
  return logits;
}

template <class Body>
void LmHead::for_each_piece(const Pass& pass, const Body& body) const {
  for (std::int64_t begin = 0; begin < pass.tokens(); begin += piece_tokens()) {
    const std::int64_t count = std::min(piece_tokens(), pass.tokens() - begin);
    body(pass.piece(begin, count), begin, count);
  }
}

void LmHead::loss(const Pass& pass, ConstView x, ConstView targets, View loss) const {
  score(pass, x, targets, loss, {});
}

void LmHead::score(const Pass& pass, ConstView x, ConstView targets, View loss, View best) const {
  for_each_piece(pass, [&](const Pass& piece, std::int64_t begin, std::int64_t count) {
    cross_entropy(pass.context, {.logits = piece_logits(piece, x.row_range(begin, count)),
                                 .targets = targets.slice(begin, count),
                                 .loss = loss.slice(begin, count),
                                 .best = best ? best.slice(begin, count) : View()});
  });
}

void LmHead::loss_and_gradient(const Pass& pass, ConstView x, ConstView targets,
                               const LossScale& scale, View loss, View dx) const {
  for_each_piece(pass, [&](const Pass& piece, std::int64_t begin, std::int64_t count) {
    const ConstView rows = x.row_range(begin, count);
    const View logits = piece_logits(piece, rows);
    cross_entropy(pass.context, {.logits = logits,
                                 .targets = targets.slice(begin, count),
                                 .loss = loss.slice(begin, count),
                                 .dlogits = logits,
                                 .scale = scale.share,
                                 .count = scale.count});
    linear_.wgrad(piece, rows, logits);
    linear_.dgrad(piece, logits, dx.row_range(begin, count));
  });
}

ConstView LmHead::logits_of_row(const Pass& pass, ConstView x, std::int64_t row) const {
  return piece_logits(pass.piece(row, 1), x.row_range(row, 1));
}

}  // namespace twill
