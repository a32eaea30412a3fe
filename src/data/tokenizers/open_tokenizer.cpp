// SPDX-License-Identifier: Apache-2.0
// Finds out what a path holds.
#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/require.h"
#include "data/byte_tokenizer.h"
#include "data/token_ids.h"
#include "data/tokenizers/bpe/byte_level_bpe.h"
#include "data/tokenizers/files/bpe_files.h"
#include "data/tokenizers/files/llama2c_file.h"
#include "data/tokenizers/files/tiktoken_models.h"
#include "data/tokenizers/files/tokenizer_json.h"
#include "data/tokenizers/wordpiece/wordpiece.h"
#include "io/atomic_file.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLookedFor =
    "tokenizer.json, vocab.json with merges.txt, encoder.json with vocab.bpe, *.tiktoken, tok*.bin "
    "or vocab.txt";

// Beside tokenizer.json, for transformers.
constexpr std::array kCompanions = {"tokenizer_config.json",
                                    "special_tokens_map.json",
                                    "added_tokens.json",
                                    "vocab.json",
                                    "merges.txt",
                                    "vocab.txt"};

// A tokenizer of the largest models has 33 MB; more is a mistake, or meant to harm.
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{256} << 20;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::string read_text(const fs::path& path) {
  std::error_code unknown;
  const std::uintmax_t bytes = fs::file_size(path, unknown);
  require(unknown || bytes <= kMaxFileBytes,
          "{} bytes are too many for a tokenizer, expected at "
          "most {}",
          bytes, kMaxFileBytes);
  return read_file(path.native());
}

// Puts the path in front of what a parser says.
template <class Call>
auto at_path(const fs::path& path, const Call& call) {
  try {
    return call();
  } catch (const Error& error) {
    const std::string_view what = error.what();
    if (what.find(path.native()) != what.npos) throw;
    fail("{}: {}", path.native(), what);
  }
}

std::unique_ptr<Tokenizer> open_json(const fs::path& path) {
  return at_path(path, [&] {
    const std::string text = read_text(path);
    std::vector<TokenizerFile> files{{"tokenizer.json", text}};
    for (const char* name : kCompanions)
      if (const fs::path beside = path.parent_path() / name; is_file(beside))
        files.push_back({name, read_text(beside)});
    return parse_tokenizer_json(text, std::move(files));
  });
}

std::unique_ptr<Tokenizer> open_pair(const fs::path& vocab, const fs::path& merges) {
  const auto need = [](const fs::path& path, const fs::path& other) {
    require(is_file(path), "{}: not found, but {} needs it beside itself", path.native(),
            other.native());
  };
  need(vocab, merges);
  need(merges, vocab);
  TokenizerParts parts;
  BpeModel model;
  parts.vocabulary = at_path(vocab, [&] { return parse_vocab_json(read_text(vocab)); });
  model.merges = at_path(
      merges, [&] { return resolve_merges(parse_merges(read_text(merges)), parts.vocabulary); });
  if (const auto end = parts.vocabulary.find("<|endoftext|>"))
    parts.added.push_back({.content = "<|endoftext|>", .id = *end});
  ByteLevelOptions options;
  options.stages.push_back({SplitPattern(kGpt2Pattern)});
  return std::make_unique<ByteLevelBpe>(std::move(parts), std::move(model), std::move(options));
}

// What a single file holds, by its name.
std::unique_ptr<Tokenizer> open_file(const fs::path& path) {
  const std::string name = path.filename().native();
  const fs::path folder = path.parent_path();
  if (name == "vocab.json" || name == "merges.txt")
    return open_pair(folder / "vocab.json", folder / "merges.txt");
  if (name == "encoder.json" || name == "vocab.bpe")
    return open_pair(folder / "encoder.json", folder / "vocab.bpe");
  if (path.extension() == ".json") return open_json(path);
  if (path.extension() == ".tiktoken")
    return at_path(path, [&] { return tiktoken_tokenizer(read_text(path), name); });
  if (path.extension() == ".bin")
    return at_path(path, [&] { return llama2c_tokenizer(read_text(path)); });
  if (path.extension() == ".txt")
    return at_path(path, [&] { return wordpiece_tokenizer(read_text(path)); });
  fail("{}: not a tokenizer file of a known name; expected {}", path.native(), kLookedFor);
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (is_file(it->path())) files.push_back(it->path());
  require(!error, "{}: cannot read the folder: {}", folder.native(), error.message());
  std::ranges::sort(files);
  return files;
}

std::unique_ptr<Tokenizer> open_folder(const fs::path& folder) {
  for (const char* name :
       {"tokenizer.json", "vocab.json", "merges.txt", "encoder.json", "vocab.bpe"})
    if (is_file(folder / name)) return open_file(folder / name);
  const std::vector<fs::path> files = files_of(folder);
  const auto is_ranks = [](const fs::path& path) { return path.extension() == ".tiktoken"; };
  const auto is_llama2c = [](const fs::path& path) {
    return path.extension() == ".bin" && path.filename().native().starts_with("tok");
  };
  if (const auto found = std::ranges::find_if(files, is_ranks); found != files.end())
    return open_file(*found);
  if (const auto found = std::ranges::find_if(files, is_llama2c); found != files.end())
    return open_file(*found);
  if (is_file(folder / "vocab.txt")) return open_file(folder / "vocab.txt");
  fail("{}: no tokenizer in this folder; looked for {}", folder.native(), kLookedFor);
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer_if_any(const std::string& where) {
  return where == kNoTokenizer ? nullptr : open_tokenizer(where);
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& where) {
  if (where == "byte") return std::make_unique<ByteTokenizer>();
  std::error_code ignored;
  if (fs::is_directory(where, ignored)) return open_folder(where);
  require(is_file(where), "unknown tokenizer '{}', expected \"byte\", or a folder or file with {}",
          where, kLookedFor);
  return open_file(where);
}

}  // namespace twill
