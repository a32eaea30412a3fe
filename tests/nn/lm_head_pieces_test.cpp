// SPDX-License-Identifier: Apache-2.0
// The head is a linear layer in pieces of tokens: the cut changes nothing but the order of sums.
#include "nn/lm_head.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/rng.h"
#include "support/expect_error.h"
#include "tensor/tensor.h"

namespace twill::lm_head_pieces_test {
namespace {

constexpr std::int64_t kVocab = 24, kWidth = 8, kTokens = 56;

// A head on a backend that holds the logits of so many tokens at once.
class CutHead {
 public:
  CutHead(const KernelTable& table, std::int64_t piece, const Builder::Options& asked)
      : table_(with_piece(table, piece)),
        context_(table_, 1),
        builder_(context_, asked),
        head_(builder_, "head", {.vocab = kVocab, .width = kWidth}, nullptr),
        x_(DType::kF32, {kTokens, kWidth}),
        dx_(DType::kF32, {kTokens, kWidth}),
        loss_(DType::kF32, {kTokens}),
        targets_(DType::kI32, {kTokens}) {
    builder_.commit();
    fill(seam().weight->value, 1);
    fill(x_.view(), 2);
    for (std::int64_t i = 0; i < kTokens; ++i)
      targets_.view().as<std::int32_t>()[i] = static_cast<std::int32_t>(7 * i % kVocab);
  }

  LinearSeam& seam() { return builder_.linear_seams().front(); }

  void run(std::uint32_t step = 3) {
    head_.loss_and_gradient({.context = context_,
                             .time = kTokens,
                             .training = true,
                             .seed = 5,
                             .micro_step = step,
                             .as_trained = true},
                            x_.view(), targets_.view(), {.share = 0.5}, loss_.view(), dx_.view());
  }
  std::vector<float> gradient() { return floats(seam().weight->gradient); }
  std::vector<float> dx() { return floats(dx_.view()); }
  std::vector<float> losses() { return floats(loss_.view()); }
  Context& context() { return context_; }

 private:
  static KernelTable with_piece(KernelTable table, std::int64_t piece) {
    table.head_piece_elements = piece * kVocab;
    return table;
  }
  static void fill(View view, std::uint64_t stream) {
    for (std::int64_t i = 0; i < view.num_elements(); ++i)
      view.as<float>()[i] = 2.0f * unit_float(random_bits(stream, Purpose::kTest, 0,
                                                          static_cast<std::uint64_t>(i))[0]) -
                            1.0f;
  }
  static std::vector<float> floats(ConstView view) {
    return {view.as<float>(), view.as<float>() + view.num_elements()};
  }

  KernelTable table_;
  Context context_;
  Builder builder_;
  LmHead head_;
  Tensor x_, dx_, loss_, targets_;
};

Builder::Options training(bool steers_head = true) {
  return {.max_time = kTokens,
          .samples_gradients = steers_head,
          .packs_samples = steers_head,
          .rounds_operands = steers_head,
          .steers_head = steers_head};
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b, float most) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], most) << i;
}

TEST(LmHead, ThePiecesOfAPassMakeTheWhole) {
  for (const KernelTable* table : {&reference_table(), &cpu_table()}) {
    CutHead whole(*table, kTokens, training()), cut(*table, 16, training());
    whole.run();
    cut.run();
    expect_near(whole.losses(), cut.losses(), 1e-5f);
    expect_near(whole.dx(), cut.dx(), 1e-6f);
    expect_near(whole.gradient(), cut.gradient(), 1e-6f);
  }
}

// A draw belongs to a token of the pass: were it to begin anew with every piece, three of four groups would
// keep other entries.
TEST(LmHead, TheCutChangesNoDrawOfASample) {
  for (const KernelTable* table : {&reference_table(), &cpu_table()})
    for (const WgradSample law : {WgradSample::kMvue, WgradSample::kMvueTwoDraw})
      for (const bool packs : {false, true}) {
        CutHead whole(*table, kTokens, training()), cut(*table, 20, training());
        EXPECT_EQ(cut.seam().piece, 16) << "whole sixteens";
        for (CutHead* head : {&whole, &cut}) {
          head->seam().route.wgrad.sample = law;
          head->seam().route.wgrad.packs_sample = packs;
          head->run();
        }
        expect_near(whole.gradient(), cut.gradient(), 1e-6f);
        const std::vector<float> before = cut.gradient();
        cut.run(4);
        EXPECT_NE(cut.gradient(), before) << "another step draws anew";
      }
}

TEST(LmHead, TooLargeForASampleSaysSo) {
  expect_error([] { CutHead(cpu_table(), 15, training()); },
               "a head over 24 ids holds the logits of 15 tokens at once: too few to sample their "
               "gradients, which are drawn in blocks of 16");
  EXPECT_NO_THROW(CutHead(cpu_table(), 15, training(false)));
}

// A weight without its zeros, in both products that read it.
TEST(LmHead, TakesAPackedWeight) {
  for (const KernelTable* table : {&reference_table(), &cpu_table()}) {
    CutHead plain(*table, 48, training()), packed(*table, 48, training());
    for (CutHead* head : {&plain, &packed}) {
      float* w = head->seam().weight->value.as<float>();
      for (std::int64_t i = 0; i < kVocab * kWidth; ++i)
        if (i % 3 != 0) w[i] = 0.0f;
    }
    Tensor storage[2];
    for (const bool transpose : {false, true}) {
      const PackedShape shape{.rows = transpose ? kWidth : kVocab,
                              .cols = transpose ? kVocab : kWidth,
                              .max_kept = kVocab * kWidth};
      storage[transpose] = Tensor(DType::kU8, {packed_bytes(packed.context(), shape)});
      pack_matrix(packed.context(), {.dense = packed.seam().weight->value,
                                     .shape = shape,
                                     .storage = storage[transpose].view(),
                                     .transpose = transpose});
      Route& route = packed.seam().route;
      (transpose ? route.dgrad : route.forward).packed =
          without_zeros({.shape = shape, .storage = storage[transpose].view()});
    }
    plain.run();
    packed.run();
    expect_near(plain.losses(), packed.losses(), 1e-5f);
    expect_near(plain.dx(), packed.dx(), 1e-5f);
    expect_near(plain.gradient(), packed.gradient(), 1e-5f);
  }
}

}  // namespace
}  // namespace twill::lm_head_pieces_test
