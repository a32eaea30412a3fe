// SPDX-License-Identifier: Apache-2.0
// The ids of words already seen: text repeats itself.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace twill {

// A fixed table: a new word takes the place of an old one with the same slot, so memory is bounded
// and nothing is allocated per word. One entry is one cache line.
class WordCache {
 public:
  static constexpr std::size_t kMaxBytes = 30;
  static constexpr std::size_t kMaxIds = 8;

  WordCache() : entries_(kEntries) {}

  static bool fits(std::string_view word) { return word.size() <= kMaxBytes && !word.empty(); }

  // Appends the ids and says true when the word is known. The word fits().
  bool find(std::string_view word, std::vector<std::int32_t>& ids) {
    const Key key = key_of(word);
    slot_ = &entries_[key.slot];
    if (slot_->length != word.size() ||
        std::memcmp(slot_->bytes.data(), word.data(), word.size()) != 0)
      return false;
    ids.insert(ids.end(), slot_->ids.begin(), slot_->ids.begin() + slot_->count);
    return true;
  }

  // Remembers the word that find() was asked for last.
  void insert(std::string_view word, std::span<const std::int32_t> ids) {
    if (ids.size() > kMaxIds) return;
    slot_->length = static_cast<std::uint8_t>(word.size());
    slot_->count = static_cast<std::uint8_t>(ids.size());
    std::memcpy(slot_->bytes.data(), word.data(), word.size());
    std::ranges::copy(ids, slot_->ids.begin());
  }

 private:
  static constexpr int kEntryBits = 16;  // 4 MiB per encoder
  static constexpr std::size_t kEntries = std::size_t{1} << kEntryBits;

  struct alignas(64) Entry {
    std::uint8_t length = 0;  // 0: free
    std::uint8_t count = 0;
    std::array<char, kMaxBytes> bytes;
    std::array<std::int32_t, kMaxIds> ids;
  };
  struct Key {
    std::size_t slot;
  };

  static std::uint64_t load(const char* from, std::size_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, bytes);
    return value;
  }

  static Key key_of(std::string_view word) {
    constexpr std::uint64_t kMix = 0x9E37'79B9'7F4A'7C15u;
    std::uint64_t hash = word.size() * kMix;
    std::size_t at = 0;
    for (; at + 8 <= word.size(); at += 8) {
      hash = (hash ^ load(word.data() + at, 8)) * kMix;
      hash ^= hash >> 32;
    }
    std::uint64_t rest = 0;
    for (; at < word.size(); ++at) rest = rest << 8 | static_cast<unsigned char>(word[at]);
    hash = (hash ^ rest) * kMix;
    hash ^= hash >> 32;
    return {static_cast<std::size_t>(hash * kMix >> (64 - kEntryBits))};
  }

  std::vector<Entry> entries_;
  Entry* slot_ = nullptr;
};

}  // namespace twill
