// SPDX-License-Identifier: Apache-2.0
#include "data/corpus.h"

#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "base/hash.h"
#include "base/require.h"
#include "data/document_encoder.h"
#include "data/source_parts.h"
#include "data/token_source.h"

namespace twill {
namespace {

// One entry of the mix, however it was given.
struct Part {
  std::string key;
  std::vector<std::string> paths;
  double weight;
};

std::vector<Part> parts_of(const DataConfig& config) {
  if (config.source.empty()) return {{"data.train", config.train, 1.0}};
  require(config.train == DataConfig().train || config.train.empty(),
          "data.train and data.source are both given; leave one of them out");
  std::vector<Part> parts;
  for (const DataSource& source : config.source) {
    const std::string key = fmt::format("data.source.{}", parts.size());
    require(!source.path.empty(), "{}.path is not given", key);
    parts.push_back({key + ".path", {source.path}, source.weight});
  }
  return parts;
}

void add(Hasher& hasher, std::string_view text) { hasher.add(text.data(), text.size()); }

// A single text without a validation text of its own keeps the hash of its bytes, which any tool
// for XXH3 shows as well.
std::string combined_hash(const std::vector<Part>& parts, const std::vector<std::string>& hashes,
                          const std::string& validation_hash) {
  if (hashes.size() == 1 && validation_hash.empty()) return hashes.front();
  Hasher hasher;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    add(hasher, hashes[i]);
    hasher.add(&parts[i].weight, sizeof parts[i].weight);
  }
  add(hasher, validation_hash);
  return hash_text(hasher.value());
}

std::unique_ptr<DocumentEncoder> encoder_of(const TokenIds& ids, int threads) {
  if (ids.tokenizer == nullptr) return nullptr;
  return std::make_unique<DocumentEncoder>(*ids.tokenizer, threads);
}

LoadedSource load_validation_source(const DataConfig& config, DocumentEncoder* encoder,
                                    const TokenIds& ids) {
  return load_source(config.validation, encoder, ids,
                     {.key = "data.validation", .text_key = config.text_key});
}

// What a person should know of a source; `apart`: data.validation is given.
void note_source(Corpus& corpus, const Part& part, const LoadedSource& source, bool apart) {
  for (const std::string& note : source.notes) corpus.notes.push_back(note);
  for (const std::string& path : part.paths) {
    std::error_code ignored;
    if (part_named(std::filesystem::path(path).filename().native()) == DataPart::kValidation &&
        std::filesystem::is_regular_file(path, ignored))
      corpus.notes.push_back(
          fmt::format("{} is named for validation and trained on: {} names it", path, part.key));
  }
  if (apart || source.validated_by.empty()) return;
  if (corpus.validated_by.find(source.validated_by) != std::string::npos) return;
  corpus.validated_by += (corpus.validated_by.empty() ? "" : "; ") + source.validated_by;
}

void require_window(const DataConfig& config, const TokenSequence& validation,
                    std::int64_t sequence) {
  require(validation.size() > sequence,
          "{}: {} validation tokens are too few: one window needs at least {} (sequence {} + 1); "
          "give more text or lower model.context",
          config.validation.empty() ? "data.validation_fraction" : "data.validation",
          validation.size(), sequence + 1, sequence);
}

void check_sizes(const DataConfig& config, const std::vector<Part>& parts, const Corpus& corpus,
                 const BatchShape& batch) {
  const std::int64_t needed = batch.micro_batch * batch.sequence + 1;
  for (std::size_t i = 0; i < parts.size(); ++i)
    require(corpus.sources[i].tokens.size() >= needed,
            "{}: {} tokens are too few: one batch needs at least {} (train.micro_batch {} × "
            "sequence {} + 1); give more text or lower model.context",
            parts[i].key, corpus.sources[i].tokens.size(), needed, batch.micro_batch,
            batch.sequence);
  require_window(config, corpus.validation, batch.sequence);
}

}  // namespace

void DataSource::fields(FieldVisitor& visit) {
  visit("path", path, {}, "text, shards or a prepared folder, as in data.train", OnResume::kFree);
  visit("weight", weight, Range<double>{1e-6, 1e6},
        "share of the training windows, relative to the other sources");
}

void DataConfig::fields(FieldVisitor& visit) {
  // Free on resume: where the data lie does not matter, the hash decides.
  visit("train", train,
        "training data: texts (plain, JSON Lines, .gz, .xz, .zst), token shards, folders, globs, a "
        "folder made by `data prepare`, or \"builtin\"",
        OnResume::kFree);
  visit("text_key", text_key, {}, "which member of a line of JSON Lines is the text",
        OnResume::kFree);
  visit.list("source", source, "a weighted mix of sources, instead of data.train");
  visit("validation", validation,
        "validation data, given like the training data; empty: the validation shards of a prepared "
        "folder, the files of a folder that are named for it (val.bin), else the end of the "
        "training data",
        OnResume::kFree);
  visit("validation_fraction", validation_fraction, Range<double>{0.0001, 0.9},
        "share of the training data kept for validation where nothing else is given");
  // Free on resume: the run keeps its own copy, and another tokenizer is refused by its hash.
  visit(
      "tokenizer", tokenizer, Choices{},
      "how text becomes tokens: \"byte\", or the folder or file of a tokenizer; \"auto\": that of "
      "a prepared folder, else \"byte\"; \"none\": token shards alone, with model.vocab",
      OnResume::kFree);
  visit("hash", hash, Choices{},
        "checksum of the data; filled in by a run, and when it is set the data must match",
        OnResume::kFree);
}

std::int64_t Corpus::train_tokens() const {
  std::int64_t sum = 0;
  for (const TrainingSource& source : sources) sum += source.tokens.size();
  return sum;
}

std::string data_tokenizer(const DataConfig& config) {
  if (config.tokenizer != "auto") return config.tokenizer;
  for (const Part& part : parts_of(config))
    if (std::string found = tokenizer_of(part.paths); !found.empty()) return found;
  return "byte";
}

Corpus load_corpus(const DataConfig& config, const TokenIds& ids, const BatchShape& batch,
                   int threads) {
  const std::unique_ptr<DocumentEncoder> encoder = encoder_of(ids, threads);
  const std::vector<Part> parts = parts_of(config);
  const bool apart = !config.validation.empty();
  Corpus corpus;
  std::vector<std::string> hashes;
  for (const Part& part : parts) {
    LoadedSource source =
        load_source(part.paths, encoder.get(), ids,
                    {.key = part.key,
                     .validation_fraction = apart ? 0.0 : config.validation_fraction,
                     .text_key = config.text_key});
    require(
        !source.train.empty() || source.validation.empty(),
        "{}: nothing to learn from: every file is named for validation ({}); give a file by its "
        "own name to train on it all the same",
        part.key, source.validated_by);
    hashes.push_back(source.hash);
    note_source(corpus, part, source, apart);
    if (!apart) corpus.validation.append(source.validation);
    corpus.sources.push_back(
        {part.paths.empty() ? "" : part.paths.front(), part.weight, std::move(source.train)});
  }
  std::string validation_hash;
  if (apart) {
    const LoadedSource source = load_validation_source(config, encoder.get(), ids);
    validation_hash = source.hash;
    corpus.validated_by =
        source.validation.empty() ? list_files(config.validation) : source.validated_by;
    // A prepared folder means its validation shards, anything else all of it.
    corpus.validation = source.validation.empty() ? source.train : source.validation;
  }
  corpus.hash = combined_hash(parts, hashes, validation_hash);
  require(config.hash.empty() || config.hash == corpus.hash,
          "data.hash: the text is not the one this run was started with: expected {}, got {}; "
          "restore the text or start a new run",
          config.hash, corpus.hash);
  check_sizes(config, parts, corpus, batch);
  return corpus;
}

Corpus load_corpus(const DataConfig& config, const BatchShape& batch) {
  return load_corpus(config, *open_tokenizer(data_tokenizer(config)), batch);
}

TokenSequence load_validation(const DataConfig& config, const TokenIds& ids,
                              std::int64_t sequence) {
  const std::unique_ptr<DocumentEncoder> encoder = encoder_of(ids, 0);
  TokenSequence validation;
  // Data of their own make the training data unnecessary: they may be gone.
  if (!config.validation.empty()) {
    const LoadedSource source = load_validation_source(config, encoder.get(), ids);
    validation = source.validation.empty() ? source.train : source.validation;
  } else {
    for (const Part& part : parts_of(config))
      validation.append(load_source(part.paths, encoder.get(), ids,
                                    {.key = part.key,
                                     .validation_fraction = config.validation_fraction,
                                     .validation_only = true,
                                     .text_key = config.text_key})
                            .validation);
  }
  require_window(config, validation, sequence);
  return validation;
}

}  // namespace twill
