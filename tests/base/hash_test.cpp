// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace twill {
namespace {

std::uint64_t hash_of(const std::string& text) { return hash_bytes(text.data(), text.size()); }

// XXH3 of the empty string with seed 0, from the specification's test vectors.
TEST(Hash, KnowsTheEmptyString) { EXPECT_EQ(hash_text(hash_of("")), "2d06800538d394c2"); }

TEST(Hash, ChangesWithEveryByte) {
  const std::string text(300, 'a');
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = 'b';
    EXPECT_NE(hash_of(changed), hash_of(text)) << i;
  }
  EXPECT_NE(hash_of(text + 'a'), hash_of(text));
}

TEST(Hasher, PiecesHashLikeTheWhole) {
  const std::string text(1000, 'x');
  for (const std::size_t piece : {1u, 7u, 256u, 1000u}) {
    Hasher hasher;
    for (std::size_t at = 0; at < text.size(); at += piece)
      hasher.add(text.data() + at, std::min(piece, text.size() - at));
    EXPECT_EQ(hasher.value(), hash_of(text)) << piece;
  }
}

TEST(Hasher, AddingNothingChangesNothing) {
  Hasher hasher;
  hasher.add(nullptr, 0);
  EXPECT_EQ(hasher.value(), hash_of(""));
}

TEST(Hasher, MovesWithItsState) {
  Hasher hasher;
  hasher.add("ab", 2);
  Hasher moved = std::move(hasher);
  moved.add("c", 1);
  EXPECT_EQ(moved.value(), hash_of("abc"));
}

TEST(HashText, HasSixteenDigits) {
  EXPECT_EQ(hash_text(0), "0000000000000000");
  EXPECT_EQ(hash_text(0xABCDu), "000000000000abcd");
}

}  // namespace
}  // namespace twill
