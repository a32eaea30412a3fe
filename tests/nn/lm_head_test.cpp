// SPDX-License-Identifier: Apache-2.0
// The head against its definition, in f64 on the reference: losses, gradients, scores, logits, with
// a matrix of its own and with the token table's, in pieces of every size.
#include "nn/lm_head.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <gtest/gtest.h>

#include "nn/layer_gradient.h"
#include "support/tables.h"

namespace twill::lm_head_test {
namespace {

constexpr std::int64_t kVocab = 7, kWidth = 5, kTokens = LayerBench::kBatch * LayerBench::kTime;
constexpr double kScale = 0.7;
constexpr ErrorModel kProduct{.terms = 2 * kWidth, .eps_acc = kEpsF64, .eps_out = kEpsF64};
// exp and log round, the sum has one term per id, and the logits in front have their own error.
constexpr ErrorModel kLoss{
    .terms = 2 * (kWidth + kVocab + 4), .eps_acc = kEpsF64, .eps_out = kEpsF64};
constexpr std::int64_t kPieces[] = {1, 2, 4, kTokens};

// The only place that knows how a head is made.
LmHead make_head(Builder& builder, Parameter* tied) {
  return LmHead(builder, "head", {.vocab = kVocab, .width = kWidth}, tied);
}

KernelTable table_with_pieces(std::int64_t tokens) {
  KernelTable table = reference_table();
  table.head_piece_elements = tokens * kVocab;
  return table;
}

// A head, its input and its targets. The last target but one is ignored.
class HeadBench {
 public:
  explicit HeadBench(std::int64_t piece = kTokens, bool tied = false)
      : table_(table_with_pieces(piece)),
        bench(kWidth, kWidth, {.table = &table_}),
        tied_(tied ? &bench.builder.parameter("tokens.weight", {kVocab, kWidth}, Init::kNormal)
                   : nullptr),
        head(make_head(bench.builder, tied_)),
        targets(DType::kI32, {kTokens}),
        best(DType::kI32, {kTokens}),
        loss(DType::kF64, {kTokens}) {
    bench.builder.commit();
    assign(bench.x.view(), bench.random.normal(kTokens * kWidth));
    assign(weight().value, bench.random.normal(kVocab * kWidth));
    const Values ids = bench.random.integers(kTokens, 0, kVocab - 1);
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids_of(targets)[i] = static_cast<std::int32_t>(ids[i]);
    ids_of(targets)[kIgnored] = -1;
  }

  static constexpr std::size_t kIgnored = kTokens - 2;

  static std::int32_t* ids_of(Tensor& tensor) { return tensor.view().as<std::int32_t>(); }
  Parameter& weight() { return bench.builder.parameters().front(); }

  void run(bool accumulate = false) {
    Pass pass = bench.pass();
    pass.accumulate = accumulate;
    head.loss_and_gradient(pass, bench.x.view(), targets.view(), {.share = kScale}, loss.view(),
                           bench.dx.view());
  }
  Values losses() const { return values_of(loss.view()); }
  Values gradient() { return values_of(weight().gradient); }

  // Logits of one row, by the definition.
  std::vector<Expected> logits(std::size_t row) {
    const Values x = values_of(bench.x.view()), w = values_of(weight().value);
    std::vector<Expected> logits;
    for (std::size_t id = 0; id < kVocab; ++id) {
      Expected sum{0.0, 0.0};
      for (std::size_t i = 0; i < kWidth; ++i) {
        const double term = x[row * kWidth + i] * w[id * kWidth + i];
        sum.value += term;
        sum.scale += std::abs(term);
      }
      logits.push_back(sum);
    }
    return logits;
  }
  std::vector<Expected> expected_losses() {
    std::vector<Expected> losses;
    for (std::size_t row = 0; row < kTokens; ++row) {
      const std::int32_t target = ids_of(targets)[row];
      if (target < 0) {
        losses.push_back({0.0, 0.0});
        continue;
      }
      double sum = 0.0, scale = 1.0;  // the error of a logit reaches the loss as it is
      const std::vector<Expected> row_logits = logits(row);
      for (const Expected& logit : row_logits) {
        sum += std::exp(logit.value);
        scale = std::max(scale, logit.scale);
      }
      losses.push_back(
          {std::log(sum) - row_logits[static_cast<std::size_t>(target)].value, 2.0 * scale});
    }
    return losses;
  }

 private:
  KernelTable table_;

 public:
  LayerBench bench;

 private:
  Parameter* tied_;

 public:
  LmHead head;
  Tensor targets, best, loss;
};

class LmHeadLayer : public SeededTest {};

TEST_F(LmHeadLayer, LossIsTheDefinition) {
  for (const bool tied : {false, true})
    for (const std::int64_t piece : kPieces) {
      HeadBench of(piece, tied);
      of.head.loss(of.bench.pass(), of.bench.x.view(), of.targets.view(), of.loss.view());
      EXPECT_TRUE(expect_close("loss", of.losses(), of.expected_losses(), kLoss))
          << "pieces of " << piece;
      EXPECT_EQ(of.losses()[HeadBench::kIgnored], 0.0);
    }
}

TEST_F(LmHeadLayer, GradientsAreThoseOfTheScaledLoss) {
  for (const bool tied : {false, true})
    for (const std::int64_t piece : kPieces) {
      HeadBench of(piece, tied);
      of.run();
      EXPECT_TRUE(expect_close("loss", of.losses(), of.expected_losses(), kLoss));
      const auto loss_at = [&](View place) {
        return [&of, place](const Values& values) {
          const Values kept = values_of(place);
          assign(place, values);
          of.head.loss(of.bench.pass(), of.bench.x.view(), of.targets.view(), of.loss.view());
          assign(place, kept);
          return weighted_sum(of.losses(), Values(kTokens, kScale));
        };
      };
      const View x = of.bench.x.view(), weight = of.weight().value;
      EXPECT_TRUE(expect_gradient("x", loss_at(x), values_of(x), values_of(of.bench.dx.view())));
      EXPECT_TRUE(expect_gradient("weight", loss_at(weight), values_of(weight), of.gradient()));
    }
}

TEST_F(LmHeadLayer, PiecesChangeNoLossAndNoGradient) {
  HeadBench whole;
  whole.run();
  std::vector<Expected> gradient;  // |dlogits| is at most the scale
  const double scale =
      weighted_sum(values_of(whole.bench.x.view()), Values(kTokens * kWidth, 1.0)).scale * kScale;
  for (const double value : whole.gradient()) gradient.push_back({value, scale});
  for (const std::int64_t piece : kPieces) {
    HeadBench of(piece);
    of.run();
    EXPECT_TRUE(expect_same_bits("loss", of.losses(), whole.losses()));
    EXPECT_TRUE(
        expect_same_bits("dx", values_of(of.bench.dx.view()), values_of(whole.bench.dx.view())));
    // Only the order of a sum over tokens differs.
    EXPECT_TRUE(expect_close("weight", of.gradient(), gradient,
                             {.terms = 2 * kTokens, .eps_acc = kEpsF64, .eps_out = kEpsF64}))
        << "pieces of " << piece;
  }
}

TEST_F(LmHeadLayer, EqualPiecesOfABackendWithTilesLoseNoToken) {
  for (const std::int64_t tile : {2, 4, 5}) {
    KernelTable table = table_with_pieces(4);
    table.head_row_tile = tile;
    LayerBench bench(kWidth, kWidth, {.table = &table});
    const LmHead head = make_head(bench.builder, nullptr);
    bench.builder.commit();
    assign(bench.builder.parameters().front().value, Values(kVocab * kWidth, 0.0));
    assign(bench.x.view(), bench.random.normal(kTokens * kWidth));
    const Tensor targets(DType::kI32, {kTokens});
    Tensor loss(DType::kF64, {kTokens});
    head.loss(bench.pass(), bench.x.view(), targets.view(), loss.view());
    // Equal logits: every id has the probability 1 / kVocab.
    EXPECT_TRUE(expect_close("loss", values_of(loss.view()),
                             {kTokens, Expected{std::log(kVocab), 1.0}}, kLoss))
        << "tiles of " << tile;
  }
}

TEST_F(LmHeadLayer, AnIgnoredTokenHasNoGradient) {
  for (const std::int64_t piece : kPieces) {
    HeadBench of(piece);
    of.run();
    const Values dx = values_of(of.bench.dx.view()), gradient = of.gradient();
    const auto row = [](Values& values) {
      return std::span(values).subspan(HeadBench::kIgnored * kWidth, kWidth);
    };
    Values ignored = dx;
    for (const double value : row(ignored)) EXPECT_EQ(value, 0.0);
    Values x = values_of(of.bench.x.view());
    for (double& value : row(x)) value += 1.0;
    assign(of.bench.x.view(), x);
    of.run();
    EXPECT_TRUE(expect_same_bits("weight", of.gradient(), gradient));
    EXPECT_TRUE(expect_same_bits("dx", values_of(of.bench.dx.view()), dx));
  }
}

TEST_F(LmHeadLayer, TheFirstMicroBatchOverwritesAndOthersAdd) {
  for (const bool tied : {false, true})
    for (const std::int64_t piece : kPieces) {
      HeadBench of(piece, tied);
      EXPECT_FALSE(of.weight().clear_gradient);
      assign(of.weight().gradient, of.bench.random.normal(kVocab * kWidth));
      of.run();
      const Values once = of.gradient();
      assign(of.weight().gradient, Values(kVocab * kWidth, 0.0));
      of.run();
      EXPECT_TRUE(expect_same_bits("overwritten", of.gradient(), once));
      of.run(/*accumulate=*/true);
      std::vector<Expected> twice;
      for (const double value : once) twice.push_back({2.0 * value, 10.0});
      EXPECT_TRUE(expect_close("added", of.gradient(), twice,
                               {.terms = 2 * kTokens, .eps_acc = kEpsF64, .eps_out = kEpsF64}));
    }
}

TEST_F(LmHeadLayer, ScoreHasTheLossAndTheLikeliestId) {
  for (const std::int64_t piece : kPieces) {
    HeadBench of(piece);
    of.head.loss(of.bench.pass(), of.bench.x.view(), of.targets.view(), of.loss.view());
    const Values losses = of.losses();
    of.head.score(of.bench.pass(), of.bench.x.view(), of.targets.view(), of.loss.view(),
                  of.best.view());
    EXPECT_TRUE(expect_same_bits("loss", of.losses(), losses));
    for (std::size_t row = 0; row < kTokens; ++row) {
      const std::vector<Expected> logits = of.logits(row);
      const auto likeliest = std::ranges::max_element(logits, {}, &Expected::value);
      const auto want = row == HeadBench::kIgnored ? -1 : likeliest - logits.begin();
      EXPECT_EQ(HeadBench::ids_of(of.best)[row], want) << "token " << row;
    }
  }
}

TEST_F(LmHeadLayer, LogitsOfARow) {
  for (const std::int64_t piece : kPieces) {
    HeadBench of(piece);
    for (std::int64_t row = 0; row < kTokens; ++row) {
      const ConstView logits = of.head.logits_of_row(of.bench.pass(), of.bench.x.view(), row);
      EXPECT_EQ(logits.shape(), (Shape{1, kVocab}));
      EXPECT_TRUE(expect_close("logits", values_of(logits),
                               of.logits(static_cast<std::size_t>(row)), kProduct));
    }
  }
}

TEST_F(LmHeadLayer, AShorterPassTouchesItsTokensAlone) {
  HeadBench of(/*piece=*/2);
  of.run();
  const Values whole = of.losses();
  assign(of.loss.view(), Values(kTokens, -3.0));
  Pass pass = of.bench.pass();
  pass.batch = 1;
  of.head.loss(pass, of.bench.x.view(), of.targets.view(), of.loss.view());
  for (std::size_t row = 0; row < kTokens; ++row)
    EXPECT_EQ(of.losses()[row], row < LayerBench::kTime ? whole[row] : -3.0);
}

TEST_F(LmHeadLayer, ATiedHeadHasNoMatrixOfItsOwn) {
  HeadBench tied(kTokens, /*tied=*/true), untied;
  ASSERT_EQ(tied.bench.builder.parameters().size(), 1u);
  EXPECT_EQ(tied.weight().name, "tokens.weight");
  ASSERT_EQ(untied.bench.builder.parameters().size(), 1u);
  EXPECT_EQ(untied.weight().name, "head.weight");
  EXPECT_EQ(untied.weight().shape, (Shape{kVocab, kWidth}));
}

}  // namespace
}  // namespace twill::lm_head_test
