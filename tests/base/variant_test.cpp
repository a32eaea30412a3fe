// SPDX-License-Identifier: Apache-2.0
#include "base/variant.h"

#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace twill {
namespace {

// Throws when it is copied for the n-th time.
struct Rationed {
  static inline int left = -1;
  std::string text = std::string(50, 'x');
  Rationed() = default;
  Rationed(const Rationed& other) : text(other.text) {
    if (left >= 0 && left-- == 0) throw std::bad_alloc();
  }
  Rationed(Rationed&&) noexcept = default;
  Rationed& operator=(const Rationed&) = default;
  Rationed& operator=(Rationed&&) noexcept = default;
};

struct Tree {
  Variant<std::monostate, std::string, std::vector<Rationed>, std::vector<Tree>> value;
};

// With a std::variant this ends in a SIGSEGV or SIGILL under GCC 12 from -O1 on.
TEST(Variant, SurvivesACopyThatFails) {
  Tree tree;
  std::vector<Tree> branches(3);
  for (Tree& branch : branches) branch.value = std::vector<Rationed>(4);
  tree.value = branches;
  for (int n = 0; n < 14; ++n) {
    Rationed::left = n;
    bool failed = false;
    try {
      const Tree copy(tree);
      EXPECT_EQ(std::get<std::vector<Tree>>(copy.value).size(), 3u);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    Rationed::left = -1;
    EXPECT_EQ(failed, n < 12);
  }
}

}  // namespace
}  // namespace twill
