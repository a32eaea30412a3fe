// SPDX-License-Identifier: Apache-2.0
// A decoder-only transformer: embedding, blocks, final norm, head. GPT-2 and LLaMA are this class
// with different configs.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "models/model_config.h"
#include "nn/block.h"
#include "nn/builder.h"
#include "nn/embedding.h"
#include "nn/lm_head.h"
#include "nn/norm.h"

namespace twill {

// What a model thinks of one token, given those before it.
struct TokenScore {
  double loss = 0.0;    // -log probability, in nats
  bool greedy = false;  // the likeliest token; of equally likely ones the lowest id
};

// A block of such a model. Dropout streams: 0 behind the embedding, then two per block.
Block::Options block_options(const ModelConfig& config, std::int64_t layer);

class Decoder {
 public:
  // `config` is resolved. Registers everything with the builder, which outlives the model.
  Decoder(Builder& builder, const ModelConfig& config);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  const ModelConfig& config() const { return config_; }
  // The longest sequence this instance has memory for; at most the config's context.
  std::int64_t max_time() const { return builder_.options().max_time; }

  // tokens, targets: batch * time ids each. Returns the mean loss over targets >= 0.
  double loss(const Pass& pass, std::span<const std::int32_t> tokens,
              std::span<const std::int32_t> targets);

  // The same, and adds the gradient of loss * share to the parameters' gradients (overwrites them
  // where pass.accumulate is false). `share` is 1 / number of micro-batches.
  double loss_and_gradient(const Pass& pass, std::span<const std::int32_t> tokens,
                           std::span<const std::int32_t> targets, double share);

  // The same in two halves, for steps that are recorded: load() puts the batch where the work reads
  // it, compute() gives the work to the queue and waits for nothing. `scale` multiplies the gradient
  // of every target's loss. add_loss() sums the losses of the last pass into (1) f64.
  void load(const Pass& pass, std::span<const std::int32_t> tokens,
            std::span<const std::int32_t> targets);
  void compute(const Pass& pass, double scale);
  // A place for Pass::micro_step_at, (1) i32; the caller fills it.
  View micro_step_place() const { return micro_step_; }
  void add_loss(const Pass& pass, View loss_sum, bool accumulate) const;

  // One score per target; a target of -1 has none: {0, false}. Computed in pieces of tokens: the
  // logits of a whole pass never exist at once.
  std::vector<TokenScore> score(const Pass& pass, std::span<const std::int32_t> tokens,
                                std::span<const std::int32_t> targets);

  // Logits (vocab) behind the last token of one sequence; valid until the next call. With
  // pass.cached the tokens follow on the pass.past tokens of earlier calls (models/decoding.h does
  // the counting).
  ConstView next_token_logits(const Pass& pass, std::span<const std::int32_t> tokens);
  // Whether this instance has a cache: the builder's option `decoding`.
  bool has_cache() const { return builder_.options().decoding; }

 private:
  void forward(const Pass& pass);
  void clear_gradients(const Pass& pass);
  ConstView token_view(const Pass& pass) const;
  // Of the last pass, over its targets >= 0.
  double mean_loss(const Pass& pass, std::span<const std::int32_t> targets) const;

  ModelConfig config_;
  Builder& builder_;
  Embedding embedding_;
  View embedded_;  // (tokens, width)
  std::deque<Block> blocks_;
  Norm final_norm_;
  LmHead head_;
  View normed_;      // (tokens, width)
  View gradient_;    // (tokens, width), of the residual stream
  View dnormed_;     // (tokens, width)
  View tokens_;      // (tokens) i32
  View targets_;     // (tokens) i32
  View loss_;        // (tokens), in the wide type
  View loss_sum_;    // (1) f64
  View micro_step_;  // (1) i32
  View best_;        // (tokens) i32, not in training
};

// Fills every parameter: N(0, std) drawn from (seed, kInit, hash of the name, element), ones or
// zeros. A parameter's numbers depend on its name alone, so adding a layer changes no other.
void initialise(std::deque<Parameter>& parameters, std::uint64_t seed);

}  // namespace twill
