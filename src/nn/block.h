// SPDX-License-Identifier: Apache-2.0
// A pre-norm transformer block:  middle = x + attention(norm(x)),  out = middle +
// ffn(norm(middle)).
#pragma once

#include <string>

#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/self_attention.h"

namespace twill {

class Block {
 public:
  struct Options {
    Norm::Options norm;
    SelfAttention::Options attention;
    FeedForward::Options ffn;
  };
  // `x` is the slot of the block's input, which the caller reserved.
  Block(Builder& builder, const std::string& name, const Options& options, const View& x);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const View& out() const { return out_; }

  void forward(const Pass& pass) const;
  // `gradient` holds the gradient of out and leaves as the gradient of x.
  void backward(const Pass& pass, View gradient) const;

 private:
  const View& x_;
  Norm attention_norm_;
  SelfAttention attention_;
  Norm ffn_norm_;
  FeedForward ffn_;
  View attention_in_;  // (tokens, width)
  View middle_;        // (tokens, width)
  View ffn_in_;        // (tokens, width)
  View out_;           // (tokens, width)
  View dnormed_;       // (tokens, width)
};

}  // namespace twill
