// SPDX-License-Identifier: Apache-2.0
#include "base/words.h"

#include <gtest/gtest.h>

#include "base/fields.h"
#include "io/config/toml_config.h"
#include "sparsity/recipe/recipe_words.h"
#include "support/expect_error.h"

namespace twill {
namespace {

// A table is complete when every value has a word of its own that leads back to it.
template <class Enum>
void expect_round_trip(Enum last) {
  ASSERT_EQ(words_of<Enum>().size(), static_cast<std::size_t>(last) + 1);
  for (std::size_t i = 0; i < words_of<Enum>().size(); ++i) {
    const auto value = static_cast<Enum>(i);
    EXPECT_NE(word_of(value), "");
    EXPECT_EQ(find_word<Enum>(word_of(value)), value) << word_of(value);
  }
}

TEST(Words, LeadBackToTheirValues) {
  expect_round_trip(WeightPattern::kUnstructured);
  expect_round_trip(Projection::kTopology);
  expect_round_trip(WeightAxis::kWidth);
  expect_round_trip(SoftScale::kRecomputed);
  expect_round_trip(WgradEstimator::kKept);
  expect_round_trip(ActivationPattern::kVenom);
  expect_round_trip(BlockOrder::kEnergy);
  expect_round_trip(DenseIn::kWgrad);
  expect_round_trip(TransposedPattern::kVenom);
  expect_round_trip(FirstStair::kAtStart);
  expect_round_trip(Distribution::kUniform);
  expect_round_trip(TopologyStart::kMagnitude);
  expect_round_trip(Anneal::kPhase);
  expect_round_trip(DropBy::kSensitivity);
  expect_round_trip(GrowBy::kMixed);
  expect_round_trip(DecayOn::kWeights);
  expect_round_trip(AttentionPattern::kFixed);
  expect_round_trip(NumberFormat::kFp8Reference);
  expect_round_trip(OnUpdate::kApply);
  expect_round_trip(Regrown::kKeep);
  expect_round_trip(SecondMoment::kFrozen);
  expect_round_trip(EarlyEnd::kSecondMomentSettled);
  expect_round_trip(VirtualMask::kTransposable24);
  expect_round_trip(OnAlarm::kDense);
  expect_round_trip(Execution::kMasked);
}

TEST(Words, OthersAreNotKnown) {
  EXPECT_EQ(find_word<Execution>("Auto"), std::nullopt);
  EXPECT_EQ(find_word<Execution>(""), std::nullopt);
}

struct OneWord {
  Execution execution = Execution::kPacked;
  void fields(FieldVisitor& visit) { visit("execution", execution, "how"); }
};

TEST(Words, AreReadAndWrittenAsTexts) {
  OneWord config;
  EXPECT_EQ(write_toml(config), "execution = \"packed\"\n");
  read(TomlDocument::parse_text("execution = \"masked\"", "here"), config);
  EXPECT_EQ(config.execution, Execution::kMasked);
  expect_error([&] { read(TomlDocument::parse_text("execution = \"maskd\"", "here"), config); },
               "auto, fastest, packed or masked");
}

}  // namespace
}  // namespace twill
