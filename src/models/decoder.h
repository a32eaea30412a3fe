// SPDX-License-Identifier: Apache-2.0
// A decoder-only transformer: embedding, blocks, final norm, head. GPT-2 and LLaMA are this class
// with different configs.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "models/model.h"
#include "nn/block.h"
#include "nn/embedding.h"
#include "nn/lm_head.h"
#include "nn/norm.h"
#include "nn/target_loss.h"

namespace twill {

// Reads kTokens, and kTargets where losses are asked for.
class Decoder final : public LanguageModel {
 public:
  // `config` is resolved. Registers everything with the builder, which outlives the model.
  Decoder(Builder& builder, const ModelConfig& config);

  const ModelConfig& config() const { return config_; }
  std::int64_t vocab() const override { return config_.vocab; }

  void load(const Pass& pass, const Batch& batch) override;
  void forward(const Pass& pass) override;
  void compute(const Pass& pass, const LossScale& scale) override;
  void add_mean_loss(const Pass& pass, ConstView count, View mean, bool accumulate) const override;
  void count_targets(const Pass& pass, View count, bool accumulate) const override;
  PassLoss read_loss(const Pass& pass) const override;
  // Computed in pieces of tokens: the logits of a whole pass never exist at once.
  std::vector<TargetScore> score(const Pass& pass, const Batch& batch) override;
  ConstView next_token_logits(const Pass& pass, std::span<const std::int32_t> tokens) override;

 private:
  void load_tokens(const Pass& pass, ConstView tokens);
  // Up to the final norm.
  void run_layers(const Pass& pass) const;
  ConstView token_view(const Pass& pass) const;

  ModelConfig config_;
  Embedding embedding_;
  View embedded_;  // (tokens, width)
  std::deque<Block> blocks_;
  Norm final_norm_;
  LmHead head_;
  TargetLoss loss_;
  View normed_;    // (tokens, width)
  View gradient_;  // (tokens, width), of the residual stream
  View dnormed_;   // (tokens, width)
  View tokens_;    // (tokens) i32
};

}  // namespace twill
