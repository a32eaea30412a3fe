// SPDX-License-Identifier: Apache-2.0
// How the cpu stores a packed matrix P (ops/packing/packed_matrix.h).
//
// Rows are cut into blocks of 256 and columns into chunks; a block and a chunk make a group, and a
// group's rows are strips of four. Inside a strip the columns are sorted by the set of rows that
// keep them: fifteen lists, for the fifteen sets that are not empty. A product loads what faces a
// column once and uses it for every row of the set: 0.5 loads per multiply-add with 2:4, 0.68 with
// 75 % zeros, 0.86 with 90 %. Every sum runs over the chunks, in a chunk over the lists in the
// order of kRowSets, in a list over its columns, ascending.
//
//   header    64 B
//   groups    GroupBegin, block by block, in a block chunk by chunk, and one at the end
//   counts    16 u16 per strip, in the order of the groups: lengths of its lists, the last unused
//   columns   u16, list by list, counted from the chunk's first
//   values    f32, for each column those of the set's rows, ascending
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace twill::cpu {

constexpr std::int64_t kStripRows = 4;
// What a product adds up for a block, 64 sums per row, takes 64 KB and stays in the second cache.
constexpr std::int64_t kBlockRows = 256;
constexpr std::int64_t kBlockStrips = kBlockRows / kStripRows;
// Bit r of a set stands for row r of the strip.
constexpr std::array<unsigned, 15> kRowSets = {1, 2, 4, 8, 3, 5, 6, 9, 10, 12, 7, 11, 13, 14, 15};
constexpr std::int64_t kCountsPerStrip = 16;

struct PackedHeader {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t chunk = 0;  // columns per chunk; the last may have fewer
  std::int64_t kept = 0;
  std::int64_t groups_at = 0;  // bytes from the beginning of the storage
  std::int64_t counts_at = 0;
  std::int64_t columns_at = 0;
  std::int64_t values_at = 0;
};
static_assert(sizeof(PackedHeader) == 64);

struct GroupBegin {
  std::int64_t column;  // in `columns`
  std::int64_t value;   // in `values`
};

// The cut of a matrix into groups. There is always at least one chunk, be it empty.
struct PackedGrid {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t chunk;

  static std::int64_t pieces(std::int64_t extent, std::int64_t piece) {
    return (extent + piece - 1) / piece;
  }
  std::int64_t blocks() const { return pieces(rows, kBlockRows); }
  std::int64_t chunks() const { return std::max<std::int64_t>(1, pieces(cols, chunk)); }
  std::int64_t groups() const { return blocks() * chunks(); }
  std::int64_t strips() const { return pieces(rows, kStripRows); }
  std::int64_t strips_of(std::int64_t block) const {
    return std::min(kBlockStrips, strips() - block * kBlockStrips);
  }
  // The group's first strip, in `counts`.
  std::int64_t first_strip(std::int64_t block, std::int64_t index) const {
    return block * kBlockStrips * chunks() + index * strips_of(block);
  }
  std::int64_t cols_of(std::int64_t index) const { return std::min(chunk, cols - index * chunk); }
};

// The lists of one group. Value is float or const float, Index likewise.
template <class Index, class Value>
struct GroupLists {
  Index* counts;
  Index* columns;
  Value* values;
  std::int64_t strips;
};
using PackedGroup = GroupLists<const std::uint16_t, const float>;

// Storage that has a header. Byte is std::byte or const std::byte.
template <class Byte>
class PackedStorage {
  template <class T>
  using Like = std::conditional_t<std::is_const_v<Byte>, const T, T>;

 public:
  explicit PackedStorage(Byte* bytes) : bytes_(bytes) {}

  Like<PackedHeader>& header() const { return *at<PackedHeader>(0); }
  PackedGrid grid() const { return {header().rows, header().cols, header().chunk}; }
  Like<GroupBegin>* groups() const { return at<GroupBegin>(header().groups_at); }

  Like<std::uint16_t>* counts(std::int64_t block, std::int64_t chunk) const {
    return at<std::uint16_t>(header().counts_at) +
           grid().first_strip(block, chunk) * kCountsPerStrip;
  }
  GroupLists<Like<std::uint16_t>, Like<float>> group(std::int64_t block, std::int64_t chunk) const {
    const GroupBegin begin = groups()[block * grid().chunks() + chunk];
    return {counts(block, chunk), at<std::uint16_t>(header().columns_at) + begin.column,
            at<float>(header().values_at) + begin.value, grid().strips_of(block)};
  }

 private:
  template <class T>
  Like<T>* at(std::int64_t offset) const {
    return reinterpret_cast<Like<T>*>(bytes_ + offset);
  }

  Byte* bytes_;
};

}  // namespace twill::cpu
