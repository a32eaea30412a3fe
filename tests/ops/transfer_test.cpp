// SPDX-License-Identifier: Apache-2.0
#include "ops/transfer.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ops/layers/layer_norm.h"
#include "ops/numbers/cast.h"
#include "ops/numbers/fill.h"
#include "ops/products/gemm.h"
#include "support/expect_error.h"
#include "support/fake_device.h"
#include "support/tables.h"

namespace twill {
namespace {

using Floats = std::vector<float>;

// Memory of the host, and of a device.
class Transfer : public testing::TestWithParam<bool> {
 protected:
  bool on_device() const { return GetParam(); }
  Tensor tensor(DType dtype, Shape shape) const { return {dtype, shape, context_.memory()}; }

  const KernelTable table_ = on_device() ? fake_device_table() : reference_table();
  const Context context_{table_, 1};
  testing::ScopedTrace seed_{__FILE__, __LINE__, seed_note()};
};

std::string memory_name(const testing::TestParamInfo<bool>& info) {
  return info.param ? "fake_device" : "host";
}
INSTANTIATE_TEST_SUITE_P(Memory, Transfer, testing::Bool(), memory_name);

TEST_P(Transfer, BringsBytesThereAndBack) {
  Random random;
  for (const std::int64_t count : {0, 1, 17, 4099}) {
    const Values drawn = random.normal(count);
    const Floats there(drawn.begin(), drawn.end());
    Tensor x = tensor(DType::kF32, {count});
    copy_in(context_, x.view(), there.data());
    Floats back(there.size(), -1.0f);
    copy_out(context_, back.data(), x.view());
    EXPECT_EQ(back, there);
  }
}

TEST_P(Transfer, TouchesTheViewOnly) {
  Tensor x = tensor(DType::kF32, {6});
  fill(context_, {.x = x.view(), .value = 3.0});
  const Floats two{1.0f, 2.0f};
  copy_in(context_, x.view().slice(2, 2), two.data());
  EXPECT_EQ(host_floats(context_, x.view()), (Floats{3, 3, 1, 2, 3, 3}));
  Floats part(4, 9.0f);
  copy_out(context_, part.data() + 1, x.view().slice(2, 2));
  EXPECT_EQ(part, (Floats{9, 1, 2, 9}));
}

TEST_P(Transfer, IsOrderedWithTheQueuesWork) {
  Tensor x = tensor(DType::kF32, {2});
  const Floats ones{1.0f, 1.0f};
  fill(context_, {.x = x.view(), .value = 3.0});
  copy_in(context_, x.view().slice(0, 1), ones.data());
  EXPECT_EQ(host_floats(context_, x.view()), (Floats{1, 3}));
  copy_in(context_, x.view(), ones.data());
  fill(context_, {.x = x.view().slice(1, 1), .value = 4.0});
  EXPECT_EQ(host_floats(context_, x.view()), (Floats{1, 4}));
}

TEST_P(Transfer, CopiesInsideTheMemory) {
  Tensor x = tensor(DType::kF32, {3}), y = tensor(DType::kF32, {3});
  fill(context_, {.x = x.view(), .value = 3.0});
  copy(context_, y.view(), x.view());
  fill(context_, {.x = x.view(), .value = 5.0});
  EXPECT_EQ(host_values<float>(context_, y.view()), Floats(3, 3.0f));
  EXPECT_EQ(host_values<float>(context_, x.view().slice(1, 2)), Floats(2, 5.0f));
  EXPECT_ANY_THROW(copy(context_, y.view(), x.view().slice(0, 2)));
}

TEST_P(Transfer, StagedBytesArriveByTheNextWait) {
  Tensor staged(DType::kF32, {3}, staging_memory(context_));
  Tensor x = tensor(DType::kF32, {3});
  for (const float value : {1.0f, 2.0f}) {
    std::fill_n(staged.view().as<float>(), 3, value);
    copy_in(context_, x.view(), staged.view().bytes());
    wait(context_);
    EXPECT_EQ(host_floats(context_, x.view()), Floats(3, value));
  }
}

TEST_P(Transfer, AHostCopyIsTheViewItselfWhereMemoryIsShared) {
  EXPECT_EQ(shares_memory(context_), !on_device());
  Tensor x = tensor(DType::kF32, {2, 2});
  fill(context_, {.x = x.view(), .value = 3.0});
  const HostCopy copy(context_, x.view());
  EXPECT_EQ(copy.view().bytes() == x.view().bytes(), !on_device());
  EXPECT_EQ(copy.view().shape(), x.view().shape());
  fill(context_, {.x = x.view(), .value = 5.0});
  wait(context_);
  EXPECT_EQ(copy.view().as<float>()[3], on_device() ? 3.0f : 5.0f);
}

TEST_P(Transfer, FloatsOfBf16AreExact) {
  Tensor x = tensor(DType::kF32, {3}), narrow = tensor(DType::kBf16, {3});
  const Floats values{1.0f, -0.15625f, 1.00390625f};  // the last lies between two: to even
  copy_in(context_, x.view(), values.data());
  cast(context_, {.x = x.view(), .y = narrow.view()});
  EXPECT_EQ(host_floats(context_, narrow.view()), (Floats{1.0f, -0.15625f, 1.0f}));
}

TEST(Device, SaysWhichOneIsNotThere) {
  const KernelTable table = fake_device_table();
  expect_error([&] { Context(table, 1, 3); },
               "device fake:3: there is one fake device, number 0; take another one, or use "
               "device=cpu");
  EXPECT_EQ(Context(table, 1, 0).device().index, 0);
}

TEST(Device, SaysWhichOperationItLacks) {
  KernelTable table = fake_device_table();
  table.fill = nullptr;
  const Context context(table, 1);
  Tensor x(DType::kF32, {2}, context.memory());
  expect_error([&] { fill(context, {.x = x.view(), .value = 1.0}); },
               "[fill] the fake backend does not have this operation; run with device=cpu");
}

TEST(Device, SaysWhichTypesDoNotFit) {
  const KernelTable table = fake_device_table();
  const Context context(table, 1);
  Tensor narrow(DType::kBf16, {2, 2}, context.memory()), ids(DType::kI32, {2}, context.memory());
  Tensor x(DType::kF32, {2, 2}, context.memory());
  expect_error([&] { fill(context, {.x = ids.view()}); },
               "[fill] x must be f32, bf16 or f64, got i32");
  expect_error([&] { fill(context, {.x = narrow.view()}); },
               "[fill] the fake backend computes in f32 and got bf16");
  expect_error([&] { gemm(context, {.a = narrow.view(), .b = x.view(), .c = narrow.view()}); },
               "[gemm] b must be bf16 like a, got f32");
  // Statistics of bf16 rows are f32.
  Tensor row(DType::kBf16, {2}, context.memory());
  expect_error(
      [&] {
        layer_norm_forward(context, {.x = narrow.view(),
                                     .weight = row.view(),
                                     .y = narrow.view(),
                                     .mean = row.view(),
                                     .rstd = row.view()});
      },
      "[layer_norm] mean must be f32 beside x, got bf16");
}

}  // namespace
}  // namespace twill
