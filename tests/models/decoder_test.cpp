// SPDX-License-Identifier: Apache-2.0
#include "models/decoder.h"
#include "models/initialise.h"

#include <cmath>
#include <memory>
#include <numeric>

#include <gtest/gtest.h>

#include "models/tiny_models.h"
#include "support/expect_error.h"
#include "support/finite_difference.h"
#include "support/tables.h"

namespace twill {
namespace {

constexpr std::int64_t kBatch = 2, kTime = 5;

// A model with memory, initial weights and one batch of random tokens.
struct Instance {
  Instance(const KernelTable& table, int threads, DType dtype, const ModelConfig& config)
      : context(table, threads),
        builder(context,
                {.dtype = dtype, .training = true, .max_batch = kBatch, .max_time = kTime}),
        model(builder, config) {
    builder.commit();
    initialise(builder.parameters(), 3);
    Random random;
    for (const double id : random.integers(kBatch * kTime, 0, config.vocab - 1))
      tokens.push_back(static_cast<std::int32_t>(id));
    for (const double id : random.integers(kBatch * kTime, -1, config.vocab - 1))
      targets.push_back(static_cast<std::int32_t>(id));
  }

  Pass pass() const {
    return {.context = context, .batch = kBatch, .time = kTime, .training = true, .seed = 5};
  }
  Batch batch() const { return token_batch(pass().batch, tokens, targets); }
  double loss() { return model.loss(pass(), batch()).mean; }
  double gradient() { return model.loss_and_gradient(pass(), batch()).mean; }

  Context context;
  Builder builder;
  Decoder model;
  std::vector<std::int32_t> tokens, targets;
};

template <class T>
Values gradient_of(const Parameter& parameter) {
  const T* data = parameter.gradient.as<T>();
  return {data, data + parameter.gradient.num_elements()};
}

class DecoderTest : public testing::TestWithParam<NamedModel> {
 private:
  testing::ScopedTrace seed_{__FILE__, __LINE__, seed_note()};
};

TEST_P(DecoderTest, EveryGradientIsTheFiniteDifference) {
  Instance instance(reference_table(), 1, DType::kF64, GetParam().config);
  instance.gradient();
  for (Parameter& parameter : instance.builder.parameters()) {
    double* value = parameter.value.as<double>();
    const auto count = static_cast<std::size_t>(parameter.value.num_elements());
    const Values at(value, value + count);
    const auto loss = [&](const Values& values) {
      std::ranges::copy(values, value);
      const double result = instance.loss();
      return Expected{result, std::abs(result)};
    };
    EXPECT_TRUE(expect_gradient(parameter.name.c_str(), loss, at, gradient_of<double>(parameter)));
    std::ranges::copy(at, value);
  }
}

double norm(const Values& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

double distance(const Values& a, const Values& b) {
  Values difference(a.size());
  std::ranges::transform(a, b, difference.begin(), std::minus{});
  return norm(difference);
}

// Two-oracle rule on whole models. The reference in f32 rounds once per number and op; a backend
// that accumulates n terms in f32 rounds n times, which grows an error by sqrt(n) when roundings
// are independent. The longest sum here has 32 terms (the hidden width). The floor of sixteen
// roundings of the gradient's norm serves parameters where the reference was lucky.
TEST_P(DecoderTest, CpuAgreesWithReference) {
  Instance oracle(reference_table(), 1, DType::kF64, GetParam().config);
  Instance naive(reference_table(), 1, DType::kF32, GetParam().config);
  Instance ours(cpu_table(), 2, DType::kF32, GetParam().config);
  const double growth = std::sqrt(32.0);
  const double want = oracle.gradient(), naive_loss = naive.gradient(), got = ours.gradient();
  EXPECT_LE(std::abs(got - want), growth * std::abs(naive_loss - want) + 16.0 * kEpsF32 * want);
  for (std::size_t i = 0; i < oracle.builder.parameters().size(); ++i) {
    const Parameter& parameter = oracle.builder.parameters()[i];
    const Values exact = gradient_of<double>(parameter);
    const Values close = gradient_of<float>(naive.builder.parameters()[i]);
    const Values mine = gradient_of<float>(ours.builder.parameters()[i]);
    ASSERT_GT(norm(exact), 0.0) << parameter.name;
    EXPECT_LE(distance(mine, exact), growth * distance(close, exact) + 16.0 * kEpsF32 * norm(exact))
        << parameter.name;
  }
}

TEST_P(DecoderTest, ThreadsChangeNoBit) {
  Instance one(cpu_table(), 1, DType::kF32, GetParam().config);
  const double loss = one.gradient();
  for (const int threads : {2, 3}) {
    Instance many(cpu_table(), threads, DType::kF32, GetParam().config);
    EXPECT_EQ(many.gradient(), loss);
    for (std::size_t i = 0; i < one.builder.parameters().size(); ++i)
      EXPECT_EQ(gradient_of<float>(many.builder.parameters()[i]),
                gradient_of<float>(one.builder.parameters()[i]));
  }
}

// A model without gradients and with shared buffers says the same.
TEST_P(DecoderTest, InferenceEqualsTraining) {
  Instance training(cpu_table(), 1, DType::kF32, GetParam().config);
  Builder builder(training.context, {.training = false, .max_batch = kBatch, .max_time = kTime});
  Decoder inference(builder, GetParam().config);
  builder.commit();
  initialise(builder.parameters(), 3);
  Pass pass = training.pass();
  pass.training = false;
  EXPECT_EQ(training.model.loss(pass, training.batch()).mean,
            inference.loss(pass, training.batch()).mean);
}

TEST_P(DecoderTest, CountsItsParameters) {
  Context context(reference_table(), 1);
  Builder builder(context, {.training = false});
  const Decoder model(builder, GetParam().config);
  std::int64_t count = 0;
  for (const Parameter& parameter : builder.parameters()) count += parameter.shape.num_elements();
  EXPECT_EQ(count, num_parameters(GetParam().config));
}

INSTANTIATE_TEST_SUITE_P(Models, DecoderTest, testing::ValuesIn(tiny_models()),
                         [](const auto& model) { return model.param.name; });

class Decoding : public SeededTest {};

// What comes later changes nothing before it: the last token's logits are those of the prefix.
TEST_F(Decoding, IsCausal) {
  Instance instance(cpu_table(), 1, DType::kF32, resolved(tiny_gpt(), 11));
  Pass pass = instance.pass();
  pass.training = false;
  pass.batch = 1;
  pass.time = 3;
  const std::span<const std::int32_t> prefix(instance.tokens.data(), 3);
  const ConstView logits = instance.model.next_token_logits(pass, prefix);
  const Values short_logits(logits.as<float>(), logits.as<float>() + 11);

  // The same three tokens in front of two others: their losses must be unchanged.
  std::vector<std::int32_t> targets{1, 2, 3, -1, -1};
  std::vector<std::int32_t> tokens(instance.tokens.begin(), instance.tokens.begin() + 5);
  pass.time = 5;
  const double with_a = instance.model.loss(pass, token_batch(pass.batch, tokens, targets)).mean;
  tokens[3] = (tokens[3] + 1) % 11;
  tokens[4] = (tokens[4] + 2) % 11;
  EXPECT_EQ(with_a, instance.model.loss(pass, token_batch(pass.batch, tokens, targets)).mean);
  tokens[0] = (tokens[0] + 1) % 11;
  EXPECT_NE(with_a, instance.model.loss(pass, token_batch(pass.batch, tokens, targets)).mean);
  EXPECT_GT(norm(short_logits), 0.0);
}

TEST_F(Decoding, RefusesIdsOutsideTheVocabulary) {
  Instance instance(cpu_table(), 1, DType::kF32, resolved(tiny_gpt(), 11));
  instance.tokens[3] = 11;
  expect_error([&] { instance.loss(); }, "token id 11 is outside the model's vocabulary of 11");
  instance.tokens[3] = 0;
  instance.targets[1] = -2;
  expect_error([&] { instance.loss(); }, "target id -2 is outside the model's vocabulary of 11");
}

TEST_F(Decoding, InitialWeightsFollowTheConfig) {
  ModelConfig config = tiny_gpt();
  config.width = 64;
  config.layers = 8;
  config.init.std = 0.02;
  config = resolved(config, 11);
  Context context(reference_table(), 1);
  Builder builder(context, {.training = false});
  const Decoder model(builder, config);
  builder.commit();
  initialise(builder.parameters(), 1);
  for (const Parameter& parameter : builder.parameters()) {
    const float* data = parameter.value.as<float>();
    const Values values(data, data + parameter.value.num_elements());
    const double std = norm(values) / std::sqrt(static_cast<double>(values.size()));
    double want = 0.0;  // biases
    if (parameter.name.ends_with("norm.weight")) want = 1.0;
    if (parameter.shape.rank() == 2)
      want = parameter.name.ends_with("output.weight") ? 0.005 : 0.02;
    // The sample's deviation lies within five of its own standard errors.
    EXPECT_NEAR(std, want, 5.0 * want / std::sqrt(2.0 * static_cast<double>(values.size())))
        << parameter.name;
  }
}

}  // namespace
}  // namespace twill
