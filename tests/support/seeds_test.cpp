// SPDX-License-Identifier: Apache-2.0
#include "support/seeds.h"

#include <cstdlib>

namespace twill {
namespace {

// Sets TWILL_TEST_SEED for one scope; nullptr removes it.
class SeedVariable {
 public:
  explicit SeedVariable(const char* value) {
    if (const char* old = std::getenv(kName)) old_ = old;
    value == nullptr ? ::unsetenv(kName) : ::setenv(kName, value, 1);
  }
  ~SeedVariable() { old_.empty() ? ::unsetenv(kName) : ::setenv(kName, old_.c_str(), 1); }
  SeedVariable(const SeedVariable&) = delete;
  SeedVariable& operator=(const SeedVariable&) = delete;

 private:
  static constexpr const char* kName = "TWILL_TEST_SEED";
  std::string old_;
};

TEST(Seeds, DependOnTheName) {
  const SeedVariable none(nullptr);
  EXPECT_EQ(seed_of("Suite.Test"), seed_of("Suite.Test"));
  EXPECT_NE(seed_of("Suite.Test"), seed_of("Suite.Other"));
  EXPECT_EQ(test_seed(), seed_of("Seeds.DependOnTheName"));
}

TEST(Seeds, AreReplayedFromTheEnvironment) {
  std::string note;
  std::uint64_t seed = 0;
  {
    const SeedVariable none(nullptr);
    seed = test_seed();
    note = seed_note();
  }
  const std::string prefix = "TWILL_TEST_SEED=";
  ASSERT_EQ(note.substr(0, prefix.size()), prefix);
  const SeedVariable replayed(note.substr(prefix.size()).c_str());
  EXPECT_EQ(seed_of("another test"), seed);
}

TEST(Seeds, StreamsDiffer) {
  Random random(1);
  const Values first = random.normal(16), second = random.normal(16);
  EXPECT_NE(first, second);
  EXPECT_EQ(Random(1).normal(16), first);
  EXPECT_NE(Random(2).normal(16), first);
}

TEST(Seeds, ValuesAreExactInFloat) {
  Random random(3);
  for (const double v : random.normal(1000, 3.0, 100.0)) EXPECT_EQ(v, static_cast<float>(v));
}

TEST(Seeds, IntegersStayInRange) {
  Random random(4);
  int low = 0, high = 0;
  for (const double v : random.integers(1000, -2, 3)) {
    EXPECT_TRUE(v >= -2 && v <= 3 && v == std::round(v)) << v;
    low += v == -2;
    high += v == 3;
  }
  EXPECT_GT(low, 0);
  EXPECT_GT(high, 0);
}

}  // namespace
}  // namespace twill
