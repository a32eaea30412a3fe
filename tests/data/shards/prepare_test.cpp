// SPDX-License-Identifier: Apache-2.0
#include "data/shards/prepare.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/byte_tokenizer.h"
#include "data/document_encoder.h"
#include "data/shards/shard_writer.h"
#include "data/shards/token_shard.h"
#include "data/test_tokenizer.h"
#include "io/error_text.h"
#include "io/packed/pack.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

void ignore(const PrepareProgress&) {}

// Document i of a test corpus: it names itself.
std::string document(int i) {
  std::string text;
  for (int word = 0; word <= i % 40; ++word)
    text += fmt::format("doc{} word{} ", static_cast<char>('a' + i % 26), word);
  return text + fmt::format("number {}\n", i);
}

std::string text_of(int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) text += document(i) + "<|endoftext|>\n";
  return text;
}

// 300 documents in three files of three kinds; small batches and shards, so that there are many.
PrepareOptions options_in(const TempDir& folder, const std::string& out) {
  std::string json;
  for (int i = 100; i < 200; ++i) {
    std::string line = document(i);
    line.back() = ' ';
    json += fmt::format("{{\"text\":\"{}\\n\"}}\n", line);
  }
  return {
      .texts = {folder.write("a.txt", text_of(0, 100)), folder.write("b.jsonl.gz", gzip_of(json)),
                folder.write("c.xz", xz_of(text_of(200, 300)))},
      .out = folder / out,
      .validation = 0.1,
      .seed = 7,
      .shard_tokens = 2000,
      .threads = 2,
      .batch_bytes = 8192};
}

using Files = std::map<std::string, std::string>;

Files files_in(const std::string& folder) {
  Files files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[std::filesystem::relative(entry.path(), folder).native()] =
          content_of(entry.path().native());
  return files;
}

std::vector<std::int32_t> tokens_of(const std::string& folder,
                                    const std::vector<ManifestShard>& shards) {
  TokenSequence tokens;
  for (const ManifestShard& shard : shards)
    tokens.append(TokenShard::tokens(TokenShard::open(folder + "/" + shard.file)));
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens.size()));
  tokens.copy(0, tokens.size(), ids.data());
  return ids;
}

// The documents between document tokens.
std::multiset<std::vector<std::int32_t>> documents_of(const std::vector<std::int32_t>& ids,
                                                      std::int32_t token) {
  std::multiset<std::vector<std::int32_t>> documents;
  for (auto begin = ids.begin(); begin != ids.end();) {
    const auto end = std::find(begin + 1, ids.end(), token);
    documents.insert(std::vector<std::int32_t>(begin, end));
    begin = end;
  }
  return documents;
}

TEST(Prepare, EveryDocumentOnceWithItsTokenInFront) {
  const TempDir folder;
  const WordTokenizer tokenizer;
  const PrepareOptions options = options_in(folder, "out");
  const Manifest manifest = prepare_shards(options, tokenizer, ignore).manifest;
  const std::vector<std::int32_t> train = tokens_of(options.out, manifest.train);
  const std::vector<std::int32_t> validation = tokens_of(options.out, manifest.validation);
  EXPECT_EQ(train.front(), 50'256);
  auto got = documents_of(train, 50'256);
  EXPECT_EQ(std::ssize(got), total_documents(manifest.train));
  got.merge(documents_of(validation, 50'256));
  std::multiset<std::vector<std::int32_t>> want;
  for (int i = 0; i < 300; ++i) {
    std::string text = document(i);
    if (i >= 100 && i < 200) text.insert(text.size() - 1, " ");
    std::vector<std::int32_t> ids = tokenizer.encode(text);
    ids.insert(ids.begin(), 50'256);
    want.insert(ids);
  }
  EXPECT_EQ(got.size(), 300u);
  EXPECT_TRUE(got == want);
}

TEST(Prepare, FolderAndManifest) {
  const TempDir folder;
  const PrepareOptions options = options_in(folder, "out");
  prepare_shards(options, WordTokenizer(), ignore);
  EXPECT_TRUE(is_prepared(options.out));
  const Manifest manifest = read_manifest(options.out);
  EXPECT_EQ(write_manifest(manifest), content_of(manifest_file(options.out)));
  EXPECT_EQ(manifest.train.front().file, "train_000001.bin");
  EXPECT_EQ(manifest.validation.front().file, "val_000000.bin");
  EXPECT_EQ(total_documents(manifest.train) + total_documents(manifest.validation), 300);
  EXPECT_NEAR(static_cast<double>(total_documents(manifest.validation)), 30.0, 15.0);
  ASSERT_EQ(manifest.sources.size(), 3u);
  EXPECT_EQ(manifest.sources[1].documents, 100);
  EXPECT_EQ(manifest.sources[2].bytes, std::ssize(text_of(200, 300)));
  EXPECT_EQ(content_of(options.out + "/tokenizer/words.txt"), "any\n");
  EXPECT_EQ(prepared_tokenizer(options.out), options.out + "/tokenizer");
  std::filesystem::remove_all(options.out + "/tokenizer");
  EXPECT_EQ(error_text([&] { prepared_tokenizer(options.out); }),
            options.out +
                "/tokenizer: not found; name the tokenizer (words) the folder was made "
                "with (data.tokenizer or --tokenizer)");
  EXPECT_FALSE(std::filesystem::exists(options.out + "/.spool"));
  for (const ManifestShard& shard : manifest.train) EXPECT_LE(shard.tokens, 2000) << shard.file;
  EXPECT_EQ(manifest.train.front().tokens, 2000) << "shards are filled";
}

TEST(Prepare, ThreadsAndBatchesChangeNothing) {
  const TempDir folder;
  PrepareOptions options = options_in(folder, "one");
  options.threads = 1;
  prepare_shards(options, WordTokenizer(), ignore);
  options.out = folder / "three";
  options.threads = 3;
  options.batch_bytes = 1 << 20;
  prepare_shards(options, WordTokenizer(), ignore);
  EXPECT_TRUE(files_in(folder / "one") == files_in(folder / "three"));
  options.out = folder / "seed";
  options.seed = 8;
  prepare_shards(options, WordTokenizer(), ignore);
  EXPECT_FALSE(files_in(folder / "seed")["train_000001.bin"] ==
               files_in(folder / "one")["train_000001.bin"]);
}

TEST(Prepare, KeepOrder) {
  const TempDir folder;
  PrepareOptions options = options_in(folder, "out");
  options.keep_order = true;
  options.validation = 0.0;
  const ByteTokenizer tokenizer;
  const Manifest manifest = prepare_shards(options, tokenizer, ignore).manifest;
  EXPECT_TRUE(manifest.validation.empty());
  EXPECT_EQ(manifest.document_token, -1);
  const std::string text = tokenizer.decode(tokens_of(options.out, manifest.train));
  EXPECT_TRUE(text.starts_with(document(0) + document(1)));
  EXPECT_TRUE(text.ends_with(document(298) + document(299)));
  EXPECT_EQ(prepared_tokenizer(options.out), "byte");
}

TEST(Prepare, LargeVocabulariesTakeFourBytes) {
  const TempDir folder;
  const PrepareOptions options = options_in(folder, "out");
  const Manifest manifest = prepare_shards(options, WordTokenizer(65'537), ignore).manifest;
  const auto shard = TokenShard::open(options.out + "/train_000001.bin");
  EXPECT_EQ(shard->layout().width, 4);
  EXPECT_EQ(tokens_of(options.out, manifest.train).front(), 65'536);
}

TEST(Prepare, FewDocuments) {
  const TempDir folder;
  PrepareOptions options{.texts = {folder.write("a", "one document")}, .out = folder / "one"};
  Manifest manifest = prepare_shards(options, ByteTokenizer(), ignore).manifest;
  EXPECT_EQ(total_documents(manifest.train), 1);
  EXPECT_TRUE(manifest.validation.empty()) << "the only document trains";
  options.texts.push_back(folder.write("b", "another"));
  options.out = folder / "two";
  manifest = prepare_shards(options, ByteTokenizer(), ignore).manifest;
  EXPECT_EQ(total_documents(manifest.validation), 1) << "of two, one validates";
}

// Ends a child process at call `n` of the progress, without any clean-up.
void die_at(int n, const PrepareOptions& options) {
  const pid_t child = ::fork();
  if (child == 0) {
    int calls = 0;
    prepare_shards(options, WordTokenizer(), [&](const PrepareProgress&) {
      if (++calls == n) ::_exit(9);
    });
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 9) << "the child did not die at call " << n;
}

TEST(Prepare, GoesOnAfterAKillToTheSameBytes) {
  const TempDir folder;
  PrepareOptions options = options_in(folder, "whole");
  int calls = 0;
  prepare_shards(options, WordTokenizer(), [&](const PrepareProgress&) { ++calls; });
  const Files want = files_in(options.out);
  ASSERT_GT(calls, 6);
  options.out = folder / "killed";
  for (const int n : {1, 2, 4, calls - 1, calls}) die_at(n, options);  // the last two while writing
  std::int64_t reused = 0;
  const PrepareResult result = prepare_shards(
      options, WordTokenizer(),
      [&](const PrepareProgress& progress) { reused = std::max(reused, progress.reused_tokens); });
  EXPECT_FALSE(result.was_prepared);
  EXPECT_EQ(reused, total_tokens(result.manifest.train) + total_tokens(result.manifest.validation));
  EXPECT_TRUE(files_in(options.out) == want);
  EXPECT_TRUE(prepare_shards(options, WordTokenizer(), ignore).was_prepared);
}

TEST(Prepare, DamagedSpoolIsMadeAgain) {
  const TempDir folder;
  PrepareOptions options = options_in(folder, "whole");
  prepare_shards(options, WordTokenizer(), ignore);
  const Files want = files_in(options.out);
  options.out = folder / "killed";
  die_at(4, options);
  const std::string piece = options.out + "/.spool/piece_00000";
  std::string bytes = content_of(piece + "0");
  bytes[bytes.size() / 2] ^= 1;
  folder.write("killed/.spool/piece_000000", bytes);
  folder.write("killed/.spool/piece_000001", content_of(piece + "1").substr(0, 30));
  folder.write("killed/.spool/piece_000002", content_of(piece + "1"));
  prepare_shards(options, WordTokenizer(), ignore);
  EXPECT_TRUE(files_in(options.out) == want);
}

TEST(PrepareErrors, ShardsAreNoText) {
  const TempDir folder;
  PrepareOptions options = options_in(folder, "out");
  write_llmc_shard(folder / "s", {1, 2, 3}, 2);
  options.texts = {folder / "s"};
  EXPECT_EQ(error_text([&] { prepare_shards(options, ByteTokenizer(), ignore); }),
            "TEXT: " + (folder / "s") + " holds tokens, not text; data.train takes it as it is");
}

TEST(PrepareErrors, OtherArguments) {
  const TempDir folder;
  PrepareOptions options = options_in(folder, "out");
  die_at(2, options);
  const auto message = [&](PrepareOptions changed) {
    return error_text([&] { prepare_shards(changed, WordTokenizer(), ignore); });
  };
  PrepareOptions changed = options;
  changed.seed = 8;
  EXPECT_EQ(message(changed), options.out +
                                  " was begun with other arguments: --seed was 7, now 8; choose "
                                  "another --out");
  EXPECT_EQ(message(options), "(no error)");
  changed.seed = 7;
  changed.texts.pop_back();
  EXPECT_TRUE(
      message(changed).starts_with(options.out + " was prepared with other arguments: TEXT"));
  EXPECT_TRUE(error_text([&] { prepare_shards(options, ByteTokenizer(), ignore); })
                  .starts_with(options.out +
                               " was prepared with other arguments: the tokenizer's hash was "));
}

TEST(PrepareErrors, FoldersAndTexts) {
  const TempDir folder;
  PrepareOptions options{.texts = {folder / "none"}, .out = folder / "out"};
  const auto message = [&] {
    return error_text([&] { prepare_shards(options, ByteTokenizer(), ignore); });
  };
  EXPECT_EQ(message(), "TEXT: no such file or folder: " + (folder / "none") +
                           "; give a text file, a folder or a glob");
  options.texts = {folder.write("empty", "")};
  EXPECT_EQ(message(), (folder / "empty") + ": no document in it");
  folder.write("full/mine", "x");
  options.out = folder / "full";
  EXPECT_EQ(message(),
            options.out + " is not empty and was not made by `data prepare`; choose another --out");
}

TEST(ManifestErrors, BadFiles) {
  const TempDir folder;
  const PrepareOptions options{.texts = {"builtin"}, .out = folder / "out"};
  const std::string good =
      write_manifest(prepare_shards(options, ByteTokenizer(), ignore).manifest);
  const auto message = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return error_text([&] { parse_manifest(text, "m.json"); });
  };
  EXPECT_EQ(message("\"version\": 1", "\"version\": 2"),
            "m.json: manifest of version 2, expected 1");
  EXPECT_EQ(message("twill-shards", "other"), "m.json: not the manifest of a folder of shards");
  EXPECT_EQ(message("\"train\"", "\"tram\""), "m.json: \"train\" is missing");
  EXPECT_EQ(message("train_000001.bin", "../x"),
            "m.json: train 0: \"../x\" is not the name of a file in the folder");
  EXPECT_EQ(message("\"seed\": 1", "\"seed\": \"1\""),
            "m.json: arguments: \"seed\" is not an integer of at least 0");
  EXPECT_EQ(message("\"keep_order\": false", "\"keep_order\": 0"),
            "m.json: arguments: \"keep_order\" is not true or false");
  EXPECT_EQ(message("{", "["), error_text([&] { parse_manifest("[" + good.substr(1), "m.json"); }));
  EXPECT_EQ(error_text([] { parse_manifest("[]", "m.json"); }),
            "m.json: expected an object, got a list");
}

}  // namespace
}  // namespace twill
