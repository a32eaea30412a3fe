// SPDX-License-Identifier: Apache-2.0
// Training data of every kind through load_corpus().
#include "data/token_source.h"

#include <gtest/gtest.h>

#include "data/byte_tokenizer.h"
#include "data/corpus.h"
#include "data/shards/prepare.h"
#include "data/shards/shard_writer.h"
#include "data/test_tokenizer.h"
#include "io/config/toml_config.h"
#include "io/error_text.h"
#include "io/packed/pack.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

constexpr BatchShape kFourTokens{.micro_batch = 1, .sequence = 4};

std::vector<std::int32_t> ids_of(const TokenSequence& tokens) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens.size()));
  tokens.copy(0, tokens.size(), ids.data());
  return ids;
}

std::vector<std::int32_t> counting(std::int32_t begin, std::int32_t end) {
  std::vector<std::int32_t> ids;
  for (std::int32_t id = begin; id < end; ++id) ids.push_back(id);
  return ids;
}

Corpus load(const DataConfig& config, const Tokenizer& tokenizer = ByteTokenizer()) {
  return load_corpus(config, tokenizer, kFourTokens, 2);
}

TEST(TokenSource, PackedTextsAreTheTextsThemselves) {
  const TempDir folder;
  const std::string text = "some text\n<|endoftext|>\nand another one, long enough to be cut\n";
  DataConfig plain, packed;
  plain.train = {folder.write("a.txt", text)};
  packed.train = {folder.write("a.txt.xz", xz_of(text))};
  EXPECT_EQ(ids_of(load(plain).sources[0].tokens), ids_of(load(packed).sources[0].tokens));
  EXPECT_EQ(load(plain).hash, load(packed).hash);
  EXPECT_EQ(load(plain).train_tokens() + load(plain).validation.size(), std::ssize(text))
      << "bytes keep separator lines";
}

TEST(TokenSource, SeparatorLinesFilesAndJsonLinesBecomeDocuments) {
  const TempDir folder;
  const WordTokenizer words;
  DataConfig config;
  config.train = {
      folder.write("a.txt", "one two\n<|endoftext|>\nthree four"),
      folder.write("b.jsonl.zst", zstd_of("{\"text\":\"five\"}\n{\"text\":\"six\"}\n"))};
  config.validation = {folder.write("v", "a b c d e f")};
  std::vector<std::int32_t> want;
  for (const char* document : {"one two\n", "three four\n", "five\n", "six"}) {
    want.push_back(50'256);
    for (const std::int32_t id : words.encode(document)) want.push_back(id);
  }
  EXPECT_EQ(ids_of(load(config, words).sources[0].tokens), want);
}

TEST(TokenSource, LongDocumentsAreCutWithoutATrace) {
  const WordTokenizer words;
  std::string text;
  for (int i = 0; text.size() < 400'000; ++i)
    text += std::string(static_cast<std::size_t>(1 + i % 9), static_cast<char>('a' + i % 26)) + ' ';
  text += std::string(200'000, 'x') + " end";  // a word longer than a segment
  std::vector<std::int32_t> want = words.encode(text);
  want.insert(want.begin(), 50'256);
  for (const int threads : {1, 3})
    EXPECT_TRUE(ids_of(DocumentEncoder(words, threads).encode_text(text)) == want) << threads;
}

TEST(TokenSource, WhatBeginsATextIsNotRepeatedBehindACut) {
  const WordTokenizer words(50'257, /*mark_begin=*/true);
  std::string text;
  while (text.size() < 300'000) text += "some words ";
  std::vector<std::int32_t> want = words.encode(text);
  want.insert(want.begin(), 50'256);
  DocumentEncoder encoder(words, 2);
  EXPECT_TRUE(ids_of(encoder.encode_text(text)) == want);
  const std::vector<std::string_view> twice{text, text};
  const std::vector<std::int32_t> ids = encoder.encode(twice).ids;
  ASSERT_EQ(ids.size(), 2 * want.size()) << "each document begins anew";
  EXPECT_TRUE(std::equal(want.begin(), want.end(), ids.begin() + std::ssize(want)));
}

TEST(TokenSource, AnIndexIsNoText) {
  const TempDir folder;
  DataConfig config;
  config.train = {folder.write("m.idx", std::string(100, 'x'))};
  EXPECT_EQ(error_text([&] { load(config); }),
            "data.train: " + config.train[0] +
                " is the index of a Megatron file; give its .bin "
                "file");
}

TEST(TokenSource, ShardsOfOneGlob) {
  const TempDir folder;
  write_llmc_shard(folder / "t_1.bin", counting(0, 30), 2);
  write_llmc_shard(folder / "t_2.bin", counting(30, 100), 4);
  DataConfig config;
  config.train = {folder / "t_*.bin"};
  const Corpus corpus = load(config);
  EXPECT_EQ(ids_of(corpus.sources[0].tokens), counting(0, 90));
  EXPECT_EQ(ids_of(corpus.validation), counting(90, 100));
  config.train = {folder.path()};
  EXPECT_EQ(load(config).hash, corpus.hash);
  write_llmc_shard(folder / "t_2.bin", counting(31, 101), 4);
  EXPECT_NE(load(config).hash, corpus.hash);
}

TEST(TokenSource, PreparedFolderBringsValidationAndTokenizer) {
  const TempDir folder;
  std::string text;
  for (int i = 0; i < 50; ++i) text += "a document of some length\n<|endoftext|>\n";
  const PrepareOptions options{
      .texts = {folder.write("a", text)}, .out = folder / "out", .validation = 0.2};
  const Manifest manifest = prepare_shards(options, WordTokenizer(), [](const auto&) {}).manifest;
  DataConfig config;
  config.train = {options.out};
  const Corpus corpus = load(config, WordTokenizer());
  EXPECT_EQ(corpus.train_tokens(), total_tokens(manifest.train));
  EXPECT_EQ(corpus.validation.size(), total_tokens(manifest.validation));
  EXPECT_EQ(ids_of(load_validation(config, WordTokenizer(), 4)), ids_of(corpus.validation));
  EXPECT_EQ(data_tokenizer(config), options.out + "/tokenizer");
  EXPECT_EQ(data_tokenizer(DataConfig()), "byte");
  config.tokenizer = "mine";
  EXPECT_EQ(data_tokenizer(config), "mine");
  EXPECT_EQ(error_text([&] { load(config); }),
            "data.train: " + options.out +
                " was made with another tokenizer (words, 50257 tokens) than this run's (byte, 256 "
                "tokens); leave data.tokenizer out to take the folder's own");
}

TEST(TokenSource, Mix) {
  const TempDir folder;
  write_llmc_shard(folder / "s.bin", counting(0, 100), 2);
  DataConfig config;
  read(TomlDocument::parse_text("[[source]]\npath = '" + folder.write("t", std::string(50, 'x')) +
                                    "'\nweight = 3\n[[source]]\npath = '" + (folder / "s.bin") +
                                    "'\n",
                                "a.toml"),
       config);
  const Corpus corpus = load(config);
  ASSERT_EQ(corpus.sources.size(), 2u);
  EXPECT_EQ(corpus.sources[0].weight, 3.0);
  EXPECT_EQ(corpus.sources[0].tokens.size(), 45);
  EXPECT_EQ(corpus.sources[1].tokens.size(), 90);
  EXPECT_EQ(corpus.validation.size(), 15) << "of each source its end";
  EXPECT_EQ(load_validation(config, ByteTokenizer(), 4).size(), 15);
  DataConfig other = config;
  other.source[0].weight = 2;
  EXPECT_NE(load(other).hash, corpus.hash) << "weights decide what is learnt";
  other = config;
  other.train = {"a.txt"};
  EXPECT_EQ(error_text([&] { load(other); }),
            "data.train and data.source are both given; leave one of them out");
  other = config;
  other.source[1].path.clear();
  EXPECT_EQ(error_text([&] { load(other); }), "data.source.1.path is not given");
}

TEST(TokenSourceErrors, IdsBeyondTheVocabulary) {
  const TempDir folder;
  write_llmc_shard(folder / "s.bin", counting(0, 300), 2);
  DataConfig config;
  config.train = {folder / "s.bin"};
  EXPECT_EQ(error_text([&] { load(config); }),
            "data.train: " + (folder / "s.bin") +
                " holds token id 299, but the tokenizer (byte) has 256 tokens; set data.tokenizer "
                "to the one it was made with");
}

TEST(TokenSourceErrors, KindsDoNotMixInOneList) {
  const TempDir folder;
  write_llmc_shard(folder / "s.bin", counting(0, 100), 2);
  DataConfig config;
  config.train = {folder / "s.bin", folder.write("t.txt", "text")};
  EXPECT_EQ(error_text([&] { load(config); }),
            "data.train: " + (folder / "s.bin") + " holds tokens, " + (folder / "t.txt") +
                " is a text; give them as two sources, [[data.source]]");
  const PrepareOptions options{.texts = {"builtin"}, .out = folder / "out"};
  prepare_shards(options, ByteTokenizer(), [](const auto&) {});
  config.train = {options.out, folder / "s.bin"};
  EXPECT_EQ(error_text([&] { load(config); }),
            "data.train: a folder made by `data prepare` stands beside other things; give them as "
            "sources of their own, [[data.source]]");
}

TEST(TokenSourceErrors, AFolderThatIsNotFinished) {
  const TempDir folder;
  folder.write("out/.spool/arguments.json", "{}");
  write_llmc_shard(folder / "out/train_000001.bin", counting(0, 100), 2);
  DataConfig config;
  config.train = {folder / "out"};
  EXPECT_EQ(error_text([&] { load(config); }),
            "data.train: " + (folder / "out") +
                " is not finished; start `data prepare` again with the same arguments");
}

TEST(TokenSourceErrors, DamagedData) {
  const TempDir folder;
  DataConfig config;
  const std::string packed = gzip_of(std::string(1000, 'x'));
  config.train = {folder.write("a.gz", packed.substr(0, packed.size() - 5))};
  EXPECT_EQ(
      error_text([&] { load(config); }),
      "data.train: " + (folder / "a.gz") + ": the gzip data ends too early; the file is cut off");
  const PrepareOptions options{.texts = {"builtin"}, .out = folder / "out"};
  prepare_shards(options, ByteTokenizer(), [](const auto&) {});
  config.train = {options.out};
  write_llmc_shard(options.out + "/train_000001.bin", counting(0, 100), 2);
  EXPECT_TRUE(error_text([&] {
                load(config);
              }).ends_with("but the file has 100; prepare the folder again"));
  std::filesystem::remove_all(options.out);
  prepare_shards(options, ByteTokenizer(), [](const auto&) {});
  const std::string shard = options.out + "/train_000001.bin";
  std::string bytes = content_of(shard);
  bytes[2000] ^= 1;
  folder.write("out/train_000001.bin", bytes);
  EXPECT_TRUE(error_text([&] { load(config); }).starts_with(shard + ": damaged: its hash is "));
  write_llmc_shard(folder / "none.bin", {}, 2);
  config.train = {folder / "none.bin"};
  EXPECT_EQ(error_text([&] { load(config); }),
            "data.train: " + (folder / "none.bin") + " holds no tokens");
}

}  // namespace
}  // namespace twill
