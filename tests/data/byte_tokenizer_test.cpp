// SPDX-License-Identifier: Apache-2.0
#include "data/byte_tokenizer.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace twill {
namespace {

TEST(ByteTokenizer, EveryByteGoesThereAndBack) {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
  const ByteTokenizer tokenizer;
  const std::vector<std::int32_t> ids = tokenizer.encode(text);
  ASSERT_EQ(ids.size(), 256u);
  for (int byte = 0; byte < 256; ++byte) EXPECT_EQ(ids[static_cast<std::size_t>(byte)], byte);
  EXPECT_EQ(tokenizer.decode(ids), text);
  EXPECT_TRUE(tokenizer.encode("").empty());
}

TEST(ByteTokenizer, RefusesIdsOutsideTheVocabulary) {
  for (const std::int32_t id : {-1, 256}) {
    expect_error([&] { ByteTokenizer().decode(std::span(&id, 1)); },
                 "[byte tokenizer] id " + std::to_string(id) + " is outside 0 to 255");
  }
}

TEST(OpenTokenizer, KnowsBytesByName) {
  EXPECT_EQ(open_tokenizer("byte")->name(), "byte");
  EXPECT_EQ(open_tokenizer("byte")->vocab_size(), 256);
  expect_error([] { open_tokenizer("bite"); }, "unknown tokenizer 'bite'");
}

}  // namespace
}  // namespace twill
