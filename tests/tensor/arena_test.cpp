// SPDX-License-Identifier: Apache-2.0
#include "tensor/arena.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace twill {
namespace {

std::uintptr_t address(const View& view) { return reinterpret_cast<std::uintptr_t>(view.bytes()); }
bool overlap(const View& a, const View& b) {
  return a.bytes() < b.bytes() + b.num_bytes() && b.bytes() < a.bytes() + a.num_bytes();
}

TEST(Arena, FillsSlotsAtCommit) {
  Arena arena("weights");
  View a, b, c;
  arena.reserve(a, DType::kF32, {3, 5});
  arena.reserve(b, DType::kU8, {1});
  arena.reserve(c, DType::kF64, {100});
  EXPECT_FALSE(a);
  EXPECT_EQ(arena.num_bytes(), 64 + 64 + 832);  // every slot is padded to cache lines
  arena.commit();
  EXPECT_EQ(a.shape(), (Shape{3, 5}));
  EXPECT_EQ(b.dtype(), DType::kU8);
  EXPECT_EQ(c.num_elements(), 100);
  EXPECT_EQ(arena.name(), "weights");
}

TEST(Arena, SlotsAreAlignedZeroAndApart) {
  Arena arena("a");
  View slots[5];
  for (int i = 0; i < 5; ++i) arena.reserve(slots[i], DType::kF32, {7 * i + 1});
  arena.commit();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(address(slots[i]) % 64, 0u);
    const float* data = slots[i].as<float>();
    EXPECT_EQ(std::count(data, data + slots[i].num_elements(), 0.0f), slots[i].num_elements());
    for (int j = 0; j < i; ++j) EXPECT_FALSE(overlap(slots[i], slots[j])) << i << " " << j;
  }
}

TEST(Arena, SharedSlotsShareTheirBytes) {
  Arena arena("scratch");
  View small, large, other, own;
  arena.reserve_shared("attention", small, DType::kF32, {16});
  arena.reserve(own, DType::kF32, {16});
  arena.reserve_shared("attention", large, DType::kF64, {100});
  arena.reserve_shared("loss", other, DType::kF32, {16});
  EXPECT_EQ(arena.num_bytes(), 832 + 64 + 64);
  arena.commit();
  EXPECT_EQ(small.bytes(), large.bytes());
  EXPECT_EQ(small.shape(), Shape{16});
  EXPECT_EQ(large.dtype(), DType::kF64);
  EXPECT_FALSE(overlap(large, other));
  EXPECT_FALSE(overlap(large, own));
  EXPECT_FALSE(overlap(other, own));
  EXPECT_EQ(address(large) % 64, 0u);
  EXPECT_EQ(address(other) % 64, 0u);
}

TEST(Arena, LargeThenSmallKeepsTheLarge) {
  Arena arena("scratch");
  View large, small;
  arena.reserve_shared("x", large, DType::kF32, {1000});
  arena.reserve_shared("x", small, DType::kF32, {1});
  EXPECT_EQ(arena.num_bytes(), 4032);
}

TEST(Arena, MayBeEmpty) {
  Arena arena("nothing");
  View slot;
  arena.reserve(slot, DType::kF32, {0, 3});
  arena.commit();
  EXPECT_EQ(arena.num_bytes(), 0);
  EXPECT_EQ(slot.shape(), (Shape{0, 3}));
}

TEST(Arena, IsClosedAfterCommit) {
  Arena arena("weights");
  View slot, late;
  arena.reserve(slot, DType::kF32, {1});
  arena.commit();
  EXPECT_THROW(arena.reserve(late, DType::kF32, {1}), InternalError);
  EXPECT_THROW(arena.reserve_shared("x", late, DType::kF32, {1}), InternalError);
  EXPECT_THROW(arena.commit(), InternalError);
}

}  // namespace
}  // namespace twill
