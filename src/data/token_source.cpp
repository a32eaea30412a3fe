// SPDX-License-Identifier: Apache-2.0
#include "data/token_source.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/require.h"
#include "data/shards/manifest.h"
#include "data/shards/prepare.h"
#include "data/shards/token_shard.h"
#include "data/source_parts.h"
#include "data/text_source.h"

namespace twill {
namespace {

using Shards = std::vector<std::shared_ptr<const TokenShard>>;

// Where the validation part begins. Not inside a UTF-8 sequence.
std::size_t split_point(std::string_view text, double validation_fraction) {
  const double train_bytes = static_cast<double>(text.size()) * (1.0 - validation_fraction);
  auto split = std::min(static_cast<std::size_t>(train_bytes), text.size());
  // A sequence has at most three continuation bytes; a longer row of them is not UTF-8.
  for (int i = 0; i < 3 && split < text.size(); ++i, ++split)
    if ((static_cast<unsigned char>(text[split]) & 0xc0) != 0x80) break;
  return split;
}

// A file that moves from one part to the other makes other data.
std::string hash_of_both(const std::string& train, const std::string& validation) {
  Hasher hasher;
  for (const std::string* hash : {&train, &validation}) hasher.add(hash->data(), hash->size());
  return hash_text(hasher.value());
}

std::string last_part(double fraction) { return fmt::format("the last {:.3g}%", 100.0 * fraction); }

// A model that sees one endless document never learns where one begins.
void note_documents(LoadedSource& source, const LoadedText& text) {
  const auto files = std::ssize(text.undivided);
  if (files == 0 || text.divided > 0) return;
  source.notes.push_back(fmt::format("{} {}: no line {} divides {}", list_files(text.undivided),
                                     files == 1 ? "is one document" : "are one document each",
                                     kDocumentSeparator, files == 1 ? "it" : "them"));
}

LoadedSource load_texts(const SourceParts& parts, DocumentEncoder* encoder, const TokenIds& ids,
                        const LoadOptions& options) {
  require(
      encoder != nullptr && ids.tokenizer != nullptr,
      "{}: {} is a text, and data.tokenizer = \"{}\" reads token shards alone; name a tokenizer, "
      "or leave data.tokenizer out",
      options.key, parts.train.empty() ? "it" : parts.train.front(), kNoTokenizer);
  const TextOptions text_options{
      .key = options.key,
      .join = document_token(*ids.tokenizer) ? FileJoin::kSeparator : FileJoin::kLineEnd,
      .documents = {.text_key = options.text_key, .text_key_option = "data.text_key"}};
  LoadedSource source;
  const bool is_named = !parts.validation.empty();
  std::string validation_hash;
  if (is_named) {
    const LoadedText validation = read_texts(parts.validation, text_options);
    source.validation = encoder->encode_text(validation.text);
    validation_hash = hash_text(hash_bytes(validation.text.data(), validation.text.size()));
    if (options.validation_only || parts.train.empty()) {
      source.hash = validation_hash;
      return source;
    }
  }
  const LoadedText loaded = read_texts(parts.train, text_options);
  const std::string_view text = loaded.text;
  const bool cuts = options.validation_fraction > 0.0 && !is_named;
  const std::size_t split = cuts ? split_point(text, options.validation_fraction) : text.size();
  source.hash = hash_text(hash_bytes(text.data(), text.size()));
  if (is_named) source.hash = hash_of_both(source.hash, validation_hash);
  if (!options.validation_only) source.train = encoder->encode_text(text.substr(0, split));
  if (cuts) source.validation = encoder->encode_text(text.substr(split));
  if (cuts) source.validated_by = last_part(options.validation_fraction);
  note_documents(source, loaded);
  return source;
}

void set_end_apart(LoadedSource& source, double fraction) {
  if (fraction <= 0.0 || !source.validation.empty()) return;
  const std::int64_t all = source.train.size();
  const auto kept =
      static_cast<std::int64_t>(std::floor(static_cast<double>(all) * (1.0 - fraction)));
  source.validation = source.train.slice(kept, all - kept);
  source.train = source.train.slice(0, kept);
  source.validated_by = last_part(fraction);
}

// Reads the shards once, and refuses ids that would fall outside the model.
std::vector<ShardScan> check_shards(const Shards& shards, const TokenIds& ids,
                                    std::string_view key) {
  std::vector<ShardScan> scans = scan_shards(shards);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (scans[i].largest < ids.size) continue;
    require(ids.tokenizer != nullptr,
            "{}: {} holds token id {}, but model.vocab = {}; set it to at least {}", key,
            shards[i]->path(), scans[i].largest, ids.size, scans[i].largest + 1);
    fail(
        "{}: {} holds token id {}, but the tokenizer ({}) has {} tokens; set data.tokenizer to "
        "the one it was made with",
        key, shards[i]->path(), scans[i].largest, ids.tokenizer->name(), ids.size);
  }
  return scans;
}

std::string hash_of(const std::vector<ShardScan>& scans) {
  Hasher hasher;
  for (const ShardScan& scan : scans) hasher.add(&scan.hash, sizeof scan.hash);
  return hash_text(hasher.value());
}

struct ShardPart {
  TokenSequence tokens;
  std::string hash;
};

ShardPart load_shards(const std::vector<std::string>& files, const TokenIds& ids,
                      std::string_view key) {
  Shards shards;
  ShardPart part;
  if (files.empty()) return part;
  for (const std::string& file : files) {
    shards.push_back(TokenShard::open(file));
    part.tokens.append(TokenShard::tokens(shards.back()));
  }
  part.hash = hash_of(check_shards(shards, ids, key));
  require(!part.tokens.empty(), "{}: {} holds no tokens", key, files.front());
  return part;
}

LoadedSource load_shards(const std::vector<std::string>& train,
                         const std::vector<std::string>& validation, const TokenIds& ids,
                         const LoadOptions& options) {
  ShardPart learnt = load_shards(train, ids, options.key);
  LoadedSource source;
  source.train = std::move(learnt.tokens);
  source.hash = learnt.hash;
  if (validation.empty()) return source;
  ShardPart kept = load_shards(validation, ids, options.key);
  source.validation = std::move(kept.tokens);
  source.hash = hash_of_both(learnt.hash, kept.hash);
  return source;
}

TokenSequence open_part(const std::string& folder, const std::vector<ManifestShard>& part,
                        Shards& shards) {
  TokenSequence tokens;
  for (const ManifestShard& entry : part) {
    shards.push_back(TokenShard::open(folder + "/" + entry.file));
    require(shards.back()->size() == entry.tokens,
            "{}: the manifest says {} tokens, but the file has {}; prepare the folder again",
            shards.back()->path(), entry.tokens, shards.back()->size());
    tokens.append(TokenShard::tokens(shards.back()));
  }
  return tokens;
}

LoadedSource load_folder(const std::string& folder, const TokenIds& ids,
                         const LoadOptions& options) {
  const Manifest manifest = read_manifest(folder);
  if (const Tokenizer* tokenizer = ids.tokenizer)
    require(manifest.arguments.tokenizer_hash == tokenizer->hash(),
            "{}: {} was made with another tokenizer ({}, {} tokens) than this run's ({}, {} "
            "tokens); leave data.tokenizer out to take the folder's own",
            options.key, folder, manifest.arguments.tokenizer, manifest.arguments.vocab_size,
            tokenizer->name(), tokenizer->vocab_size());
  Shards shards;
  LoadedSource source;
  source.train = open_part(folder, manifest.train, shards);
  source.validation = open_part(folder, manifest.validation, shards);
  const std::vector<ShardScan> scans = check_shards(shards, ids, options.key);
  std::vector<ManifestShard> entries = manifest.train;
  entries.insert(entries.end(), manifest.validation.begin(), manifest.validation.end());
  for (std::size_t i = 0; i < scans.size(); ++i)
    require(hash_text(scans[i].hash) == entries[i].hash,
            "{}: damaged: its hash is {}, the manifest says {}; prepare the folder again",
            shards[i]->path(), hash_text(scans[i].hash), entries[i].hash);
  source.hash = hash_of(scans);
  return source;
}

LoadedSource load_folders(std::span<const std::string> folders, const TokenIds& ids,
                          const LoadOptions& options) {
  LoadedSource all;
  Hasher hasher;
  for (const std::string& folder : folders) {
    const LoadedSource source = load_folder(folder, ids, options);
    all.train.append(source.train);
    all.validation.append(source.validation);
    hasher.add(source.hash.data(), source.hash.size());
  }
  all.hash = hash_text(hasher.value());
  return all;
}

// The files of the paths when they are shards; empty when they are texts. An .idx file belongs to
// the .bin file beside it.
std::vector<std::string> shard_files(std::span<const std::string> paths, std::string_view key) {
  std::vector<std::string> shards;
  std::string text;
  for (const std::string& path : paths)
    for (const std::string& file : text_files(path, key)) {
      if (file.ends_with(".idx")) continue;
      if (file != kBuiltinCorpus && recognise_shard(file))
        shards.push_back(file);
      else
        text = file;
    }
  if (!shards.empty())
    require(text.empty(),
            "{}: {} holds tokens, {} is a text; give them as two sources, [[data.source]]", key,
            shards.front(), text);
  return shards;
}

LoadedSource load_files(std::span<const std::string> paths, DocumentEncoder* encoder,
                        const TokenIds& ids, const LoadOptions& options) {
  for (const std::string& path : paths)
    require(!path.ends_with(".idx") || !std::filesystem::is_regular_file(path),
            "{}: {} is the index of a Megatron file; give its .bin file", options.key, path);
  const SourceParts parts = divide_by_name(paths, options.key);
  const std::vector<std::string> train = shard_files(parts.train, options.key);
  const std::vector<std::string> validation = shard_files(parts.validation, options.key);
  if (!parts.train.empty() && !parts.validation.empty() && train.empty() != validation.empty())
    fail("{}: {} holds tokens, {} is a text; give one of them as data.validation", options.key,
         (train.empty() ? validation : train).front(),
         (train.empty() ? parts.train : parts.validation).front());
  const bool are_shards = !train.empty() || !validation.empty();
  LoadedSource source = are_shards ? load_shards(train, validation, ids, options)
                                   : load_texts(parts, encoder, ids, options);
  if (!parts.validation.empty()) source.validated_by = list_files(parts.validation);
  if (!parts.unused.empty())
    source.notes.push_back(fmt::format("{} {} not used: the names of others say what they are for",
                                       list_files(parts.unused),
                                       parts.unused.size() == 1 ? "is" : "are"));
  return source;
}

}  // namespace

LoadedSource load_source(std::span<const std::string> paths, DocumentEncoder* encoder,
                         const TokenIds& ids, const LoadOptions& options) {
  for (const std::string& path : paths) require_finished(path, options.key);
  LoadedSource source;
  const auto folders = std::ranges::count_if(paths, is_prepared);
  if (folders > 0) {
    require(folders == std::ssize(paths),
            "{}: a folder made by `data prepare` stands beside other things; give them as sources "
            "of their own, [[data.source]]",
            options.key);
    source = load_folders(paths, ids, options);
    if (!source.validation.empty()) source.validated_by = "its validation shards";
  } else {
    source = load_files(paths, encoder, ids, options);
  }
  set_end_apart(source, options.validation_fraction);
  return source;
}

std::string tokenizer_of(std::span<const std::string> paths) {
  const auto folder = std::ranges::find_if(paths, is_prepared);
  return folder == paths.end() ? std::string() : prepared_tokenizer(*folder);
}

}  // namespace twill
