// SPDX-License-Identifier: Apache-2.0
#include "eval/likelihood.h"

#include <gtest/gtest.h>

#include "eval/metrics.h"
#include "eval/small_model.h"
#include "eval/text_loss.h"
#include "eval/white_space.h"
#include "support/expect_error.h"

namespace twill {
namespace {

using Ids = std::vector<std::int32_t>;

LikelihoodRequest request_of(const Tokenizer& tokenizer, std::string_view context,
                             std::string_view continuation) {
  const auto encoder = tokenizer.make_encoder();
  return make_request(tokenizer, *encoder, context, continuation);
}

TEST(WhiteSpace, IsWhatPythonSays) {
  EXPECT_EQ(without_trailing_space(" a b \t\n\x1f"), " a b");
  EXPECT_EQ(without_trailing_space("a\xc2\xa0\xe3\x80\x80 "), "a");
  EXPECT_EQ(without_trailing_space("a\xe2\x80\x8b"), "a\xe2\x80\x8b");  // zero width: no space
  EXPECT_EQ(without_trailing_space("a\xa0"), "a\xa0");                  // half a character
  EXPECT_EQ(stripped(" \n x y\xe2\x80\xa8"), "x y");
  EXPECT_EQ(stripped(" \t "), "");
}

TEST(MakeRequest, MovesTrailingSpaceToTheContinuation) {
  const ByteTokenizer bytes;
  const LikelihoodRequest plain = request_of(bytes, "ab", " c");
  EXPECT_EQ(plain.tokens, (Ids{'a', 'b', ' ', 'c'}));
  EXPECT_EQ(plain.scored, 2);
  const LikelihoodRequest moved = request_of(bytes, "ab \n", "c");
  EXPECT_EQ(moved.tokens, (Ids{'a', 'b', ' ', '\n', 'c'}));
  EXPECT_EQ(moved.scored, 3);
}

TEST(MakeRequest, GivesEveryContinuationAContext) {
  EXPECT_EQ(request_of(ByteTokenizer(), "", "c").tokens, (Ids{'\n', 'c'}));
  EXPECT_EQ(request_of(ByteTokenizer(), " ", "c").tokens, (Ids{'\n', ' ', 'c'}));
  EXPECT_EQ(request_of(ByteTokenizer(), " ", "c").scored, 2);
  MarkedBytes marked;
  marked.end = 2;
  EXPECT_EQ(request_of(marked, "", "c").tokens, (Ids{2, 'c'}));
  EXPECT_EQ(request_of(marked, "a", "c").tokens, (Ids{'a', 'c'}));
  marked.begin = 1;
  EXPECT_EQ(request_of(marked, "", "c").tokens, (Ids{1, 'c'}));
  EXPECT_EQ(request_of(marked, "a", "c").tokens, (Ids{1, 'a', 'c'}));
  EXPECT_EQ(request_of(marked, "a", "c").scored, 1);
}

// Requests of very different lengths; the longest lose their beginning.
std::vector<LikelihoodRequest> some_requests() {
  std::vector<LikelihoodRequest> requests;
  const ByteTokenizer bytes;
  for (const auto& [context, continuation] :
       std::vector<std::pair<std::string, std::string>>{{"The cat sat on", " the mat."},
                                                        {"a", "b"},
                                                        {"", " nothing before"},
                                                        {std::string(100, 'x') + "yz", " end"},
                                                        {"full", std::string(64, 'q')},
                                                        {"The cat sat on", " a dog."}})
    requests.push_back(request_of(bytes, context, continuation));
  return requests;
}

TEST(LikelihoodScorer, AgreesWithAskingOneByOne) {
  SmallModel small(4);
  const std::vector<LikelihoodRequest> requests = some_requests();
  const std::vector<Likelihood> got = small.scorer.run(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Likelihood want = small.one_by_one(requests[i]);
    EXPECT_EQ(got[i].tokens, want.tokens) << i;
    EXPECT_EQ(got[i].greedy, want.greedy) << i;
    EXPECT_LT(want.log_likelihood, -1.0) << i;
    EXPECT_NEAR(got[i].log_likelihood, want.log_likelihood, likelihood_tolerance(want.tokens)) << i;
  }
}

// The greedy continuation is found, and one wrong token is enough to lose it.
TEST(LikelihoodScorer, KnowsTheGreedyContinuation) {
  SmallModel small(2);
  LikelihoodRequest greedy{.tokens = {'a', 'b'}, .scored = 3};
  for (int i = 0; i < 3; ++i) {
    const Pass pass{.context = small.context,
                    .time = static_cast<std::int64_t>(greedy.tokens.size())};
    const float* logits = small.model.next_token_logits(pass, greedy.tokens).as<float>();
    greedy.tokens.push_back(
        static_cast<std::int32_t>(std::max_element(logits, logits + 256) - logits));
  }
  LikelihoodRequest other = greedy;
  other.tokens[3] ^= 1;
  const std::vector<Likelihood> got = small.scorer.run(std::vector{greedy, other});
  EXPECT_TRUE(got[0].greedy);
  EXPECT_FALSE(got[1].greedy);
  EXPECT_GT(got[0].log_likelihood, got[1].log_likelihood);
}

TEST(LikelihoodScorer, BatchesChangeNothing) {
  SmallModel one(1), eight(8);
  const std::vector<LikelihoodRequest> requests = some_requests();
  double share = 0.0;
  int calls = 0;
  const std::vector<Likelihood> alone = one.scorer.run(requests, [&](double now) {
    EXPECT_GT(now, share);
    share = now;
    ++calls;
  });
  EXPECT_EQ(share, 1.0);
  EXPECT_EQ(calls, 6);
  const std::vector<Likelihood> together = eight.scorer.run(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_NEAR(alone[i].log_likelihood, together[i].log_likelihood,
                likelihood_tolerance(alone[i].tokens));
    EXPECT_EQ(alone[i].greedy, together[i].greedy);
  }
  EXPECT_TRUE(one.scorer.run({}).empty());
}

TEST(LikelihoodScorer, RefusesABrokenModel) {
  SmallModel small(1);
  small.builder.parameters()[0].value.as<float>()['a' * 8] = std::nanf("");
  expect_error(
      [&] {
        small.scorer.run(std::vector{LikelihoodRequest{{'a', 'b'}, 1}});
      },
      "the model's loss is not a finite number");
}

// Context 4, prefix 9: every token once; the last window reaches back to be full.
TEST(RollingWindows, PredictEveryTokenOnce) {
  const Ids tokens{0, 1, 2, 3, 4, 5, 6, 7, 8};
  const auto windows = rolling_windows(tokens, 99, 4);
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_EQ(windows[0].tokens, (Ids{99, 0, 1, 2, 3}));
  EXPECT_EQ(windows[0].scored, 4);
  EXPECT_EQ(windows[1].tokens, (Ids{3, 4, 5, 6, 7}));
  EXPECT_EQ(windows[1].scored, 4);
  EXPECT_EQ(windows[2].tokens, (Ids{4, 5, 6, 7, 8}));
  EXPECT_EQ(windows[2].scored, 1);
  EXPECT_EQ(rolling_windows(Ids{5}, 99, 4)[0].tokens, (Ids{99, 5}));
  EXPECT_TRUE(rolling_windows(Ids{}, 99, 4).empty());
}

TEST(TextLoss, IsTheMeanOfAllTokens) {
  SmallModel small(3, 16);
  const std::string text = "Forty bytes of text, more or less, it is.";
  double nats = 0.0;
  const Ids ids = ByteTokenizer().encode(text);
  for (const LikelihoodRequest& window : rolling_windows(ids, '\n', 16))
    nats -= small.one_by_one(window).log_likelihood;
  const TextLoss got = text_loss(small.scorer, ByteTokenizer(), text);
  const auto count = static_cast<double>(text.size());
  EXPECT_EQ(got.tokens, static_cast<std::int64_t>(text.size()));
  EXPECT_EQ(got.bytes, got.tokens);
  EXPECT_NEAR(got.loss, nats / count, likelihood_tolerance(1));
  EXPECT_DOUBLE_EQ(got.perplexity, std::exp(got.loss));
  EXPECT_DOUBLE_EQ(got.bits_per_byte, got.loss / std::log(2.0));
  expect_error([&] { text_loss(small.scorer, ByteTokenizer(), ""); }, "the text is empty");
}

TEST(Metrics, HaveStandardErrors) {
  const std::vector<double> answers{1, 0, 0, 1, 1};
  const Metric acc = mean_metric("acc", answers);
  EXPECT_DOUBLE_EQ(acc.value, 0.6);
  EXPECT_DOUBLE_EQ(acc.standard_error, std::sqrt(0.6 * 0.4 / 4.0));
  const std::vector<double> likelihoods{-1.0, -3.0};
  const Metric perplexity = perplexity_metric("perplexity", likelihoods);
  EXPECT_DOUBLE_EQ(perplexity.value, std::exp(2.0));
  EXPECT_DOUBLE_EQ(perplexity.standard_error, std::exp(2.0));  // deviation sqrt(2), over sqrt(2)
  EXPECT_TRUE(std::isnan(mean_metric("one", std::vector{1.0}).standard_error));
}

}  // namespace
}  // namespace twill
