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
  // Where the sum over all tokens of the gradient of out belongs; may be absent.
  View dout_sum(const Pass& pass) const { return ffn_.dout_sum(pass); }
  // `gradient` holds the gradient of out and leaves as the gradient of x, whose sum over all tokens
  // goes to `dx_sum` if that is given.
  void backward(const Pass& pass, View gradient, View dx_sum) const;

 private:
  // What backward() reads and forward() did not leave behind.
  void recompute(const Pass& pass) const;

  const View& x_;
  Recompute recompute_;
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
