// SPDX-License-Identifier: Apache-2.0
#include "ops/context.h"

#include <string>
#include <vector>

#include "base/require.h"
#include "base/thread_pool.h"
#include "ops/numbers/cast.h"
#include "ops/numbers/fill.h"
#include "ops/products/gemm.h"
#include "support/buffer.h"
#include "support/expect_error.h"

namespace twill {
namespace {

class Diary : public OpObserver {
 public:
  std::vector<std::string> lines;

  void before(std::string_view op) override { lines.push_back(fmt::format("before {}", op)); }
  void after(std::string_view op, const OpWork& work) override {
    lines.push_back(fmt::format("after {}: {} bytes, {} FLOPs", op, work.bytes, work.flops));
  }
  void gemm(const GemmArgs& args) override {
    lines.push_back(fmt::format("gemm {} {} {}", args.m(), args.n(), args.k()));
  }
};

using Lines = std::vector<std::string>;

TEST(Context, ZeroThreadsMeansAll) {
  EXPECT_EQ(Context(reference_table(), 0).device().num_threads, default_num_threads());
  EXPECT_EQ(Context(reference_table(), 3).device().num_threads, 3);
}

TEST(Context, ObserverSeesOpsAsTheyRun) {
  Diary diary;
  Context context(reference_table(), 1);
  context.observer = &diary;
  const Buffer x(Values(6), DType::kF32), c(Values(4), DType::kF32);
  fill(context, {.x = x.view({6}), .value = 1.0});
  gemm(context, {.a = x.view({2, 3}), .b = x.view({3, 2}), .c = c.view({2, 2})});
  EXPECT_EQ(diary.lines, (Lines{"before fill", "after fill: 24 bytes, 0 FLOPs", "gemm 2 2 3",
                                "before gemm", "after gemm: 64 bytes, 24 FLOPs"}));
}

// What a profiler would show; the services are plain functions, so this is where they write.
Lines& ranges() {
  static Lines lines;
  return lines;
}

TEST(Context, EveryOpIsARangeThatEndsWithIt) {
  ranges().clear();
  KernelTable table = reference_table();
  table.push_range = [](const char* name) { ranges().push_back(name); };
  table.pop_range = [] { ranges().push_back("end"); };
  table.cast = [](const CastArgs&, const Device&, Queue&) { fail("broken"); };
  const Context context(table, 1);
  const Buffer x(Values(6), DType::kF32), y(Values(6), DType::kBf16);
  fill(context, {.x = x.view({6}), .value = 1.0});
  expect_error([&] { cast(context, {.x = x.view({6}), .y = y.view({6})}); }, "broken");
  EXPECT_EQ(ranges(), (Lines{"fill", "end", "cast", "end"}));
}

TEST(Context, ARefusedOpDoesNotRun) {
  Diary diary;
  Context context(reference_table(), 1);
  context.observer = &diary;
  expect_error([&] { fill(context, {}); }, "[fill] x is missing");
  EXPECT_TRUE(diary.lines.empty());
}

}  // namespace
}  // namespace twill
