// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "data/tokenizer.h"
#include "data/tokenizers/files/bpe_files.h"
#include "data/tokenizers/files/tokenizer_json.h"
#include "io/atomic_file.h"
#include "io/temp_dir.h"
#include "support/expect_error.h"

namespace twill {
namespace {

void refused(const std::string& json, std::string_view part) {
  expect_error([&] { parse_tokenizer_json(json); }, part);
}

TEST(TokenizerJson, RefusesWhatItCannotRead) {
  refused("{", "not valid JSON");
  refused("{}", "not a tokenizer.json: it has no object \"model\"");
  refused(R"({"model":{"type":"Unigram","vocab":[]}})",
          "a tokenizer of type Unigram is not supported; supported are BPE and WordPiece");
  refused(R"({"model":{"type":"BPE"}})", "the model has no vocabulary \"vocab\"");
  refused(R"({"model":{"type":"BPE","vocab":[]}})", "the vocabulary must be an object");
  refused(R"({"model":{"type":"BPE","vocab":{"a":"b"}}})",
          "the id of token 'a' must be an integer");
  refused(R"({"model":{"type":"BPE","vocab":{"a":-1}}})", "token 'a' has the id -1, expected 0 to");
  refused(R"({"model":{"type":"BPE","vocab":{"a":1048576}}})", "has the id 1048576");
  refused(R"({"model":{"type":"BPE","vocab":{"a":0,"b":0}}})",
          "tokens 'a' and 'b' have the same id 0");
}

TEST(TokenizerJson, RefusesBadParts) {
  const auto byte_level = [](const std::string& model, const std::string& added = "[]",
                             const std::string& pre = R"({"type":"ByteLevel"})") {
    return R"({"added_tokens":)" + added + R"(,"pre_tokenizer":)" + pre +
           R"(,"model":{"type":"BPE",)" + model + "}}";
  };
  const std::string plain = R"("vocab":{"a":0,"b":1},"merges":[])";
  refused(byte_level(R"("vocab":{"a":0,"b":1},"merges":["a b"])"),
          "merge 1 ('a' 'b') needs the token 'ab', which the vocabulary does not have");
  refused(byte_level(R"("vocab":{"a":0},"merges":["a"])"), "merge 1: expected two tokens");
  refused(byte_level(R"("vocab":{"a":0},"merges":[["a"]])"),
          "merge 1: expected two tokens, got a list");
  refused(byte_level(R"("vocab":{"a":0})"), "the model has no list \"merges\"");
  refused(byte_level(R"("unk_token":"x",)" + plain), "the vocabulary has no unk_token 'x'");
  refused(byte_level(R"("dropout":0.1,)" + plain), "a BPE with dropout is not supported");
  refused(byte_level(R"("end_of_word_suffix":"x",)" + plain), "a BPE with \"end_of_word_suffix\"");
  refused(byte_level(plain, R"([{"content":"x"}])"), "added token 'x' has no id");
  refused(byte_level(plain, R"([{"content":"x","id":99999999}])"),
          "added token 'x' has the id 99999999");
  refused(byte_level(plain, R"([{"content":"x","id":1}])"),
          "tokens 'b' and 'x' have the same id 1");
  refused(byte_level(plain, "3"), "added_tokens must be a list, got a number");
  refused(
      byte_level(plain, "[]",
                 R"({"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Nope"}]})"),
      "a pre-tokenizer of type Nope beside ByteLevel is not supported");
  refused(byte_level(plain, "[]", R"({"type":"Whitespace"})"),
          "a pre-tokenizer of type Whitespace is not supported");
  refused(byte_level(plain, "[]", "null"), "must mark its spaces once");
}

TEST(TokenizerJson, HolesInTheIdsAreAllowed) {
  const auto tokenizer =
      parse_tokenizer_json(R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},)"
                           R"("model":{"type":"BPE","vocab":{"a":0,"b":7},"merges":[]}})");
  EXPECT_EQ(tokenizer->vocab_size(), 8);
  EXPECT_EQ(tokenizer->encode("ab"), (std::vector<std::int32_t>{0, 7}));
  expect_error([&] { tokenizer->decode(std::vector<std::int32_t>{3}); },
               "[gpt2-bpe tokenizer] no token has the id 3");
  expect_error([&] { tokenizer->decode(std::vector<std::int32_t>{-1}); },
               "[gpt2-bpe tokenizer] id -1 is outside 0 to 7");
}

TEST(BpeFiles, RefuseBadLines) {
  expect_error([] { parse_merges("a b\nc\n"); },
               "line 2: expected two tokens divided by one space");
  expect_error([] { parse_tiktoken("YQ== 0\n!!!! 1\n"); }, "line 2: '!!!!' is not base64");
  expect_error([] { parse_tiktoken("YQ 0\n"); }, "line 1: 'YQ' is not base64");
  expect_error([] { parse_tiktoken("YQ== x\n"); }, "line 1: 'x' is not a rank");
  expect_error([] { parse_tiktoken("YQ==\n"); }, "line 1: expected base64, a space and a rank");
  expect_error([] { parse_tiktoken(""); }, "the file has no ranks");
  expect_error([] { parse_tiktoken("YQ== 0\nYg== 0\n"); }, "have the same id 0");
}

TEST(OpenTokenizer, SaysWhatIsMissing) {
  const TempDir folder;
  expect_error([] { open_tokenizer("no/such/path"); },
               "unknown tokenizer 'no/such/path', expected");
  expect_error(
      [&] { open_tokenizer(folder / ""); },
      "no tokenizer in this folder; looked for tokenizer.json, vocab.json with merges.txt");
  write_file(folder / "vocab.json", R"({"a":0})");
  expect_error([&] { open_tokenizer(folder / ""); }, "merges.txt: not found, but ");
  write_file(folder / "merges.txt", "a a\n");
  expect_error([&] { open_tokenizer(folder / ""); }, "merges.txt: merge 1 ('a' 'a') needs");
  write_file(folder / "tokenizer.json", "[");
  expect_error([&] { open_tokenizer(folder / ""); }, "tokenizer.json: not valid JSON");
  write_file(folder / "notes.md", "");
  expect_error([&] { open_tokenizer(folder / "notes.md"); },
               "not a tokenizer file of a known name");
}

}  // namespace
}  // namespace twill
