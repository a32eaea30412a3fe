// SPDX-License-Identifier: Apache-2.0
#include "io/config/config_json.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace twill {
namespace {

struct Group {
  double scale = 0.5;
  void fields(FieldVisitor& visit) { visit("scale", scale, Range<double>{0.0, 9.0}, "a share"); }
};

struct Inner {
  std::string until = "10 steps";
  std::vector<Group> group;
  void fields(FieldVisitor& visit) {
    visit.number_or_text("until", until, "an end");
    visit.list("group", group, "groups");
  }
};

struct Whole {
  std::int64_t steps = 7;
  bool is_on = true;
  std::vector<std::string> names{"a", "b"};
  Inner inner;
  std::string last = "behind the section";
  void fields(FieldVisitor& visit) {
    visit("steps", steps, Range<std::int64_t>{0, 9}, "a count");
    visit("on", is_on, "a switch");
    visit("names", names, "words");
    visit.section("inner", inner, "a section");
    visit("last", last, {}, "a text");
  }
};

TEST(ConfigJson, HasEveryFieldInItsPlace) {
  Whole config;
  EXPECT_EQ(to_compact_json(config_json(config)),
            R"({"steps":7,"on":true,"names":["a","b"],"inner":{"until":"10 steps","group":[]},)"
            R"("last":"behind the section"})");
  config.inner.group = {{.scale = 2.0}, {}};
  EXPECT_EQ(to_compact_json(*config_json(config).find("inner")),
            R"({"until":"10 steps","group":[{"scale":2.0},{"scale":0.5}]})");
}

}  // namespace
}  // namespace twill
