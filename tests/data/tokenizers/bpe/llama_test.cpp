// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/tokenizer.h"
#include "data/tokenizers/files/llama2c_file.h"
#include "data/tokenizers/files/tokenizer_json.h"
#include "io/atomic_file.h"
#include "io/json/json_value.h"
#include "support/expect_error.h"

namespace twill {
namespace {

std::string stories(std::string_view name) {
  const char* given = std::getenv("TWILL_DATA");
  const std::string data = given ? given : TWILL_SOURCE_DIR "/../shared/data";
  return data + "/models/stories260K/" + std::string(name);
}

struct Entry {
  float score;
  std::string bytes;
};

std::string llama2c_content(const std::vector<Entry>& entries, std::int32_t longest = 8) {
  std::string content(reinterpret_cast<const char*>(&longest), sizeof longest);
  for (const Entry& entry : entries) {
    const auto length = static_cast<std::int32_t>(entry.bytes.size());
    content.append(reinterpret_cast<const char*>(&entry.score), sizeof entry.score);
    content.append(reinterpret_cast<const char*>(&length), sizeof length);
    content += entry.bytes;
  }
  return content;
}

// The first 259 tokens of every such file, then some of our own.
std::string own_content() {
  std::vector<Entry> entries = {{0, "<unk>"}, {0, "\n<s>\n"}, {0, "\n</s>\n"}};
  for (int byte = 0; byte < 256; ++byte) entries.push_back({0, fmt::format("<0x{:02X}>", byte)});
  // 259 …: joins with the better score first.
  for (const Entry& entry : std::vector<Entry>{{-9, " "},
                                               {-9, "a"},
                                               {-9, "b"},
                                               {-9, "c"},
                                               {-2, "ab"},
                                               {-1, "bc"},
                                               {-3, " a"},
                                               {-4, " abc"}})
    entries.push_back(entry);
  return llama2c_content(entries);
}

TEST(LlamaBpe, JoinsByScoreWithASpaceInFront) {
  const auto tokenizer = llama2c_tokenizer(own_content());
  // "bc" joins before "ab", then " a", then both.
  EXPECT_EQ(tokenizer->encode("abc"), (std::vector<std::int32_t>{266}));
  EXPECT_EQ(tokenizer->encode("ab"), (std::vector<std::int32_t>{259, 263}));
  EXPECT_EQ(tokenizer->encode(""), (std::vector<std::int32_t>{}));
  EXPECT_EQ(tokenizer->encode(" a"), (std::vector<std::int32_t>{259, 265}));
}

TEST(LlamaBpe, FallsBackToBytes) {
  const auto tokenizer = llama2c_tokenizer(own_content());
  EXPECT_EQ(tokenizer->encode("é"), (std::vector<std::int32_t>{259, 3 + 0xC3, 3 + 0xA9}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("é\n b")), "é\n b");
  // An invalid sequence is one U+FFFD.
  EXPECT_EQ(tokenizer->encode("\xE4\xB8"), tokenizer->encode("\uFFFD"));
}

TEST(LlamaBpe, SpecialTokensAndTheirNames) {
  const auto tokenizer = llama2c_tokenizer(own_content());
  EXPECT_EQ(tokenizer->begin_of_text(), 1);
  EXPECT_EQ(tokenizer->end_of_text(), 2);
  EXPECT_EQ(tokenizer->encode("a</s>b"), (std::vector<std::int32_t>{265, 2, 259, 261}));
  EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{1, 265}), "a");
}

TEST(LlamaBpe, ItsFilesReadBackAsItself) {
  const auto tokenizer = llama2c_tokenizer(own_content());
  const auto again = parse_tokenizer_json(tokenizer->files()[0].content);
  for (const char* text : {"abc abc", "a  b   c", " é</s>a", "cab\nab"})
    EXPECT_EQ(again->encode(text), tokenizer->encode(text)) << text;
}

TEST(LlamaBpe, GoldenStory) {
  if (!std::filesystem::exists(stories("tok512.bin")))
    GTEST_SKIP() << "TWILL_DATA has no stories260K";
  const auto tokenizer = open_tokenizer(stories("tok512.bin"));
  const JsonValue golden = parse_json_value(read_file(stories("stories260K.golden.json")));
  std::vector<std::int32_t> ids;
  for (const JsonValue& id : *golden.find("tokens")->array())
    ids.push_back(static_cast<std::int32_t>(*id.integer()));
  const std::string text = tokenizer->decode(ids);
  EXPECT_EQ(text, *golden.find("text")->text());
  EXPECT_EQ(tokenizer->encode(text), std::vector<std::int32_t>(ids.begin() + 1, ids.end()));
}

TEST(Llama2cFile, RefusesWhatIsDamaged) {
  const std::string whole = own_content();
  const auto refused = [](const std::string& content, std::string_view part) {
    expect_error([&] { llama2c_tokenizer(content); }, part);
  };
  refused("", "the file has 0 bytes, too few for a tokenizer");
  refused(whole.substr(0, whole.size() - 1), "the file ends inside token 266");
  refused(whole.substr(0, 9), "the file ends inside token 0, at byte 9");
  refused(whole.substr(0, 4), "the file has 0 tokens, expected at least 4");
  refused(llama2c_content({{0, "x"}}, -1), "the longest token has -1 bytes");
  refused(llama2c_content({{0, "x"}}, 20240328), "this tokenizer.bin is llm.c's");
  refused(llama2c_content({{0, "too long"}}, 2), "token 0 has 8 bytes, expected 0 to 2");
  std::string negative = whole;
  negative[4 + 4 + 3] = '\xFF';
  refused(negative, "token 0 has -");
  refused(llama2c_content({{0, "a"}, {0, "b"}, {0, "c"}, {0, "\xFF"}}),
          "token 3 is not valid UTF-8");
  refused(llama2c_content({{0, "a"}, {0, "b"}, {0, "c"}, {0, "x"}, {0, "x"}}),
          "token 'x' has two ids, 3 and 4");
  refused(llama2c_content({{0, "a"}, {0, "b"}, {0, "c"}, {0, std::string(600, 'x')}}, 600),
          "token 3 has 600 bytes, expected at most 512");
}

}  // namespace
}  // namespace twill
