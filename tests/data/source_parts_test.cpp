// SPDX-License-Identifier: Apache-2.0
// Folders of nanoGPT, llm.c and others, whose files say by name what they are for.
#include "data/source_parts.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "data/byte_tokenizer.h"
#include "data/corpus.h"
#include "data/shards/shard_writer.h"
#include "data/test_tokenizer.h"
#include "io/error_text.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

constexpr BatchShape kFourTokens{.micro_batch = 1, .sequence = 4};

std::vector<std::int32_t> all_ids(const TokenSequence& tokens) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens.size()));
  tokens.copy(0, tokens.size(), ids.data());
  return ids;
}

std::vector<std::int32_t> from_to(std::int32_t begin, std::int32_t end) {
  std::vector<std::int32_t> ids;
  for (std::int32_t id = begin; id < end; ++id) ids.push_back(id);
  return ids;
}

// nanoGPT: uint16 and nothing else.
std::string uint16_bytes(const std::vector<std::int32_t>& ids) {
  std::string bytes;
  for (const std::int32_t id : ids) {
    bytes += static_cast<char>(id & 0xff);
    bytes += static_cast<char>(id >> 8);
  }
  return bytes;
}

Corpus load_named(const DataConfig& config) {
  return load_corpus(config, WordTokenizer(), kFourTokens, 2);
}

DataConfig trained_on(std::vector<std::string> paths) {
  DataConfig config;
  config.train = std::move(paths);
  return config;
}

TEST(PartNamed, TheLastWordThatSaysSomethingDecides) {
  for (const char* name :
       {"train.bin", "fineweb_train_000001.bin", "wiki.train.tokens", "TinyStories-train.txt",
        "train01.jsonl", "Training.txt", "sub/train.bin", "train/a.txt", "val_train.bin"})
    EXPECT_EQ(part_named(name), DataPart::kTrain) << name;
  for (const char* name :
       {"val.bin", "fineweb_val_000000.bin", "wiki.valid.tokens", "validation-00001.parquet",
        "VAL.bin", "validation/a.txt", "train/val.bin", "train_val.bin"})
    EXPECT_EQ(part_named(name), DataPart::kValidation) << name;
  EXPECT_EQ(part_named("wiki.test.tokens"), DataPart::kTest);
  for (const char* name :
       {"input.txt", "trains.txt", "value.txt", "interval.bin", "my-train-set/a", "retrain.bin"})
    EXPECT_EQ(part_named(name), DataPart::kUnnamed) << name;
}

TEST(NamedParts, ANanoGptFolderTrainsOnTrainBinAlone) {
  const TempDir folder;
  folder.write("train.bin", uint16_bytes(from_to(0, 60)));
  folder.write("val.bin", uint16_bytes(from_to(100, 130)));
  folder.write("input.txt", "the text itself");
  folder.write("prepare.py", "print()");
  const Corpus corpus = load_named(trained_on({folder.path()}));
  EXPECT_EQ(all_ids(corpus.sources[0].tokens), from_to(0, 60)) << "val.bin is never trained on";
  EXPECT_EQ(all_ids(corpus.validation), from_to(100, 130));
  EXPECT_EQ(corpus.validated_by, folder / "val.bin");
  ASSERT_EQ(corpus.notes.size(), 1U);
  EXPECT_EQ(corpus.notes[0], (folder / "input.txt") + " and " + (folder / "prepare.py") +
                                 " are not used: the names of others say what they are for");
  EXPECT_EQ(all_ids(load_validation(trained_on({folder.path()}), WordTokenizer(), 4)),
            from_to(100, 130));
}

TEST(NamedParts, LlmcNamesInFoldersAndGlobs) {
  const TempDir folder;
  write_llmc_shard(folder / "fineweb_train_000001.bin", from_to(0, 30), 2);
  write_llmc_shard(folder / "fineweb_train_000002.bin", from_to(30, 50), 2);
  write_llmc_shard(folder / "fineweb_val_000000.bin", from_to(70, 170), 2);
  for (const std::string& path : {folder.path(), folder.path() + "/", folder / "*.bin"}) {
    const Corpus corpus = load_named(trained_on({path}));
    EXPECT_EQ(all_ids(corpus.sources[0].tokens), from_to(0, 50)) << path;
    EXPECT_EQ(all_ids(corpus.validation), from_to(70, 170)) << path;
  }
  // What is asked for by name is given.
  const Corpus asked = load_named(trained_on({folder / "*_val_*.bin"}));
  EXPECT_EQ(all_ids(asked.sources[0].tokens), from_to(70, 160)) << "the last tenth is set apart";
}

TEST(NamedParts, DataValidationOverridesAndStillNothingOfAValFileIsLearnt) {
  const TempDir folder, other;
  folder.write("train.bin", uint16_bytes(from_to(0, 60)));
  folder.write("val.bin", uint16_bytes(from_to(100, 130)));
  other.write("held.bin", uint16_bytes(from_to(200, 220)));
  DataConfig config = trained_on({folder.path()});
  config.validation = {other / "held.bin"};
  const Corpus corpus = load_named(config);
  EXPECT_EQ(all_ids(corpus.sources[0].tokens), from_to(0, 60));
  EXPECT_EQ(all_ids(corpus.validation), from_to(200, 220));
  EXPECT_EQ(corpus.validated_by, other / "held.bin");
  // A folder for validation means its val file.
  config.validation = {folder.path()};
  EXPECT_EQ(all_ids(load_named(config).validation), from_to(100, 130));
  EXPECT_EQ(load_named(config).validated_by, folder / "val.bin");
}

TEST(NamedParts, AFileThatMovesToTheOtherPartMakesOtherData) {
  const TempDir folder;
  folder.write("a.bin", uint16_bytes(from_to(0, 60)));
  folder.write("b.bin", uint16_bytes(from_to(100, 130)));
  const std::string before = load_named(trained_on({folder.path()})).hash;
  std::filesystem::rename(folder / "b.bin", folder / "val.bin");
  EXPECT_NE(load_named(trained_on({folder.path()})).hash, before)
      << "a run that trained on both must not go on with one of them";
}

TEST(NamedParts, Texts) {
  const TempDir folder;
  folder.write("train/a.txt", "learn this text\n<|endoftext|>\nand this");
  folder.write("validation/b.jsonl", "{\"text\": \"never learn that\"}\n");
  folder.write("test/c.txt", "nor that");
  folder.write("README.md", "about");
  const Corpus corpus = load_corpus(trained_on({folder.path()}), ByteTokenizer(), kFourTokens);
  EXPECT_EQ(corpus.train_tokens(), 38);
  EXPECT_EQ(corpus.validation.size(), 16);
  EXPECT_EQ(corpus.validated_by, folder / "validation/b.jsonl");
  EXPECT_EQ(load_validation(trained_on({folder.path()}), ByteTokenizer(), 4).size(), 16);
}

TEST(NamedParts, WithoutAnyNameForValidationTheEndIsSetApart) {
  const TempDir folder;
  write_llmc_shard(folder / "a_train_1.bin", from_to(0, 30), 2);
  write_llmc_shard(folder / "a_train_2.bin", from_to(30, 100), 2);
  const Corpus corpus = load_named(trained_on({folder.path()}));
  EXPECT_EQ(all_ids(corpus.sources[0].tokens), from_to(0, 90));
  EXPECT_EQ(corpus.validated_by, "the last 10%");
  EXPECT_TRUE(corpus.notes.empty());
}

TEST(NamedParts, FilesForTestsAreLeftOut) {
  const TempDir folder;
  write_llmc_shard(folder / "train.bin", from_to(0, 50), 2);
  write_llmc_shard(folder / "test.bin", from_to(50, 100), 2);
  EXPECT_EQ(all_ids(load_named(trained_on({folder.path()})).sources[0].tokens), from_to(0, 45));
}

TEST(NamedParts, AValFileThatIsGivenByItselfIsTrainedOnAndSaid) {
  const TempDir folder;
  const std::string path = folder.write("val.bin", uint16_bytes(from_to(0, 60)));
  const Corpus corpus = load_named(trained_on({path}));
  EXPECT_EQ(all_ids(corpus.sources[0].tokens), from_to(0, 54));
  ASSERT_EQ(corpus.notes.size(), 1U);
  EXPECT_EQ(corpus.notes[0], path + " is named for validation and trained on: data.train names it");
}

TEST(NamedPartsErrors, NothingToLearnFrom) {
  const TempDir folder;
  const std::string path = folder.write("val.bin", uint16_bytes(from_to(0, 60)));
  EXPECT_EQ(error_text([&] { load_named(trained_on({folder.path()})); }),
            "data.train: nothing to learn from: every file is named for validation (" + path +
                "); give a file by its own name to train on it all the same");
}

TEST(NamedPartsErrors, ATextBesideShards) {
  const TempDir folder;
  folder.write("val.bin", uint16_bytes(from_to(0, 60)));
  folder.write("input.txt", "a text");
  EXPECT_EQ(error_text([&] { load_named(trained_on({folder.path()})); }),
            "data.train: " + (folder / "val.bin") + " holds tokens, " + (folder / "input.txt") +
                " is a text; give one of them as data.validation");
}

TEST(Notes, ATextWithoutSeparatorsIsSaidToBeOneDocument) {
  const TempDir folder;
  const std::string one = folder.write("one.txt", "a text that nothing divides");
  const auto notes = [](const std::vector<std::string>& paths) {
    DataConfig config = trained_on(paths);
    config.validation_fraction = 0.5;
    return load_corpus(config, ByteTokenizer(), kFourTokens).notes;
  };
  ASSERT_EQ(notes({one}).size(), 1U);
  EXPECT_EQ(notes({one})[0], one + " is one document: no line <|endoftext|> divides it");
  const std::string two = folder.write("two.txt", "and another one");
  EXPECT_EQ(notes({one, two})[0],
            one + " and " + two + " are one document each: no line <|endoftext|> divides them");
  EXPECT_TRUE(notes({folder.write("b", "some\n<|endoftext|>\ndocuments of text")}).empty());
  EXPECT_TRUE(notes({folder.write("c", "{\"text\": \"a line of a file of JSON Lines\"}")}).empty());
  EXPECT_TRUE(load_corpus(DataConfig{}, kFourTokens).notes.empty());
}

TEST(TextKey, IsAskedForAndNamedWhereItIsMissing) {
  const TempDir folder;
  DataConfig config = trained_on(
      {folder.write("a.jsonl", "{\"id\": 7, \"content\": \"a line of text\", \"meta\": {}}\n")});
  config.validation_fraction = 0.5;
  const auto load_bytes = [&] { return load_corpus(config, ByteTokenizer(), kFourTokens); };
  EXPECT_EQ(error_text([&] { load_bytes(); }),
            "data.train: " + config.train[0] +
                ": line 1: the object has no key \"text\"; it has \"id\", \"content\", \"meta\": "
                "name the one that holds the text by data.text_key");
  config.text_key = "content";
  EXPECT_EQ(load_bytes().train_tokens() + load_bytes().validation.size(), 14);
  config.text_key = "meta";
  EXPECT_EQ(error_text([&] { load_bytes(); }),
            "data.train: " + config.train[0] +
                ": line 1: \"meta\" is an object, expected text; name another key by "
                "data.text_key");
}

}  // namespace
}  // namespace twill
