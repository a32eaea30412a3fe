// SPDX-License-Identifier: Apache-2.0
// Tokens one after the other, wherever they lie: in memory or in mapped files, in 1, 2, 4 or 8
// bytes each. Copies share the tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace twill {

// Ids are below this: they are passed on as int32.
inline constexpr std::int64_t kMaxVocabulary = std::int64_t{1} << 31;

class TokenSequence {
 public:
  TokenSequence() = default;
  TokenSequence(std::vector<std::uint16_t> tokens);
  TokenSequence(std::vector<std::uint32_t> tokens);

  // `count` unsigned little-endian integers of `width` bytes at `data`, which `owner` keeps alive.
  void append(std::shared_ptr<const void> owner, const void* data, int width, std::int64_t count);
  void append(const TokenSequence& other);

  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int32_t operator[](std::int64_t index) const;

  // ids[i] = token begin + i, for i in [0, count). A range may cross pieces.
  void copy(std::int64_t begin, std::int64_t count, std::int32_t* ids) const;

  TokenSequence slice(std::int64_t begin, std::int64_t count) const;

 private:
  struct Piece {
    std::shared_ptr<const void> owner;
    const char* data;
    int width;
    std::int64_t begin;  // in the sequence
    std::int64_t count;
  };
  std::vector<Piece>::const_iterator piece_at(std::int64_t index) const;

  std::vector<Piece> pieces_;  // none is empty
  std::int64_t size_ = 0;
};

}  // namespace twill
