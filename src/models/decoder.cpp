// SPDX-License-Identifier: Apache-2.0
#include "models/decoder.h"

#include <string>

#include "base/check.h"
#include "base/require.h"
#include "models/block_options.h"
#include "ops/transfer.h"

namespace twill {

Decoder::Decoder(Builder& builder, const ModelConfig& config)
    : LanguageModel(builder),
      config_(config),
      embedding_(builder, "embedding",
                 {.vocab = config.vocab,
                  .width = config.width,
                  .positions = config.positions == "learned" ? config.context : 0,
                  .init_std = config.init.std,
                  .dropout = config.dropout,
                  .dropout_stream = 0}),
      final_norm_(builder, "final_norm", norm_options(config)),
      head_(builder, "head",
            {.vocab = config.vocab, .width = config.width, .init_std = config.init.std},
            config.tied_head ? &embedding_.token_table() : nullptr),
      loss_(builder, builder.max_tokens(), config.vocab) {
  const std::int64_t tokens = builder.max_tokens();
  const Shape stream{tokens, config.width};
  builder.activation("stream", embedded_, stream);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const View& input = blocks_.empty() ? embedded_ : blocks_.back().out();
    blocks_.emplace_back(builder, "blocks." + std::to_string(layer), block_options(config, layer),
                         input);
  }
  builder.activation("final.normed", normed_, stream);
  builder.state(tokens_, DType::kI32, {tokens});
  if (!builder.options().training) return;
  builder.scratch("stream.gradient", gradient_, stream);
  builder.scratch("block.dnormed", dnormed_, stream);
}

void Decoder::load(const Pass& pass, const Batch& batch) {
  load_tokens(pass, batch.at(kTokens));
  if (batch.has(kTargets)) loss_.load(pass, batch.at(kTargets));
}

void Decoder::load_tokens(const Pass& pass, ConstView tokens) {
  TWILL_CHECK(tokens.num_elements() == pass.tokens(), "one id per token");
  const auto* ids = tokens.as<std::int32_t>();
  const auto limit = static_cast<std::int32_t>(config_.vocab);
  for (std::int64_t i = 0; i < pass.tokens(); ++i)
    require(ids[i] >= 0 && ids[i] < limit, "token id {} is outside the model's vocabulary of {}",
            ids[i], limit);
  copy_in(pass.context, tokens_.slice(0, pass.tokens()), ids);
}

void Decoder::forward(const Pass& pass) {
  run_layers(pass);
  loss_.count(pass);
  head_.loss(pass, pass.rows(normed_), loss_.targets(), loss_.losses());
}

void Decoder::compute(const Pass& pass, const LossScale& scale) {
  clear_gradients(pass);
  run_layers(pass);
  loss_.count(pass);
  head_.loss_and_gradient(pass, pass.rows(normed_), loss_.targets(), loss_.scale_of(scale),
                          loss_.losses(), pass.rows(dnormed_));
  const View gradient = pass.rows(gradient_);
  const View last = blocks_.empty() ? embedded_ : blocks_.back().out();
  // The gradient of a block's output also holds that of its last bias: summed where it is made.
  const auto sum_behind = [&](std::size_t layers) {
    return layers == 0 ? View() : blocks_[layers - 1].dout_sum(pass);
  };
  final_norm_.backward(pass, pass.rows(last), pass.rows(dnormed_),
                       {.dx = gradient, .adds_to_dx = false, .dx_sum = sum_behind(blocks_.size())});
  for (std::size_t i = blocks_.size(); i-- > 0;) blocks_[i].backward(pass, gradient, sum_behind(i));
  embedding_.backward(pass, token_view(pass), gradient);
}

void Decoder::add_mean_loss(const Pass& pass, ConstView count, View mean, bool accumulate) const {
  loss_.add_mean(pass, count, mean, accumulate);
}

void Decoder::count_targets(const Pass& pass, View count, bool accumulate) const {
  loss_.count_into(pass, count, accumulate);
}

PassLoss Decoder::read_loss(const Pass& pass) const { return loss_.read(pass); }

std::vector<TargetScore> Decoder::score(const Pass& pass, const Batch& batch) {
  load(pass, batch);
  run_layers(pass);
  head_.score(pass, pass.rows(normed_), loss_.targets(), loss_.losses(), loss_.best());
  return loss_.scores(pass);
}

ConstView Decoder::next_token_logits(const Pass& pass, std::span<const std::int32_t> tokens) {
  TWILL_CHECK(pass.batch == 1 && !tokens.empty(), "one sequence of at least one token");
  TWILL_CHECK(pass.past + pass.time <= max_time(), "the sequence fits the model's memory");
  load(pass, token_batch(1, tokens));
  run_layers(pass);
  return head_.logits_of_row(pass, pass.rows(normed_), pass.time - 1);
}

void Decoder::run_layers(const Pass& pass) const {
  embedding_.forward(pass, token_view(pass), pass.rows(embedded_));
  for (const Block& block : blocks_) block.forward(pass);
  const View last = blocks_.empty() ? embedded_ : blocks_.back().out();
  final_norm_.forward(pass, pass.rows(last), pass.rows(normed_));
}

ConstView Decoder::token_view(const Pass& pass) const {
  return tokens_.slice(0, pass.tokens()).reshaped({pass.batch, pass.time});
}

}  // namespace twill
