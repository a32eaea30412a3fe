// SPDX-License-Identifier: Apache-2.0
#include "models/decoder.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/hash.h"
#include "base/require.h"
#include "base/rng.h"
#include "base/thread_pool.h"
#include "ops/numbers/fill.h"
#include "ops/numbers/sum.h"
#include "ops/transfer.h"

namespace twill {
namespace {

Norm::Options norm_options(const ModelConfig& c) {
  return {.kind = c.norm == "rms" ? NormKind::kRms : NormKind::kLayer,
          .width = c.width,
          .bias = c.bias,
          .eps = c.norm_eps};
}

std::int64_t num_counted(std::span<const std::int32_t> targets) {
  return std::count_if(targets.begin(), targets.end(), [](std::int32_t id) { return id >= 0; });
}

// Each pair of elements has a draw of its own, so any division among threads gives the same numbers.
template <class T>
void fill_normal(ThreadPool& pool, Parameter& parameter, std::uint64_t seed,
                 std::uint32_t name_hash) {
  constexpr std::int64_t kPairs = 32768;  // some 2 ms of one core
  T* values = parameter.value.as<T>();
  const std::int64_t count = parameter.value.num_elements();
  const auto fill_pairs = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t pair = begin; pair < end; ++pair) {
      const Philox4 bits =
          random_bits(seed, Purpose::kInit, name_hash, static_cast<std::uint64_t>(pair));
      for (std::int64_t j = 2 * pair; j < std::min(2 * pair + 2, count); ++j) {
        const auto word = static_cast<std::size_t>(2 * (j - 2 * pair));
        values[j] = static_cast<T>(static_cast<float>(
            parameter.init_std * static_cast<double>(normal_float(bits[word], bits[word + 1]))));
      }
    }
  };
  parallel_for(pool, (count + 1) / 2, kPairs, fill_pairs);
}

template <class T>
void initialise_one(ThreadPool& pool, Parameter& parameter, std::uint64_t seed) {
  if (parameter.init == Init::kNormal) {
    const auto name_hash =
        static_cast<std::uint32_t>(hash_bytes(parameter.name.data(), parameter.name.size()));
    fill_normal<T>(pool, parameter, seed, name_hash);
    return;
  }
  T* values = parameter.value.as<T>();
  std::fill_n(values, parameter.value.num_elements(), parameter.init == Init::kOnes ? T{1} : T{0});
}

}  // namespace

Block::Options block_options(const ModelConfig& c, std::int64_t layer) {
  const double output_std = c.init.std * c.init.residual_scale;
  const auto stream = static_cast<std::uint64_t>(2 * layer);
  return {.norm = norm_options(c),
          .attention = {.width = c.width,
                        .heads = c.heads,
                        .kv_heads = c.kv_heads,
                        .head_dim = c.width / c.heads,
                        .bias = c.bias,
                        .rotary_theta = c.positions == "rotary" ? c.rotary_theta : 0.0,
                        .init_std = c.init.std,
                        .output_init_std = output_std,
                        .dropout = c.dropout,
                        .dropout_stream = stream + 1},
          .ffn = {.width = c.width,
                  .hidden = c.ffn.width,
                  .activation = c.ffn.kind(),
                  .bias = c.bias,
                  .init_std = c.init.std,
                  .output_init_std = output_std,
                  .dropout = c.dropout,
                  .dropout_stream = stream + 2}};
}

Decoder::Decoder(Builder& builder, const ModelConfig& config)
    : config_(config),
      builder_(builder),
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
            config.tied_head ? &embedding_.token_table() : nullptr) {
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
  builder.state(targets_, DType::kI32, {tokens});
  builder.state(loss_, wide_type(builder.options().dtype), {tokens});
  builder.state(loss_sum_, DType::kF64, {1});
  builder.state(micro_step_, DType::kI32, {1});
  if (!builder.options().training) {
    builder.state(best_, DType::kI32, {tokens});
    return;
  }
  builder.scratch("stream.gradient", gradient_, stream);
  builder.scratch("block.dnormed", dnormed_, stream);
}

double Decoder::loss(const Pass& pass, std::span<const std::int32_t> tokens,
                     std::span<const std::int32_t> targets) {
  load(pass, tokens, targets);
  forward(pass);
  const std::int64_t count = pass.tokens();
  head_.loss(pass, pass.rows(normed_), targets_.slice(0, count), loss_.slice(0, count));
  add_loss(pass, loss_sum_, false);
  return mean_loss(pass, targets);
}

double Decoder::loss_and_gradient(const Pass& pass, std::span<const std::int32_t> tokens,
                                  std::span<const std::int32_t> targets, double share) {
  load(pass, tokens, targets);
  const auto counted = static_cast<double>(num_counted(targets));
  compute(pass, counted > 0.0 ? share / counted : 0.0);
  add_loss(pass, loss_sum_, false);
  return mean_loss(pass, targets);
}

void Decoder::compute(const Pass& pass, double scale) {
  clear_gradients(pass);
  forward(pass);
  const std::int64_t count = pass.tokens();
  head_.loss_and_gradient(pass, pass.rows(normed_), targets_.slice(0, count), scale,
                          loss_.slice(0, count), pass.rows(dnormed_));
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

void Decoder::add_loss(const Pass& pass, View loss_sum, bool accumulate) const {
  sum(pass.context,
      {.x = loss_.slice(0, pass.tokens()), .sum = loss_sum, .accumulate = accumulate});
}

std::vector<TokenScore> Decoder::score(const Pass& pass, std::span<const std::int32_t> tokens,
                                       std::span<const std::int32_t> targets) {
  TWILL_CHECK(best_, "scores come from a model built for inference");
  load(pass, tokens, targets);
  forward(pass);
  const std::int64_t count = pass.tokens();
  head_.score(pass, pass.rows(normed_), targets_.slice(0, count), loss_.slice(0, count),
              best_.slice(0, count));
  const HostCopy loss(pass.context, loss_.slice(0, count));
  const HostCopy best(pass.context, best_.slice(0, count));
  std::vector<TokenScore> scores(targets.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (targets[i] < 0) continue;
    scores[i].loss = loss_.dtype() == DType::kF64 ? loss.view().as<double>()[i]
                                                  : static_cast<double>(loss.view().as<float>()[i]);
    scores[i].greedy = best.view().as<std::int32_t>()[i] == targets[i];
  }
  return scores;
}

ConstView Decoder::next_token_logits(const Pass& pass, std::span<const std::int32_t> tokens) {
  TWILL_CHECK(pass.batch == 1 && !tokens.empty(), "one sequence of at least one token");
  TWILL_CHECK(pass.past + pass.time <= max_time(), "the sequence fits the model's memory");
  load(pass, tokens, {});
  forward(pass);
  return head_.logits_of_row(pass, pass.rows(normed_), pass.time - 1);
}

void Decoder::load(const Pass& pass, std::span<const std::int32_t> tokens,
                   std::span<const std::int32_t> targets) {
  TWILL_CHECK(static_cast<std::int64_t>(tokens.size()) == pass.tokens(), "one id per token");
  const auto limit = static_cast<std::int32_t>(config_.vocab);
  for (const std::int32_t id : tokens)
    require(id >= 0 && id < limit, "token id {} is outside the model's vocabulary of {}", id,
            limit);
  for (const std::int32_t id : targets)
    require(id >= -1 && id < limit, "target id {} is outside the model's vocabulary of {}", id,
            limit);
  copy_in(pass.context, tokens_.slice(0, static_cast<std::int64_t>(tokens.size())), tokens.data());
  copy_in(pass.context, targets_.slice(0, static_cast<std::int64_t>(targets.size())),
          targets.data());
}

void Decoder::forward(const Pass& pass) {
  embedding_.forward(pass, token_view(pass), pass.rows(embedded_));
  for (const Block& block : blocks_) block.forward(pass);
  const View last = blocks_.empty() ? embedded_ : blocks_.back().out();
  final_norm_.forward(pass, pass.rows(last), pass.rows(normed_));
}

void Decoder::clear_gradients(const Pass& pass) {
  if (pass.accumulate) return;
  for (const Parameter& parameter : builder_.parameters())
    if (parameter.clear_gradient) fill(pass.context, {.x = parameter.gradient, .value = 0.0});
}

ConstView Decoder::token_view(const Pass& pass) const {
  return tokens_.slice(0, pass.tokens()).reshaped({pass.batch, pass.time});
}

double Decoder::mean_loss(const Pass& pass, std::span<const std::int32_t> targets) const {
  double total = 0.0;
  copy_out(pass.context, &total, loss_sum_);
  const std::int64_t counted = num_counted(targets);
  return counted > 0 ? total / static_cast<double>(counted) : 0.0;
}

void initialise(std::deque<Parameter>& parameters, std::uint64_t seed) {
  ThreadPool pool(default_num_threads());
  for (Parameter& parameter : parameters) {
    if (parameter.value.dtype() == DType::kF64) {
      initialise_one<double>(pool, parameter, seed);
    } else {
      initialise_one<float>(pool, parameter, seed);
    }
  }
}

}  // namespace twill
