// SPDX-License-Identifier: Apache-2.0
// The heart of BPE: which two neighbouring tokens become one, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace twill {

struct MergeRule {
  std::int32_t left;
  std::int32_t right;
  std::int32_t result;
};

// Pairs by hash. The rank is the place in the list; of a pair that comes twice the last counts, as
// in Hugging Face's tokenizers.
class MergeTable {
 public:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFFu;

  struct Entry {
    std::uint64_t pair = ~std::uint64_t{0};
    std::uint32_t rank = kNone;
    std::int32_t result = 0;
  };

  explicit MergeTable(const std::vector<MergeRule>& rules = {});

  // rank == kNone where the two do not join.
  Entry find(std::int32_t left, std::int32_t right) const {
    const std::uint64_t pair = pair_of(left, right);
    for (std::size_t slot = slot_of(pair);; slot = (slot + 1) & mask_) {
      const Entry& entry = slots_[slot];
      if (entry.pair == pair || entry.rank == kNone) return entry;
    }
  }

 private:
  static std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }
  std::size_t slot_of(std::uint64_t pair) const {
    return static_cast<std::size_t>(pair * 0x9E37'79B9'7F4A'7C15u >> shift_);
  }

  std::vector<Entry> slots_;
  std::size_t mask_ = 0;
  int shift_ = 63;
};

// Joins the symbols of one word until nothing joins: always the pair of lowest rank, of equal ones
// the leftmost. Keeps its scratch memory, so one per thread. n log n for any word.
class Merger {
 public:
  explicit Merger(const MergeTable& table) : table_(&table) {}
  void merge(std::vector<std::int32_t>& symbols);

 private:
  struct Candidate {
    std::uint32_t rank;
    std::int32_t result;
    std::int64_t left;
    std::int64_t right;
    std::uint64_t versions;  // of both when the offer was made
  };
  struct Later {
    bool operator()(const Candidate& a, const Candidate& b) const {
      return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
    }
  };
  static constexpr std::int64_t kGone = -2;  // joined to its left neighbour
  struct Link {
    std::int64_t previous;
    std::int64_t next;
    std::uint32_t version;  // counts the changes of a symbol
  };

  void merge_short(std::vector<std::int32_t>& symbols);
  void merge_long(std::vector<std::int32_t>& symbols);
  void offer(const std::vector<std::int32_t>& symbols, std::int64_t left, std::int64_t right);

  const MergeTable* table_;
  std::vector<MergeTable::Entry> pairs_;
  std::vector<Candidate> heap_;
  std::vector<Link> links_;
};

}  // namespace twill
