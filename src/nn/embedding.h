// SPDX-License-Identifier: Apache-2.0
// Token embedding, with learned positions where the model has them, and dropout behind it.
#pragma once

#include <string>

#include "nn/builder.h"
#include "nn/dropout.h"
#include "nn/pass.h"

namespace twill {

class Embedding {
 public:
  struct Options {
    std::int64_t vocab = 0;
    std::int64_t width = 0;
    std::int64_t positions = 0;  // 0: none are learned
    double init_std = 0.02;
    double dropout = 0.0;
    std::uint64_t dropout_stream = 0;
  };
  Embedding(Builder& builder, const std::string& name, Options options);

  // tokens (batch, time) i32 -> out (tokens, width)
  void forward(const Pass& pass, ConstView tokens, View out) const;
  // `gradient` of out; used up.
  void backward(const Pass& pass, ConstView tokens, View gradient) const;

  // The token table, for a tied head.
  Parameter& token_table() const { return tokens_; }

 private:
  Options options_;
  Parameter& tokens_;  // (vocab, width)
  Parameter* positions_ = nullptr;
  Dropout dropout_;
};

}  // namespace twill
