// SPDX-License-Identifier: Apache-2.0
// A model that is no decoder: one block that sees every token of a sequence, and a label for each. It
// shows what a family has to bring, and that nothing outside of models/ expects a decoder.
#pragma once

#include <algorithm>
#include <vector>

#include "base/rng.h"
#include "data/open_data.h"
#include "models/block_options.h"
#include "models/decoder_shape.h"
#include "models/families.h"
#include "nn/block.h"
#include "nn/embedding.h"
#include "nn/lm_head.h"
#include "ops/numbers/column_sum.h"
#include "ops/transfer.h"

namespace twill {

inline constexpr std::int64_t kTaggerLabels = 2;

// Reads kTokens, kTargets and kLengths.
class Tagger final : public Model {
 public:
  Tagger(Builder& builder, const ModelConfig& config, std::int64_t labels)
      : Model(builder),
        embedding_(builder, "embedding",
                   {.vocab = config.vocab, .width = config.width, .positions = config.context}),
        block_(builder, "blocks.0", encoder(config), embedded_),
        head_(builder, "head", {.vocab = labels, .width = config.width}, nullptr),
        loss_(builder, builder.max_tokens(), labels) {
    const Shape stream{builder.max_tokens(), config.width};
    builder.activation("stream", embedded_, stream);
    builder.state(tokens_, DType::kI32, {builder.max_tokens()});
    builder.state(lengths_, DType::kI32, {builder.options().max_batch});
    if (builder.options().training) builder.scratch("stream.gradient", gradient_, stream);
  }

  void load(const Pass& pass, const Batch& batch) override {
    copy_in(pass.context, tokens_.slice(0, pass.tokens()), batch.at(kTokens).bytes());
    copy_in(pass.context, lengths_.slice(0, pass.batch), batch.at(kLengths).bytes());
    loss_.load(pass, batch.at(kTargets));
  }
  void forward(const Pass& given) override {
    const Pass pass = padded(given);
    run_block(pass);
    head_.loss(pass, pass.rows(block_.out()), loss_.targets(), loss_.losses());
  }
  void compute(const Pass& given, const LossScale& scale) override {
    const Pass pass = padded(given);
    clear_gradients(pass);
    run_block(pass);
    const View gradient = pass.rows(gradient_);
    head_.loss_and_gradient(pass, pass.rows(block_.out()), loss_.targets(), loss_.scale_of(scale),
                            loss_.losses(), gradient);
    if (const View sum = block_.dout_sum(pass))
      column_sum(pass.context, {.x = gradient, .sum = sum, .accumulate = pass.accumulate});
    block_.backward(pass, gradient, {});
    embedding_.backward(pass, ids(pass), gradient);
  }
  void add_mean_loss(const Pass& pass, ConstView count, View mean, bool accumulate) const override {
    loss_.add_mean(pass, count, mean, accumulate);
  }
  void count_targets(const Pass& pass, View count, bool accumulate) const override {
    loss_.count_into(pass, count, accumulate);
  }
  PassLoss read_loss(const Pass& pass) const override { return loss_.read(pass); }
  std::vector<TargetScore> score(const Pass& given, const Batch& batch) override {
    const Pass pass = padded(given);
    load(pass, batch);
    run_block(pass);
    head_.score(pass, pass.rows(block_.out()), loss_.targets(), loss_.losses(), loss_.best());
    return loss_.scores(pass);
  }

 private:
  static Block::Options encoder(const ModelConfig& config) {
    Block::Options options = block_options(config, 0);
    options.attention.mask = {.kind = AttentionPattern::kFull};
    return options;
  }
  Pass padded(Pass pass) const {
    pass.lengths = lengths_.slice(0, pass.batch);
    return pass;
  }
  ConstView ids(const Pass& pass) const {
    return tokens_.slice(0, pass.tokens()).reshaped({pass.batch, pass.time});
  }
  void run_block(const Pass& pass) const {
    embedding_.forward(pass, ids(pass), pass.rows(embedded_));
    block_.forward(pass);
    loss_.count(pass);
  }

  Embedding embedding_;
  View embedded_;
  Block block_;
  LmHead head_;
  TargetLoss loss_;
  View tokens_, lengths_, gradient_;
};

// Sequences of several lengths. The label of a token is whether the next one is odd, which only a
// model that looks ahead can know; the last token and the padding have none.
class LookAhead final : public Data {
 public:
  LookAhead(std::int64_t time, std::int64_t size, std::uint64_t seed)
      : layout_{{.name = std::string(kTokens), .row = {time}},
                {.name = std::string(kTargets), .row = {time}},
                {.name = std::string(kLengths), .row = {}}},
        time_(time),
        size_(size),
        seed_(seed) {}

  const BatchLayout& layout() const override { return layout_; }
  std::int64_t size() const override { return size_; }
  void fill(std::int64_t position, const Batch& batch) const override {
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      auto* tokens = batch.at(kTokens).as<std::int32_t>() + row * time_;
      auto* targets = batch.at(kTargets).as<std::int32_t>() + row * time_;
      const auto number = static_cast<std::uint32_t>(position + row);
      const std::int64_t length = time_ - static_cast<std::int64_t>(number % 4);
      batch.at(kLengths).as<std::int32_t>()[row] = static_cast<std::int32_t>(length);
      for (std::int64_t t = 0; t < time_; ++t)
        tokens[t] = static_cast<std::int32_t>(
            random_bits(seed_, Purpose::kShuffle, number, static_cast<std::uint64_t>(t))[0] % 16);
      for (std::int64_t t = 0; t < time_; ++t) targets[t] = t + 1 < length ? tokens[t + 1] % 2 : -1;
    }
  }

 private:
  BatchLayout layout_;
  std::int64_t time_, size_;
  std::uint64_t seed_;
};

// The family "tagger" and the data "look-ahead" that it reads: model.family=tagger then trains, resumes
// and is evaluated as any other.
inline void add_tagger() {
  add_data_kind({.name = "look-ahead",
                 .open =
                     [](const DataConfig&, const Tokenizer*, const DataRequest& request) {
                       const std::int64_t time = request.batch.sequence;
                       return TrainingData{.train = std::make_shared<LookAhead>(time, 1000, 1),
                                           .validation = std::make_shared<LookAhead>(time, 10, 2)};
                     },
                 .open_validation =
                     [](const DataConfig&, const Tokenizer*, const DataRequest& request) {
                       const std::int64_t time = request.batch.sequence;
                       return ValidationData{.examples = std::make_shared<LookAhead>(time, 10, 2),
                                             .tokens = 10 * time};
                     }});
  add_family({.name = "tagger",
              .data = "look-ahead",
              .make = [](Builder& builder, const ModelConfig& config) -> std::unique_ptr<Model> {
                return std::make_unique<Tagger>(builder, config, kTaggerLabels);
              },
              .resolve = resolved_decoder,
              // One block, and labels in place of the final norm.
              .num_parameters =
                  [](const ModelConfig& config) {
                    ModelConfig one = config;
                    one.layers = 1;
                    one.tied_head = true;
                    return decoder_parameters(one) + (kTaggerLabels - 2) * config.width;
                  },
              .longest_sequence = [](const ModelConfig& config) { return config.context; }});
}

}  // namespace twill
