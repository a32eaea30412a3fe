// SPDX-License-Identifier: Apache-2.0
#include "tensor/arena.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace twill {
namespace {

// A cache line: no two slots share one, and every slot starts aligned for the widest vectors.
constexpr std::int64_t kAlignment = 64;

std::int64_t padded(DType dtype, const Shape& shape) {
  const std::int64_t bytes = shape.num_elements() * size_of(dtype);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Arena::Arena(std::string name, const Memory& memory) : name_(std::move(name)), memory_(&memory) {}

Arena::~Arena() { memory_->release(data_, committed_); }

void Arena::reserve(View& slot, DType dtype, Shape shape) {
  TWILL_CHECK(data_ == nullptr, "arena is already committed");
  slots_.push_back({&slot, dtype, shape, nullptr});
  bytes_ += padded(dtype, shape);
}

void Arena::reserve_shared(std::string_view name, View& slot, DType dtype, Shape shape) {
  TWILL_CHECK(data_ == nullptr, "arena is already committed");
  auto group = groups_.find(name);
  if (group == groups_.end()) group = groups_.emplace(std::string(name), Group{}).first;
  const std::int64_t grown = std::max(group->second.bytes, padded(dtype, shape));
  bytes_ += grown - group->second.bytes;
  group->second.bytes = grown;
  slots_.push_back({&slot, dtype, shape, &group->first});
}

void Arena::commit() {
  TWILL_CHECK(data_ == nullptr, "arena is already committed");
  // Private slots were laid out as they came, as if alone; shared groups follow behind them.
  std::int64_t end = 0;
  for (const Slot& slot : slots_)
    if (slot.group == nullptr) end += padded(slot.dtype, slot.shape);
  for (auto& [name, group] : groups_) group.offset = std::exchange(end, end + group.bytes);
  TWILL_CHECK(end == bytes_, "arena layout covers what was reserved");

  committed_ = bytes_;
  data_ = memory_->allocate(committed_);
  std::int64_t offset = 0;
  for (const Slot& slot : slots_) {
    const bool shared = slot.group != nullptr;
    const std::int64_t at = shared ? groups_.find(*slot.group)->second.offset : offset;
    if (!shared) offset += padded(slot.dtype, slot.shape);
    *slot.view = View(data_ + at, slot.dtype, slot.shape);
  }
}

}  // namespace twill
