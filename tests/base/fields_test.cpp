// SPDX-License-Identifier: Apache-2.0
#include "base/fields.h"

#include <gtest/gtest.h>

namespace twill {
namespace {

const std::vector<std::string> kKnown{"refresh", "until", "steps", "lr"};

TEST(Nearest, FindsTheSmallestEditDistance) {
  EXPECT_EQ(nearest("refesh", kKnown), "refresh");
  EXPECT_EQ(nearest("refrehs", kKnown), "refresh");
  EXPECT_EQ(nearest("step", kKnown), "steps");
  EXPECT_EQ(nearest("untill", kKnown), "until");
  EXPECT_EQ(nearest("rl", kKnown), "lr");
  EXPECT_EQ(nearest("steps", kKnown), "steps");
}

TEST(Nearest, TiesKeepTheFirst) {
  const std::vector<std::string> known{"ab", "ac"};
  EXPECT_EQ(nearest("ad", known), "ab");
}

TEST(Nearest, OfNothingIsEmpty) {
  EXPECT_EQ(nearest("word", {}), "");
  EXPECT_EQ(nearest("", kKnown), "lr");
}

TEST(JoinChoices, ReadsLikeASentence) {
  const std::string_view words[] = {"a", "b", "c"};
  EXPECT_EQ(join_choices({}), "");
  EXPECT_EQ(join_choices({words, 1}), "a");
  EXPECT_EQ(join_choices({words, 2}), "a or b");
  EXPECT_EQ(join_choices({words, 3}), "a, b or c");
}

// Writes down what a config tells its visitor.
class Listing : public FieldVisitor {
 public:
  std::vector<std::string> seen;

 protected:
  void integer(std::string_view key, std::int64_t& value, Range<std::int64_t>, std::string_view,
               OnResume) override {
    seen.push_back("integer " + std::string(key));
    value += 1;
  }
  void real(std::string_view key, double&, Range<double>, std::string_view, OnResume) override {
    seen.push_back("real " + std::string(key));
  }
  void boolean(std::string_view key, bool&, std::string_view, OnResume) override {
    seen.push_back("boolean " + std::string(key));
  }
  void text(std::string_view key, std::string&, Choices, std::string_view, OnResume) override {
    seen.push_back("text " + std::string(key));
  }
  void texts(std::string_view key, std::vector<std::string>&, std::string_view, OnResume) override {
    seen.push_back("texts " + std::string(key));
  }
  bool enter_section(std::string_view key, std::string_view, std::string_view) override {
    seen.push_back("enter " + std::string(key));
    return key != "passed_over";
  }
  void leave_section() override { seen.push_back("leave"); }
  std::size_t enter_list(std::string_view key, std::size_t, std::string_view) override {
    seen.push_back("list " + std::string(key));
    return 2;
  }
  void enter_item(std::size_t index) override { seen.push_back("item " + std::to_string(index)); }
  void leave_item() override {}
  void leave_list() override { seen.push_back("end of list"); }
};

struct Inner {
  bool flag = false;
  void fields(FieldVisitor& visit) { visit("flag", flag, "a switch"); }
};

struct Outer {
  std::int64_t steps = 1;
  double lr = 0.1;
  std::string name;
  std::vector<std::string> files;
  Inner inner, other;
  std::vector<Inner> group;

  void fields(FieldVisitor& visit) {
    visit("steps", steps, Range<std::int64_t>{1, 10}, "how many");
    visit("lr", lr, Range<double>{0.0, 1.0}, "how fast");
    visit("name", name, Choices{}, "what");
    visit("files", files, "where");
    visit.section("inner", inner, "nested");
    visit.section("passed_over", other, "nested");
    visit.list("group", group, "many");
  }
};

TEST(Fields, VisitorWalksTheList) {
  Outer config;
  Listing listing;
  config.fields(listing);
  EXPECT_EQ(listing.seen, (std::vector<std::string>{
                              "integer steps", "real lr", "text name", "texts files", "enter inner",
                              "boolean flag", "leave", "enter passed_over", "list group", "item 0",
                              "boolean flag", "item 1", "boolean flag", "end of list"}));
  EXPECT_EQ(config.steps, 2);
  EXPECT_EQ(config.group.size(), 2u);
}

}  // namespace
}  // namespace twill
