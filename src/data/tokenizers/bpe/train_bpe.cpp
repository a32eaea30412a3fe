// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/bpe/train_bpe.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/require.h"
#include "data/tokenizers/bpe/byte_level.h"
#include "data/tokenizers/bpe/byte_level_bpe.h"

namespace twill {
namespace {

std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}
std::int32_t left_of(std::uint64_t pair) { return static_cast<std::int32_t>(pair >> 32); }
std::int32_t right_of(std::uint64_t pair) { return static_cast<std::int32_t>(pair & 0xFFFF'FFFFu); }

struct Word {
  std::vector<std::int32_t> symbols;
  std::int64_t count;
};

struct Pair {
  std::int64_t count = 0;
  std::vector<std::int32_t> words;  // that have, or had, the pair; some more than once
};

struct Candidate {
  std::int64_t count;  // when it was pushed; the table knows the count of now
  std::uint64_t pair;
};
struct Later {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.count != b.count ? a.count < b.count : a.pair > b.pair;
  }
};

class Trainer {
 public:
  Trainer(const std::vector<WordCount>& words, const std::array<std::int32_t, 256>& byte_ids) {
    for (const WordCount& word : words) {
      Word& own = words_.emplace_back(Word{{}, word.count});
      for (const char byte : word.word)
        own.symbols.push_back(byte_ids[static_cast<unsigned char>(byte)]);
      count_pairs(words_.size() - 1, own.count, /*note=*/0);
    }
    for (const auto& [pair, entry] : pairs_) heap_.push_back({entry.count, pair});
    std::ranges::make_heap(heap_, Later{});
  }

  // The pair to join next, with its count of now.
  Candidate best() {
    while (!heap_.empty()) {
      std::ranges::pop_heap(heap_, Later{});
      const Candidate top = heap_.back();
      heap_.pop_back();
      const std::int64_t now = pairs_[top.pair].count;
      if (now == top.count) return top;
      push(now, top.pair);
    }
    return {0, 0};
  }

  void join(std::uint64_t pair, std::int32_t result) {
    const std::vector<std::int32_t> words = std::move(pairs_[pair].words);
    fresh_.clear();
    for (const std::int32_t index : words) {
      const auto place = static_cast<std::size_t>(index);
      if (!has_pair(words_[place].symbols, pair)) continue;
      count_pairs(place, -words_[place].count, kNone);
      replace(words_[place].symbols, pair, result);
      count_pairs(place, words_[place].count, result);
    }
    pairs_.erase(pair);
    std::ranges::sort(fresh_);
    fresh_.erase(std::unique(fresh_.begin(), fresh_.end()), fresh_.end());
    for (const std::uint64_t made : fresh_) push(pairs_[made].count, made);
  }

 private:
  static constexpr std::int32_t kNone = -1;

  void push(std::int64_t count, std::uint64_t pair) {
    if (count <= 0) return;
    heap_.push_back({count, pair});
    std::ranges::push_heap(heap_, Later{});
  }

  // Adds `count` to the pairs of a word. Those with the id `note` (0: all) learn where they are.
  void count_pairs(std::size_t index, std::int64_t count, std::int32_t note) {
    const std::vector<std::int32_t>& symbols = words_[index].symbols;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const std::uint64_t pair = pair_of(symbols[i], symbols[i + 1]);
      Pair& entry = pairs_[pair];
      entry.count += count;
      const bool is_new = symbols[i] == note || symbols[i + 1] == note;
      if (note != 0 && !is_new) continue;
      if (entry.words.empty() || entry.words.back() != static_cast<std::int32_t>(index))
        entry.words.push_back(static_cast<std::int32_t>(index));
      if (is_new && note != 0) fresh_.push_back(pair);
    }
  }

  static bool has_pair(const std::vector<std::int32_t>& symbols, std::uint64_t pair) {
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
      if (pair_of(symbols[i], symbols[i + 1]) == pair) return true;
    return false;
  }

  static void replace(std::vector<std::int32_t>& symbols, std::uint64_t pair, std::int32_t result) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const bool here = i + 1 < symbols.size() && pair_of(symbols[i], symbols[i + 1]) == pair;
      symbols[kept++] = here ? result : symbols[i];
      i += here ? 1 : 0;
    }
    symbols.resize(kept);
  }

  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::vector<Candidate> heap_;
  std::vector<std::uint64_t> fresh_;  // pairs that the last join made
};

}  // namespace

std::unique_ptr<Tokenizer> train_bpe(const std::vector<WordCount>& words,
                                     const TrainBpeOptions& options) {
  require(options.vocab >= 257 && options.vocab <= kMaxTokenIds,
          "[tokenizer train] a vocabulary of {} tokens is out of range, expected 257 to {}",
          options.vocab, kMaxTokenIds);
  TokenizerParts parts;
  BpeModel model;
  std::array<std::int32_t, 256> byte_ids{};
  for (const unsigned char byte : bytes_in_character_order()) {
    byte_ids[byte] = static_cast<std::int32_t>(parts.vocabulary.size());
    parts.vocabulary.add(byte_characters()[byte], parts.vocabulary.size());
  }
  Trainer trainer(words, byte_ids);
  while (parts.vocabulary.size() + 1 < options.vocab) {
    const Candidate best = trainer.best();
    if (best.count < std::max<std::int64_t>(options.min_count, 1)) break;
    const std::int32_t left = left_of(best.pair);
    const std::int32_t right = right_of(best.pair);
    const std::string token = *parts.vocabulary.token(left) + *parts.vocabulary.token(right);
    // Two pairs may spell the same token.
    if (!parts.vocabulary.find(token)) parts.vocabulary.add(token, parts.vocabulary.size());
    const std::int32_t result = *parts.vocabulary.find(token);
    model.merges.push_back({left, right, result});
    trainer.join(best.pair, result);
  }
  const std::int64_t end = parts.vocabulary.size();
  parts.vocabulary.add(std::string(kEndOfText), end);
  parts.added.push_back({.content = std::string(kEndOfText), .id = static_cast<std::int32_t>(end)});
  ByteLevelOptions splitting;
  splitting.stages.push_back({SplitPattern(kGpt2Pattern)});
  return std::make_unique<ByteLevelBpe>(std::move(parts), std::move(model), std::move(splitting));
}

}  // namespace twill
