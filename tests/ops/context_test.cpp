// SPDX-License-Identifier: Apache-2.0
#include "ops/context.h"

#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "ops/fill.h"
#include "ops/gemm.h"
#include "support/buffer.h"
#include "support/expect_error.h"

namespace twill {
namespace {

class Diary : public OpObserver {
 public:
  std::vector<std::string> lines;

  void before(std::string_view op) override { lines.push_back(fmt::format("before {}", op)); }
  void after(std::string_view op) override { lines.push_back(fmt::format("after {}", op)); }
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
  EXPECT_EQ(diary.lines,
            (Lines{"before fill", "after fill", "gemm 2 2 3", "before gemm", "after gemm"}));
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
