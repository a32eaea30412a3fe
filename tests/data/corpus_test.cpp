// SPDX-License-Identifier: Apache-2.0
#include "data/corpus.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "data/builtin_corpus.h"
#include "io/config/toml_config.h"
#include "io/error_text.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

constexpr BatchShape kSmall{.micro_batch = 1, .sequence = 4};

std::string bytes_of(const TokenSequence& tokens) {
  std::string bytes;
  for (std::int64_t i = 0; i < tokens.size(); ++i) bytes += static_cast<char>(tokens[i]);
  return bytes;
}

TEST(LoadCorpus, TheLastPartIsForValidation) {
  const TempDir folder;
  DataConfig config;
  config.train = {folder.write("a", "0123456789abcdefghij")};
  config.validation_fraction = 0.3;
  const Corpus corpus = load_corpus(config, kSmall);
  EXPECT_EQ(bytes_of(corpus.sources[0].tokens), "0123456789abcd");
  EXPECT_EQ(bytes_of(corpus.validation), "efghij");
  EXPECT_EQ(corpus.hash, hash_text(hash_bytes("0123456789abcdefghij", 20)));
}

TEST(LoadCorpus, ValidationFilesLeaveTheTrainingTextWhole) {
  const TempDir folder;
  DataConfig config;
  config.train = {folder.write("a", "training text")};
  config.validation = {folder.write("b", "other text")};
  const Corpus corpus = load_corpus(config, kSmall);
  EXPECT_EQ(bytes_of(corpus.sources[0].tokens), "training text");
  EXPECT_EQ(bytes_of(corpus.validation), "other text");
  config.validation = {folder.write("b", "other texT")};
  EXPECT_NE(load_corpus(config, kSmall).hash, corpus.hash);
}

TEST(LoadCorpus, DoesNotCutInsideACharacter) {
  const TempDir folder;
  std::string text = "0123456";
  for (int i = 0; i < 10; ++i) text += "\xe2\x82\xac";  // the euro sign
  DataConfig config;
  config.train = {folder.write("a", text)};
  for (const double fraction : {0.2, 0.25, 0.3, 0.35, 0.4, 0.5}) {
    config.validation_fraction = fraction;
    const Corpus corpus = load_corpus(config, kSmall);
    EXPECT_EQ(corpus.validation[0], 0xe2) << fraction;
    EXPECT_EQ(bytes_of(corpus.sources[0].tokens) + bytes_of(corpus.validation), text);
  }
}

// Longer than the pieces in which text is encoded, with and without line ends to cut at.
TEST(LoadCorpus, LongTextsKeepEveryByte) {
  const TempDir folder;
  for (const char* word : {"word ", "line\n"}) {
    std::string text;
    while (text.size() < std::size_t{10} << 20) text += word;
    DataConfig config;
    config.train = {folder.write("a", text)};
    const Corpus corpus = load_corpus(config, kSmall);
    EXPECT_TRUE(bytes_of(corpus.sources[0].tokens) + bytes_of(corpus.validation) == text);
  }
}

TEST(LoadCorpus, BuiltinByDefault) {
  const Corpus corpus = load_corpus(DataConfig{}, {.micro_batch = 8, .sequence = 64});
  EXPECT_EQ(corpus.train_tokens() + corpus.validation.size(), std::ssize(builtin_corpus()));
}

TEST(LoadCorpusErrors, TooShort) {
  const TempDir folder;
  DataConfig config;
  config.train = {folder.write("a", std::string(37, 'x'))};
  config.validation = {folder.write("b", "abcd")};
  const auto message = [&](BatchShape batch) {
    return error_text([&] { load_corpus(config, batch); });
  };
  EXPECT_EQ(message({.micro_batch = 8, .sequence = 64}),
            "data.train: 37 tokens are too few: one batch needs at least 513 (train.micro_batch 8 "
            "× sequence 64 + 1); give more text or lower model.context");
  EXPECT_EQ(message(kSmall),
            "data.validation: 4 validation tokens are too few: one window needs at least 5 "
            "(sequence 4 + 1); give more text or lower model.context");
  config.validation.clear();
  EXPECT_EQ(message({.micro_batch = 8, .sequence = 4}),
            "data.validation_fraction: 4 validation tokens are too few: one window needs at least "
            "5 (sequence 4 + 1); give more text or lower model.context");
}

TEST(LoadCorpusErrors, AnotherTextThanTheRunsOwn) {
  const TempDir folder;
  DataConfig config;
  config.train = {folder.write("a", std::string(100, 'x'))};
  config.hash = load_corpus(config, kSmall).hash;
  load_corpus(config, kSmall);
  folder.write("a", std::string(99, 'x') + "y");
  const std::string message = error_text([&] { load_corpus(config, kSmall); });
  EXPECT_TRUE(message.starts_with(
      "data.hash: the text is not the one this run was started with: expected " + config.hash))
      << message;
}

TEST(LoadCorpusErrors, NameTheKey) {
  const TempDir folder;
  DataConfig config;
  config.validation = {folder / "none"};
  EXPECT_EQ(error_text([&] { load_corpus(config, kSmall); }),
            "data.validation: no such file or folder: " + (folder / "none") +
                "; give a text file, a folder or a glob");
}

TEST(DataConfig, OneTextNeedsNoArray) {
  DataConfig config;
  read(TomlDocument::parse_text("train = 'a.txt'\nvalidation = ['b', 'c']", "a.toml"), config);
  EXPECT_EQ(config.train, std::vector<std::string>{"a.txt"});
  EXPECT_EQ(config.validation, (std::vector<std::string>{"b", "c"}));
}

}  // namespace
}  // namespace twill
