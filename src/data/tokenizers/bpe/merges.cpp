// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/bpe/merges.h"

#include <algorithm>
#include <bit>

namespace twill {
namespace {

// Up to here a scan for the lowest rank costs less than a heap: words of natural text have 2 to 12.
constexpr std::size_t kShortWord = 40;

}  // namespace

MergeTable::MergeTable(const std::vector<MergeRule>& rules) {
  // At most half full: two probes on average.
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(rules.size() * 2, 2));
  slots_.resize(size);
  mask_ = size - 1;
  shift_ = 64 - std::countr_zero(size);
  std::uint32_t rank = 0;
  for (const MergeRule& rule : rules) {
    const std::uint64_t pair = pair_of(rule.left, rule.right);
    std::size_t slot = slot_of(pair);
    while (slots_[slot].rank != kNone && slots_[slot].pair != pair) slot = (slot + 1) & mask_;
    slots_[slot] = {pair, rank++, rule.result};
  }
}

void Merger::merge(std::vector<std::int32_t>& symbols) {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShortWord)
    merge_short(symbols);
  else
    merge_long(symbols);
}

void Merger::merge_short(std::vector<std::int32_t>& symbols) {
  pairs_.resize(symbols.size() - 1);
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
    pairs_[i] = table_->find(symbols[i], symbols[i + 1]);
  while (!pairs_.empty()) {
    const auto best = std::ranges::min_element(pairs_, {}, &MergeTable::Entry::rank);
    if (best->rank == MergeTable::kNone) return;
    const auto at = best - pairs_.begin();
    symbols[static_cast<std::size_t>(at)] = best->result;
    symbols.erase(symbols.begin() + at + 1);
    pairs_.erase(best);
    const auto place = static_cast<std::size_t>(at);
    if (place > 0) pairs_[place - 1] = table_->find(symbols[place - 1], symbols[place]);
    if (place < pairs_.size()) pairs_[place] = table_->find(symbols[place], symbols[place + 1]);
  }
}

void Merger::offer(const std::vector<std::int32_t>& symbols, std::int64_t left,
                   std::int64_t right) {
  const auto at = [&](std::int64_t i) { return symbols[static_cast<std::size_t>(i)]; };
  const MergeTable::Entry entry = table_->find(at(left), at(right));
  if (entry.rank == MergeTable::kNone) return;
  // Both versions together: either side's change makes the offer void.
  const std::uint64_t versions = std::uint64_t{links_[static_cast<std::size_t>(left)].version} +
                                 links_[static_cast<std::size_t>(right)].version;
  heap_.push_back({entry.rank, entry.result, left, right, versions});
  std::ranges::push_heap(heap_, Later{});
}

void Merger::merge_long(std::vector<std::int32_t>& symbols) {
  const auto count = static_cast<std::int64_t>(symbols.size());
  const auto link = [&](std::int64_t i) -> Link& { return links_[static_cast<std::size_t>(i)]; };
  links_.resize(symbols.size());
  heap_.clear();
  for (std::int64_t i = 0; i < count; ++i) link(i) = {i - 1, i + 1 < count ? i + 1 : -1, 0};
  for (std::int64_t i = 0; i + 1 < count; ++i) offer(symbols, i, i + 1);
  while (!heap_.empty()) {
    std::ranges::pop_heap(heap_, Later{});
    const Candidate best = heap_.back();
    heap_.pop_back();
    const bool void_offer =
        link(best.left).next != best.right ||
        std::uint64_t{link(best.left).version} + link(best.right).version != best.versions;
    if (void_offer) continue;
    symbols[static_cast<std::size_t>(best.left)] = best.result;
    ++link(best.left).version;
    const std::int64_t next = link(best.right).next;
    link(best.left).next = next;
    link(best.right).next = kGone;
    if (next >= 0) {
      link(next).previous = best.left;
      offer(symbols, best.left, next);
    }
    if (link(best.left).previous >= 0) offer(symbols, link(best.left).previous, best.left);
  }
  std::size_t kept = 0;
  for (std::int64_t i = 0; i >= 0; i = link(i).next)
    symbols[kept++] = symbols[static_cast<std::size_t>(i)];
  symbols.resize(kept);
}

}  // namespace twill
