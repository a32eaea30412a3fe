// SPDX-License-Identifier: Apache-2.0
#include "exchange/source_tokenizer.h"

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/require.h"
#include "io/atomic_file.h"
#include "io/json/json_value.h"
#include "io/paths.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kTokenizerFiles{
    "tokenizer.json", "vocab.json", "encoder.json", "vocab.txt", "vocab.bpe", "tokenizer.model"};

std::string utf8(std::int32_t code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

// GPT-2's printable name of a byte: itself where it is a visible character of Latin-1, otherwise
// the next free code from 256 on.
std::vector<std::string> byte_names() {
  std::vector<std::string> names;
  std::int32_t next = 256;
  for (std::int32_t byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    names.push_back(utf8(visible ? byte : next++));
  }
  return names;
}

JsonObject byte_level() {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", false},
          {"use_regex", false}};
}

std::string byte_tokenizer_json() {
  JsonObject vocabulary;
  for (const std::string& name : byte_names())
    vocabulary.emplace_back(name, static_cast<std::int64_t>(vocabulary.size()));
  const JsonObject model{{"type", "BPE"},
                         {"dropout", JsonValue()},
                         {"unk_token", JsonValue()},
                         {"continuing_subword_prefix", JsonValue()},
                         {"end_of_word_suffix", JsonValue()},
                         {"fuse_unk", false},
                         {"byte_fallback", false},
                         {"vocab", vocabulary},
                         {"merges", JsonArray()}};
  return to_json(JsonObject{{"version", "1.0"},
                            {"truncation", JsonValue()},
                            {"padding", JsonValue()},
                            {"added_tokens", JsonArray()},
                            {"normalizer", JsonValue()},
                            {"pre_tokenizer", byte_level()},
                            {"post_processor", JsonValue()},
                            {"decoder", byte_level()},
                            {"model", model}});
}

std::string byte_tokenizer_config() {
  return to_json(JsonObject{{"tokenizer_class", "PreTrainedTokenizerFast"},
                            {"clean_up_tokenization_spaces", false},
                            {"model_input_names", JsonArray{"input_ids", "attention_mask"}}});
}

bool is_our_byte_tokenizer(const fs::path& file) {
  const std::string ours = byte_tokenizer_json();
  std::error_code error;
  if (fs::file_size(file, error) != ours.size() || error) return false;
  return read_file(file.string()) == ours;
}

}  // namespace

std::string tokenizer_beside(const std::string& model_path, std::int64_t vocab) {
  std::error_code ignored;
  const fs::path path(model_path);
  fs::path folder = fs::is_directory(path, ignored) ? path : path.parent_path();
  if (folder.empty()) folder = ".";
  if (is_our_byte_tokenizer(folder / "tokenizer.json")) return "byte";
  for (const std::string_view name : kTokenizerFiles)
    if (path_exists(folder / name)) return folder.string();
  for (const std::string& name : {fmt::format("tok{}.bin", vocab), std::string("tokenizer.bin")})
    if (path_exists(folder / name)) return (folder / name).string();
  return {};
}

void require_tokenizer_fits(const Tokenizer& tokenizer, std::int64_t model_vocab,
                            const std::string& model_path) {
  require(tokenizer.vocab_size() <= model_vocab,
          "{}: the tokenizer ({}) has {} tokens, the model only {}: they do not belong together",
          model_path, tokenizer.name(), tokenizer.vocab_size(), model_vocab);
}

std::vector<TokenizerFile> exported_tokenizer_files(const Tokenizer& tokenizer) {
  if (tokenizer.name() != "byte") return tokenizer.files();
  return {{"tokenizer.json", byte_tokenizer_json()},
          {"tokenizer_config.json", byte_tokenizer_config()}};
}

}  // namespace twill
