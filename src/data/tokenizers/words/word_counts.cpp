// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/words/word_counts.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "data/tokenizers/unicode/utf8.h"
#include "data/tokenizers/vocabulary.h"
#include "data/tokenizers/words/split_pattern.h"

namespace twill {
namespace {

constexpr std::size_t kPartBytes = std::size_t{1} << 20;

using Counts = std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>>;

// Between a letter or digit and a space: no word of the pattern goes across.
std::vector<std::size_t> part_ends(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t at = kPartBytes; at < text.size(); ++at) {
    const char before = text[at - 1];
    if (!is_ascii_space(text[at]) || !(is_ascii_letter(before) || is_ascii_digit(before))) continue;
    ends.push_back(at);
    at += kPartBytes;
  }
  ends.push_back(text.size());
  return ends;
}

void count_part(std::string_view text, Gpt2Splitter& splitter, Counts& counts) {
  std::string marked;
  std::string_view seen = text;
  if (!is_valid_utf8(text)) seen = marked = with_invalid_bytes_marked(text);
  for (std::size_t at = 0; at < seen.size();) {
    const std::size_t length = splitter.word_length(seen, at);
    const std::string_view word = text.substr(at, length);
    at += length;
    if (const auto known = counts.find(word); known != counts.end())
      ++known->second;
    else
      counts.emplace(word, 1);
  }
}

void count_documents(std::string_view text, Gpt2Splitter& splitter, Counts& counts) {
  while (!text.empty()) {
    const std::size_t end = text.find(kEndOfText);
    count_part(text.substr(0, end), splitter, counts);
    text.remove_prefix(end == text.npos ? text.size() : end + kEndOfText.size());
  }
}

}  // namespace

std::vector<WordCount> count_words(std::string_view text, ThreadPool& pool) {
  const SplitPattern pattern(kGpt2Pattern);
  const std::vector<std::size_t> ends = part_ends(text);
  std::vector<Counts> by_thread(static_cast<std::size_t>(pool.num_threads()));
  std::vector<Gpt2Splitter> splitters;
  for (std::size_t i = 0; i < by_thread.size(); ++i) splitters.emplace_back(pattern);
  pool.run(static_cast<std::int64_t>(ends.size()), [&](std::int64_t index, int thread) {
    const auto i = static_cast<std::size_t>(index);
    const auto t = static_cast<std::size_t>(thread);
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    count_documents(text.substr(begin, ends[i] - begin), splitters[t], by_thread[t]);
  });
  Counts& all = by_thread[0];
  for (std::size_t i = 1; i < by_thread.size(); ++i)
    for (const auto& [word, count] : by_thread[i]) all[word] += count;
  std::vector<WordCount> words;
  words.reserve(all.size());
  for (const auto& [word, count] : all) words.push_back({word, count});
  std::ranges::sort(words, {}, &WordCount::word);
  return words;
}

}  // namespace twill
