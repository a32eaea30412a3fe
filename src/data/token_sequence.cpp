// SPDX-License-Identifier: Apache-2.0
#include "data/token_sequence.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace twill {
namespace {

// A mapped file may begin anywhere: loads go through memcpy, which the compiler removes.
template <class T>
void widen(const char* data, std::int64_t count, std::int32_t* ids) {
  for (std::int64_t i = 0; i < count; ++i) {
    T token;
    std::memcpy(&token, data + i * static_cast<std::int64_t>(sizeof token), sizeof token);
    ids[i] = static_cast<std::int32_t>(token);
  }
}

void widen(const char* data, int width, std::int64_t count, std::int32_t* ids) {
  switch (width) {
    case 1:
      return widen<std::uint8_t>(data, count, ids);
    case 2:
      return widen<std::uint16_t>(data, count, ids);
    case 4:
      return widen<std::uint32_t>(data, count, ids);
    default:
      return widen<std::uint64_t>(data, count, ids);
  }
}

}  // namespace

TokenSequence::TokenSequence(std::vector<std::uint16_t> tokens) {
  const auto owner = std::make_shared<const std::vector<std::uint16_t>>(std::move(tokens));
  append(owner, owner->data(), 2, std::ssize(*owner));
}

TokenSequence::TokenSequence(std::vector<std::uint32_t> tokens) {
  const auto owner = std::make_shared<const std::vector<std::uint32_t>>(std::move(tokens));
  append(owner, owner->data(), 4, std::ssize(*owner));
}

void TokenSequence::append(std::shared_ptr<const void> owner, const void* data, int width,
                           std::int64_t count) {
  TWILL_CHECK(width == 1 || width == 2 || width == 4 || width == 8, "no such width of a token");
  if (count == 0) return;
  pieces_.push_back({std::move(owner), static_cast<const char*>(data), width, size_, count});
  size_ += count;
}

void TokenSequence::append(const TokenSequence& other) {
  for (const Piece& piece : other.pieces_)
    append(piece.owner, piece.data, piece.width, piece.count);
}

std::vector<TokenSequence::Piece>::const_iterator TokenSequence::piece_at(
    std::int64_t index) const {
  return std::ranges::upper_bound(pieces_, index, {}, &Piece::begin) - 1;
}

std::int32_t TokenSequence::operator[](std::int64_t index) const {
  std::int32_t id = 0;
  copy(index, 1, &id);
  return id;
}

void TokenSequence::copy(std::int64_t begin, std::int64_t count, std::int32_t* ids) const {
  TWILL_CHECK(begin >= 0 && count >= 0 && begin <= size_ - count, "tokens out of bounds");
  if (count == 0) return;
  for (auto piece = piece_at(begin); count > 0; ++piece) {
    const std::int64_t skip = begin - piece->begin;
    const std::int64_t length = std::min(count, piece->count - skip);
    widen(piece->data + skip * piece->width, piece->width, length, ids);
    begin += length;
    ids += length;
    count -= length;
  }
}

TokenSequence TokenSequence::slice(std::int64_t begin, std::int64_t count) const {
  TWILL_CHECK(begin >= 0 && count >= 0 && begin <= size_ - count, "slice out of bounds");
  TokenSequence part;
  if (count == 0) return part;
  for (auto piece = piece_at(begin); count > 0; ++piece) {
    const std::int64_t skip = begin - piece->begin;
    const std::int64_t length = std::min(count, piece->count - skip);
    part.append(piece->owner, piece->data + skip * piece->width, piece->width, length);
    begin += length;
    count -= length;
  }
  return part;
}

}  // namespace twill
