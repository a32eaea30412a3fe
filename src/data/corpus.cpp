// SPDX-License-Identifier: Apache-2.0
#include "data/corpus.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "base/hash.h"
#include "base/require.h"
#include "data/text_source.h"
#include "data/tokenizer.h"

namespace twill {
namespace {

// Tokens take less memory than the ids of a whole corpus would: encode a piece at a time. Pieces
// end after a line end, where no tokenizer of ours joins bytes.
std::vector<Token> tokenize(const Tokenizer& tokenizer, std::string_view text) {
  constexpr std::size_t kPiece = std::size_t{1} << 22;
  TWILL_CHECK(tokenizer.vocab_size() <= kMaxVocabulary, "the vocabulary does not fit a Token");
  std::vector<Token> tokens;
  while (!text.empty()) {
    const std::size_t line_end = text.size() > kPiece ? text.find('\n', kPiece) : text.npos;
    const std::size_t length = line_end == text.npos ? text.size() : line_end + 1;
    const std::vector<std::int32_t> ids = tokenizer.encode(text.substr(0, length));
    // Growing by doubling would hold the corpus three times over: estimate from the first piece.
    if (tokens.empty()) tokens.reserve(ids.size() * text.size() / length * 21 / 20);
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    text.remove_prefix(length);
  }
  return tokens;
}

// Where the validation part begins. Not inside a UTF-8 sequence.
std::size_t split_point(std::string_view text, double validation_fraction) {
  const double train_bytes = static_cast<double>(text.size()) * (1.0 - validation_fraction);
  auto split = std::min(static_cast<std::size_t>(train_bytes), text.size());
  // A sequence has at most three continuation bytes; a longer row of them is not UTF-8.
  for (int i = 0; i < 3 && split < text.size(); ++i, ++split)
    if ((static_cast<unsigned char>(text[split]) & 0xc0) != 0x80) break;
  return split;
}

struct Texts {
  std::string storage;
  std::string separate;  // of data.validation
  std::string_view train;
  std::string_view validation;
};

std::unique_ptr<Texts> load_texts(const DataConfig& config) {
  auto texts = std::make_unique<Texts>();  // on the heap: the views point into it
  texts->storage = load_text(config.train, "data.train");
  texts->train = texts->storage;
  if (config.validation.empty()) {
    const std::size_t split = split_point(texts->train, config.validation_fraction);
    texts->validation = texts->train.substr(split);
    texts->train = texts->train.substr(0, split);
  } else {
    texts->separate = load_text(config.validation, "data.validation");
    texts->validation = texts->separate;
  }
  return texts;
}

std::string hash_of(const Texts& texts) {
  Hasher hasher;
  hasher.add(texts.storage.data(), texts.storage.size());
  if (!texts.separate.empty()) {
    // The boundary counts: the same bytes divided otherwise are another corpus.
    const auto train_bytes = static_cast<std::uint64_t>(texts.storage.size());
    hasher.add(&train_bytes, sizeof train_bytes);
    hasher.add(texts.separate.data(), texts.separate.size());
  }
  return hash_text(hasher.value());
}

void require_window(const DataConfig& config, const std::vector<Token>& validation,
                    std::int64_t sequence) {
  require(std::ssize(validation) > sequence,
          "{}: {} validation tokens are too few: one window needs at least {} (sequence {} + 1); "
          "give more text or lower model.context",
          config.validation.empty() ? "data.validation_fraction" : "data.validation",
          validation.size(), sequence + 1, sequence);
}

void check_sizes(const DataConfig& config, const Corpus& corpus, const BatchShape& batch) {
  const std::int64_t needed = batch.micro_batch * batch.sequence + 1;
  require(std::ssize(corpus.train) >= needed,
          "data.train: {} tokens are too few: one batch needs at least {} (train.micro_batch {} × "
          "sequence {} + 1); give more text or lower model.context",
          corpus.train.size(), needed, batch.micro_batch, batch.sequence);
  require_window(config, corpus.validation, batch.sequence);
}

}  // namespace

void DataConfig::fields(FieldVisitor& visit) {
  // Free on resume: where the text lies does not matter, the hash decides.
  visit("train", train, "training text: files, folders, globs, or \"builtin\"", OnResume::kFree);
  visit("validation", validation,
        "validation text, given like the training text; empty: the end of the training text",
        OnResume::kFree);
  visit("validation_fraction", validation_fraction, Range<double>{0.0001, 0.9},
        "share of the training text kept for validation");
  visit("tokenizer", tokenizer, Choices{},
        "how text becomes tokens: \"byte\", or the folder or file of a tokenizer");
  visit("hash", hash, Choices{},
        "checksum of the text; filled in by a run, and when it is set the text must match",
        OnResume::kFree);
}

Corpus load_corpus(const DataConfig& config, const BatchShape& batch) {
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(config.tokenizer);
  const std::unique_ptr<Texts> texts = load_texts(config);
  Corpus corpus;
  corpus.hash = hash_of(*texts);
  require(config.hash.empty() || config.hash == corpus.hash,
          "data.hash: the text is not the one this run was started with: expected {}, got {}; "
          "restore the text or start a new run",
          config.hash, corpus.hash);
  corpus.train = tokenize(*tokenizer, texts->train);
  corpus.validation = tokenize(*tokenizer, texts->validation);
  check_sizes(config, corpus, batch);
  return corpus;
}

std::vector<Token> load_validation(const DataConfig& config, std::int64_t sequence) {
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(config.tokenizer);
  DataConfig wanted = config;
  // A text of its own makes the training text unnecessary: it may be gone.
  if (!config.validation.empty()) wanted.train = config.validation;
  const std::unique_ptr<Texts> texts = load_texts(wanted);
  std::vector<Token> tokens = tokenize(*tokenizer, texts->validation);
  require_window(config, tokens, sequence);
  return tokens;
}

}  // namespace twill
