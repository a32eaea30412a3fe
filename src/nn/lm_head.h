// SPDX-License-Identifier: Apache-2.0
// The classifier over the vocabulary and its cross-entropy: a linear layer with a loss behind it, in pieces of
// tokens, so that the logits of a whole batch never exist at once.
//
// Everything that a linear layer's products can be (nn/route.h) the head's can be too. Pieces: the gradient of
// the weight adds up over them in their order; a sample of dlogits is drawn by a token's place in the whole
// pass, so that the cut changes no draw, and pieces of a head that samples have whole sixteens of tokens
// (ops/selection/mvue24.h); a simulated number format has one scale per piece.
#pragma once

#include <string>

#include "nn/builder.h"
#include "nn/linear.h"
#include "nn/pass.h"
#include "nn/target_loss.h"

namespace twill {

class LmHead {
 public:
  // `tied` is the token table when the head shares it, else nullptr and the head has its own
  // matrix.
  struct Options {
    std::int64_t vocab = 0;
    std::int64_t width = 0;
    double init_std = 0.02;
  };
  LmHead(Builder& builder, const std::string& name, Options options, Parameter* tied);

  // loss (tokens) of the targets (tokens) i32. With dx, also the gradients of x and of the head for
  // scale.share / scale.count times the sum of the losses; without a count, 1 stands for it.
  void loss(const Pass& pass, ConstView x, ConstView targets, View loss) const;
  void loss_and_gradient(const Pass& pass, ConstView x, ConstView targets, const LossScale& scale,
                         View loss, View dx) const;

  // The same loss, and the likeliest id behind every token (best, i32; see ops/layers/cross_entropy.h).
  void score(const Pass& pass, ConstView x, ConstView targets, View loss, View best) const;

  // Logits (1, vocab) of one row of x.
  ConstView logits_of_row(const Pass& pass, ConstView x, std::int64_t row) const;

 private:
  std::int64_t piece_tokens() const { return logits_.shape()[0]; }
  // The logits of a piece, whose rows of x are given.
  View piece_logits(const Pass& piece, ConstView x) const;
  // body(piece, begin, count) for every piece of the pass.
  template <class Body>
  void for_each_piece(const Pass& pass, const Body& body) const;

  Linear linear_;  // (vocab, width)
  View logits_;    // (piece, vocab)
};

}  // namespace twill
