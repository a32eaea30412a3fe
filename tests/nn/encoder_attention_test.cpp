// SPDX-License-Identifier: Apache-2.0
// Self-attention of an encoder: every token sees every other, and padding is not there.
#include "nn/self_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "nn/layer_gradient.h"
#include "support/expect_error.h"
#include "support/tables.h"

namespace twill {
namespace {

constexpr std::int64_t kEncoderWidth = 8, kEncoderHeads = 4;

SelfAttention::Options encoder_options(AttentionPattern kind) {
  return {.width = kEncoderWidth,
          .heads = kEncoderHeads,
          .kv_heads = 2,
          .head_dim = 2,
          .mask = {.kind = kind}};
}

class EncoderAttention : public SeededTest {};

TEST_F(EncoderAttention, GradientMatchesFiniteDifferences) {
  LayerBench bench(kEncoderWidth, kEncoderWidth);
  const SelfAttention layer(bench.builder, "attention", encoder_options(AttentionPattern::kFull));
  bench.builder.commit();
  const std::vector<std::int32_t> lengths{3, 2};
  Pass pass = bench.pass();
  pass.lengths = view_of(lengths.data(), {2});
  const Tensor residual(DType::kF64, bench.out.view().shape());
  bench.check([&] { layer.forward(pass, bench.x.view(), residual.view(), bench.out.view()); },
              [&] { bench.backward(layer, pass); });
}

// One layer of type E on `table`, run on sequences of normal numbers.
template <class E>
class Encoder {
 public:
  static constexpr std::int64_t kBatch = 3, kTime = 70;

  Encoder(const KernelTable& table, AttentionPattern kind)
      : context_(table, 2),
        builder_(context_, {.dtype = dtype_of<E>(), .max_batch = kBatch, .max_time = kTime}),
        layer_(builder_, "attention", encoder_options(kind)) {
    builder_.commit();
    Random random;
    for (Parameter& parameter : builder_.parameters())
      fill(parameter.value, random.normal(parameter.value.num_elements(), 0.5));
    builder_.refresh_operands();
  }

  struct Result {
    Values out, dx;
  };
  // x and dout are (batch * time, width); absent lengths: all tokens.
  Result run(std::int64_t batch, std::int64_t time, const Values& x, const Values& dout,
             const std::vector<std::int32_t>& lengths = {}) {
    Pass pass{.context = context_, .batch = batch, .time = time, .training = true};
    if (!lengths.empty()) pass.lengths = view_of(lengths.data(), {batch});
    const Shape shape{batch * time, kEncoderWidth};
    Tensor x_in(dtype_of<E>(), shape), dout_in(dtype_of<E>(), shape),
        residual(dtype_of<E>(), shape);
    Tensor out(dtype_of<E>(), shape), dx(dtype_of<E>(), shape);
    fill(x_in.view(), x);
    fill(dout_in.view(), dout);
    fill(residual.view(), Values(static_cast<std::size_t>(shape.num_elements())));
    layer_.forward(pass, x_in.view(), residual.view(), out.view());
    layer_.backward(pass, x_in.view(), dout_in.view(), dx.view());
    return {read(out.view()), read(dx.view())};
  }

 private:
  static void fill(View view, const Values& values) {
    std::ranges::transform(values, view.as<E>(), [](double v) { return static_cast<E>(v); });
  }
  static Values read(View view) { return Values(view.as<E>(), view.as<E>() + view.num_elements()); }

  Context context_;
  Builder builder_;
  SelfAttention layer_;
};

// Largest difference of each sequence's tokens in the padded batch to the sequence alone.
template <class E>
double farthest_from_alone(const KernelTable& table, AttentionPattern kind) {
  constexpr std::int64_t kBatch = Encoder<E>::kBatch, kTime = Encoder<E>::kTime;
  const std::vector<std::int32_t> lengths{70, 33, 1};
  Encoder<E> encoder(table, kind);
  Random random;
  const Values x = random.normal(kBatch * kTime * kEncoderWidth);
  const Values dout = random.normal(kBatch * kTime * kEncoderWidth);
  const auto batch = encoder.run(kBatch, kTime, x, dout, lengths);
  double farthest = 0.0;
  for (std::int64_t b = 0; b < kBatch; ++b) {
    const std::int64_t length = lengths[static_cast<std::size_t>(b)];
    const auto part = [&](const Values& all) {
      const auto begin = all.begin() + b * kTime * kEncoderWidth;
      return Values(begin, begin + length * kEncoderWidth);
    };
    const auto alone = encoder.run(1, length, part(x), part(dout));
    const Values out = part(batch.out), dx = part(batch.dx);
    for (std::size_t i = 0; i < out.size(); ++i)
      farthest =
          std::max({farthest, std::abs(out[i] - alone.out[i]), std::abs(dx[i] - alone.dx[i])});
  }
  return farthest;
}

TEST_F(EncoderAttention, PaddingChangesNoBitOnTheReference) {
  for (const AttentionPattern kind : {AttentionPattern::kFull, AttentionPattern::kCausal})
    EXPECT_EQ(farthest_from_alone<double>(reference_table(), kind), 0.0);
}

// Products may take other sums for another number of rows: 8 to 16 terms of size 10 at most, three
// products behind each other.
TEST_F(EncoderAttention, PaddingChangesRoundingAloneOnTheCpu) {
  constexpr double kBound = 3 * 16 * 10 * std::numeric_limits<float>::epsilon();
  for (const AttentionPattern kind : {AttentionPattern::kFull, AttentionPattern::kCausal})
    EXPECT_LE(farthest_from_alone<float>(cpu_table(), kind), kBound);
}

TEST_F(EncoderAttention, SeesWhatFollows) {
  Random random;
  const Values x = random.normal(5 * kEncoderWidth), dout(5 * kEncoderWidth);
  Values moved = x;
  moved.back() += 1.0;
  Encoder<double> causal(reference_table(), AttentionPattern::kCausal);
  Encoder<double> full(reference_table(), AttentionPattern::kFull);
  EXPECT_EQ(causal.run(1, 5, x, dout).out[0], causal.run(1, 5, moved, dout).out[0]);
  EXPECT_NE(full.run(1, 5, x, dout).out[0], full.run(1, 5, moved, dout).out[0]);
}

// Who steers refuses it in a sentence (sparsity/engine/engine.cpp).
TEST_F(EncoderAttention, TakesNoCausalPatternOfARecipe) {
  LayerBench bench(kEncoderWidth, kEncoderWidth);
  const SelfAttention layer(bench.builder, "encoder", encoder_options(AttentionPattern::kFull));
  bench.builder.commit();
  bench.builder.attention_seams().front().pattern = AttentionPattern::kLocal;
  Pass pass = bench.pass();
  pass.as_trained = true;
  EXPECT_THROW(layer.forward(pass, bench.x.view(), bench.out.view(), bench.out.view()),
               InternalError);
}

TEST_F(EncoderAttention, KeepsNoCache) {
  const Context context(reference_table(), 1);
  const auto state_bytes = [&](AttentionPattern kind) {
    Builder builder(context, {.training = false, .max_time = 16, .decoding = true});
    const SelfAttention layer(builder, "attention", encoder_options(kind));
    std::int64_t bytes = 0;
    for (const MemoryLine& line : builder.memory_table()) bytes += line.bytes;
    return bytes;
  };
  // Keys and values of 16 tokens, two heads of two f32 numbers.
  EXPECT_EQ(state_bytes(AttentionPattern::kCausal) - state_bytes(AttentionPattern::kFull),
            2 * 16 * 2 * 2 * 4);
}

}  // namespace
}  // namespace twill
