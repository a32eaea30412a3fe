// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/products/product_plan.h"

#include <gtest/gtest.h>

#include "backends/products.h"
#include "io/temp_dir.h"

namespace twill::cuda {
namespace {

Algorithm known(const ProductPlan& plan, std::int64_t m) {
  const Algorithm* found = plan.known(product(m));
  return found == nullptr ? algorithm(0) : *found;
}

TEST(ProductPlan, RemembersForTheQueuesLife) {
  ProductPlan plan(some_machine(), {});
  EXPECT_EQ(plan.chosen(product(1)), nullptr);
  plan.choose(product(1), std::nullopt);
  plan.choose(product(2), algorithm(2));
  ASSERT_NE(plan.chosen(product(1)), nullptr);
  EXPECT_EQ(*plan.chosen(product(1)), std::nullopt);
  EXPECT_EQ(*plan.chosen(product(2)), algorithm(2));
  EXPECT_EQ(plan.known(product(2)), nullptr);
  EXPECT_EQ(plan.choices(), "");  // every run would choose the same
}

TEST(ProductPlan, FindsAnEarlierSearch) {
  const TempDir dir;
  const std::string path = dir / "products.txt";
  EXPECT_EQ(ProductPlan(some_machine(), path).keep_searched(product(1), algorithm(1)),
            algorithm(1));
  EXPECT_EQ(known(ProductPlan(some_machine(), path), 1), algorithm(1));
}

TEST(ProductPlan, TakesTheAnswerOfWhoSearchedFirst) {
  const TempDir dir;
  const std::string path = dir / "products.txt";
  ProductPlan one(some_machine(), path), other(some_machine(), path);
  one.keep_searched(product(1), algorithm(1));
  one.keep_searched(product(2), algorithm(2));
  EXPECT_EQ(other.keep_searched(product(1), algorithm(9)), algorithm(1));
  EXPECT_EQ(known(other, 2), algorithm(2));  // and all else that is there by now
}

TEST(ProductPlan, KeepsSearchesWithoutAFile) {
  ProductPlan plan(some_machine(), {});
  plan.keep_searched(product(1), algorithm(1));
  plan.keep_searched(product(2), algorithm(2));
  EXPECT_EQ(known(plan, 1), algorithm(1));
  EXPECT_EQ(known(plan, 2), algorithm(2));
}

TEST(ProductPlan, ReplacesAnAnswerThatDoesNotWork) {
  const TempDir dir;
  const std::string path = dir / "products.txt";
  ProductPlan(some_machine(), path).keep_searched(product(1), algorithm(1));
  ProductPlan plan(some_machine(), path);
  plan.refuse(product(1));
  EXPECT_EQ(plan.known(product(1)), nullptr);
  EXPECT_EQ(plan.keep_searched(product(1), algorithm(2)), algorithm(2));
  EXPECT_EQ(known(ProductPlan(some_machine(), path), 1), algorithm(2));
}

TEST(ProductPlan, ChoicesOfARunComeBack) {
  ProductPlan before(some_machine(), {});
  before.choose_for_run(product(1), algorithm(1));
  before.choose_for_run(product(2), kInTwoSteps);
  before.choose(product(3), algorithm(3));  // small: not the stopwatch's
  ProductPlan after(some_machine(), {});
  after.load_choices(before.choices());
  EXPECT_EQ(known(after, 1), algorithm(1));
  EXPECT_EQ(known(after, 2), kInTwoSteps);
  EXPECT_EQ(after.known(product(3)), nullptr);
  // What the resumed run has not needed yet is not lost when it is saved again.
  EXPECT_EQ(after.choices(), before.choices());
}

TEST(ProductPlan, ARunIsAskedBeforeTheFile) {
  const TempDir dir;
  const std::string path = dir / "products.txt";
  ProductPlan run(some_machine(), {});
  run.choose_for_run(product(1), algorithm(1));
  ProductPlan plan(some_machine(), path);
  plan.keep_searched(product(1), algorithm(5));
  plan.choose_for_run(product(1), algorithm(5));
  plan.load_choices(run.choices());
  EXPECT_EQ(plan.chosen(product(1)), nullptr);  // is decided again,
  EXPECT_EQ(known(plan, 1), algorithm(1));      // as the run says
  const LoggedLines lines;
  plan.refuse(product(1));
  EXPECT_EQ(known(plan, 1), algorithm(5));
  ASSERT_EQ(lines.get().size(), 1u);
  EXPECT_EQ(lines.get()[0].find("gemm (1, 6400, 1600): the algorithm that this run used before"),
            0u);
}

TEST(ProductPlan, ChoicesOutliveADriver) {
  ProductPlan before(some_machine(), {});
  before.choose_for_run(product(1), algorithm(1));
  Machine updated = some_machine();
  updated.driver = 13010;
  ProductPlan after(updated, {});
  after.load_choices(before.choices());
  EXPECT_EQ(known(after, 1), algorithm(1));
}

TEST(ProductPlan, ChoicesOfAnotherMachineAreOneLine) {
  Machine other = some_machine();
  other.cublaslt_version = 120900;
  ProductPlan before(other, {}), after(some_machine(), {});
  before.choose_for_run(product(1), algorithm(1));
  const LoggedLines lines;
  after.load_choices(before.choices());
  EXPECT_EQ(after.known(product(1)), nullptr);
  EXPECT_EQ(lines.get(),
            std::vector{std::string(
                "the run's choices of algorithms for matrix products were made on NVIDIA H200, 132 "
                "SMs, cuBLASLt 120900, and this is NVIDIA H200, 132 SMs, cuBLASLt 130100; they are "
                "made again, and last bits may differ")});
}

TEST(ProductPlan, DamagedChoicesAreOneLine) {
  ProductPlan before(some_machine(), {}), after(some_machine(), {});
  before.choose_for_run(product(1), algorithm(1));
  std::string text = before.choices();
  text[text.size() / 2] = '?';
  const LoggedLines lines;
  after.load_choices(text);
  after.load_choices("");  // a run from before there were any: nothing to say
  EXPECT_EQ(after.known(product(1)), nullptr);
  EXPECT_EQ(lines.get(),
            std::vector{std::string(
                "the run's choices of algorithms for matrix products are damaged or of another "
                "version of Twill; they are made again, and last bits may differ")});
}

}  // namespace
}  // namespace twill::cuda
