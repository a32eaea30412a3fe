// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/products/product_file.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/products.h"
#include "io/temp_dir.h"

namespace twill::cuda {
namespace {

TEST(ProductText, HoldsEveryNumber) {
  // Each number of the key its own value: one that is lost or swapped shows.
  const ProductKey key{.m = 1,
                       .n = 2,
                       .k = 3,
                       .trans_a = 4,
                       .trans_b = 5,
                       .accumulate = 6,
                       .type = 7,
                       .result_type = 8,
                       .epilogue = 9,
                       .align_a = 10,
                       .align_b = 11,
                       .align_c = 12,
                       .align_bias = 13,
                       .align_addend = 14,
                       .align_before = 15};
  const ProductMap products{{key, algorithm(7)}, {product(-5), kInTwoSteps}};
  const std::string text = to_text(products, "here");
  EXPECT_EQ(from_text(text, "here"), products);
  EXPECT_EQ(owner_of(text), "here");
  EXPECT_EQ(from_text(to_text({}, "here"), "here"), ProductMap());
}

TEST(ProductText, OfAnotherOwnerIsNotRead) {
  EXPECT_EQ(from_text(to_text({{product(1), algorithm(1)}}, "there"), "here"), std::nullopt);
}

// Any cut, and any byte changed, is noticed.
TEST(ProductText, DamageIsSeen) {
  const std::string text = to_text({{product(1), algorithm(1)}, {product(2), algorithm(2)}}, "x");
  for (std::size_t size = 0; size < text.size(); ++size)
    ASSERT_EQ(from_text(text.substr(0, size), "x"), std::nullopt) << "cut to " << size;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == '1' ? '2' : '1';
    ASSERT_EQ(from_text(changed, "x"), std::nullopt) << "byte " << at;
  }
  EXPECT_EQ(from_text(text + text, "x"), std::nullopt);
}

TEST(ProductFile, KeepsWhatWasAdded) {
  const TempDir dir;
  const std::string path = dir / "deep/er/products.txt";
  EXPECT_TRUE(ProductFile(some_machine(), path).read().empty());
  ProductFile(some_machine(), path).add(product(1), algorithm(1), nullptr);
  const ProductMap both{{product(1), algorithm(1)}, {product(2), algorithm(2)}};
  EXPECT_EQ(ProductFile(some_machine(), path).add(product(2), algorithm(2), nullptr), both);
  EXPECT_EQ(ProductFile(some_machine(), path).read(), both);
}

TEST(ProductFile, FirstWriterWins) {
  const TempDir dir;
  const std::string path = dir / "products.txt";
  ProductFile one(some_machine(), path), other(some_machine(), path);
  EXPECT_EQ(one.read(), other.read());  // both find nothing, and search
  EXPECT_EQ(one.add(product(1), algorithm(1), nullptr).at(product(1)), algorithm(1));
  EXPECT_EQ(other.add(product(1), algorithm(2), nullptr).at(product(1)), algorithm(1));
  EXPECT_EQ(one.read().at(product(1)), algorithm(1));
}

TEST(ProductFile, AnAnswerThatDidNotWorkIsReplaced) {
  const TempDir dir;
  ProductFile file(some_machine(), dir / "products.txt");
  file.add(product(1), algorithm(1), nullptr);
  const Algorithm refused = algorithm(1);
  EXPECT_EQ(file.add(product(1), algorithm(2), &refused).at(product(1)), algorithm(2));
  // Another process has replaced it by now: its answer stays.
  EXPECT_EQ(file.add(product(1), algorithm(3), &refused).at(product(1)), algorithm(2));
  EXPECT_EQ(file.read().at(product(1)), algorithm(2));
}

// Without the lock some writer would read before and write behind another, and drop its entries.
TEST(ProductFile, NoWriterLosesEntriesOfAnother) {
  const TempDir dir;
  const std::string path = dir / "products.txt";
  constexpr int kWriters = 4, kEach = 25;
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ProductFile file(some_machine(), path);
      const auto own = static_cast<std::uint64_t>(writer);
      for (int i = 0; i < kEach; ++i) {
        file.add(product(1000 * (writer + 1) + i), algorithm(own), nullptr);
        file.add(product(i), algorithm(own), nullptr);  // all want these
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(ProductFile(some_machine(), path).read().size(), std::size_t{kEach * (kWriters + 1)});
  EXPECT_EQ(dir.num_entries(), 2u);  // the file and its lock: nothing is left behind
}

TEST(ProductFile, ThreadsOfOneProcessExcludeEachOtherToo) {
  const TempDir dir;
  const std::string path = dir / "products.txt";
  constexpr int kWriters = 4, kEach = 25;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer)
    writers.emplace_back([&, writer] {
      ProductFile file(some_machine(), path);
      for (int i = 0; i < kEach; ++i) file.add(product(1000 * writer + i), algorithm(1), nullptr);
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(ProductFile(some_machine(), path).read().size(), std::size_t{kEach * kWriters});
}

TEST(ProductFile, ADamagedFileIsReportedOnceAndReplaced) {
  const TempDir dir;
  const std::string path = dir / "products.txt";
  ProductFile(some_machine(), path).add(product(1), algorithm(1), nullptr);
  std::string text = content_of(path);
  text[text.find("abcdef")] = 'b';
  for (const std::string& damaged : {text, text.substr(0, text.size() / 2), std::string()}) {
    dir.write("products.txt", damaged);
    const LoggedLines lines;
    ProductFile file(some_machine(), path);
    EXPECT_TRUE(file.read().empty());
    EXPECT_TRUE(file.read().empty());
    EXPECT_EQ(lines.get(),
              std::vector{path + " is damaged and is ignored: matrix products are timed anew"});
    file.add(product(2), algorithm(2), nullptr);
    EXPECT_EQ(ProductFile(some_machine(), path).read(), (ProductMap{{product(2), algorithm(2)}}));
  }
}

TEST(ProductFile, OneThatCannotBeWrittenIsAWarning) {
  const TempDir dir;
  const std::string path = dir.write("a_file", "") + "/products.txt";  // no folder can be there
  const LoggedLines lines;
  ProductFile file(some_machine(), path);
  EXPECT_EQ(file.add(product(1), algorithm(1), nullptr).at(product(1)), algorithm(1));
  EXPECT_EQ(file.add(product(2), algorithm(2), nullptr).at(product(2)), algorithm(2));
  EXPECT_EQ(lines.get(), std::vector{path + " cannot be written: later runs time matrix products "
                                            "again; set TWILL_CACHE to a folder that can"});
}

TEST(ProductFile, WithoutAPathNothingIsKept) {
  const LoggedLines lines;
  ProductFile file(some_machine(), {});
  EXPECT_EQ(file.add(product(1), algorithm(1), nullptr).at(product(1)), algorithm(1));
  EXPECT_TRUE(file.read().empty());
  EXPECT_TRUE(lines.get().empty());
}

// Every part of the machine leads to another file, and is checked inside it.
TEST(ProductFile, BelongsToOneMachine) {
  const TempDir dir;
  const char* old = std::getenv("TWILL_CACHE");
  const std::string restored = old == nullptr ? "" : old;
  setenv("TWILL_CACHE", dir.path().c_str(), 1);
  const std::string path = default_products_path(some_machine());
  EXPECT_EQ(path, dir / "products-6-NVIDIA-H200-132-130100-13000.txt");
  ProductFile(some_machine(), path).add(product(1), algorithm(1), nullptr);
  const auto expect_other = [&](const auto& change) {
    Machine other = some_machine();
    change(other);
    EXPECT_NE(default_products_path(other), path);
    const LoggedLines lines;
    EXPECT_TRUE(ProductFile(other, path).read().empty());
  };
  expect_other([](Machine& machine) { machine.gpu = "NVIDIA H100"; });
  expect_other([](Machine& machine) { machine.num_sms = 114; });
  expect_other([](Machine& machine) { machine.cublaslt_version = 130200; });
  expect_other([](Machine& machine) { machine.driver = 13010; });
  if (old == nullptr) {
    unsetenv("TWILL_CACHE");
  } else {
    setenv("TWILL_CACHE", restored.c_str(), 1);
  }
}

}  // namespace
}  // namespace twill::cuda
