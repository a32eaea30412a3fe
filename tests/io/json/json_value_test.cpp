// SPDX-License-Identifier: Apache-2.0
#include "io/json/json_value.h"

#include <gtest/gtest.h>

#include "io/json/json.h"
#include "support/expect_error.h"

namespace twill {
namespace {

TEST(JsonValue, ReadsEveryKind) {
  const JsonValue value =
      parse_json_value(R"({"b": true, "i": -7, "f": 0.5, "n": null, "t": "é\n", "a": [1, {}]})");
  EXPECT_TRUE(*value.find("b")->boolean());
  EXPECT_EQ(*value.find("i")->integer(), -7);
  EXPECT_EQ(value.find("i")->number(), -7.0);
  EXPECT_EQ(value.find("f")->number(), 0.5);
  EXPECT_EQ(value.find("f")->integer(), nullptr);
  EXPECT_TRUE(value.find("n")->is_null());
  EXPECT_EQ(*value.find("t")->text(), "é\n");
  EXPECT_EQ(value.find("a")->array()->size(), 2u);
  EXPECT_EQ(value.find("absent"), nullptr);
  EXPECT_EQ(value.find("a")->find("b"), nullptr);
}

TEST(JsonValue, WritesWhatItReads) {
  const std::string text =
      "{\n  \"z\": [\n    1,\n    0.1\n  ],\n  \"a\": {},\n  \"e\": [],\n"
      "  \"s\": \"\\\"é\"\n}\n";
  const JsonValue value = parse_json_value(text);
  EXPECT_EQ(to_json(value), text);
  EXPECT_EQ(to_json_line(value), R"({"z": [1, 0.1], "a": {}, "e": [], "s": "\"é"})");
  EXPECT_EQ(parse_json_value(to_json_line(value)), value);
  EXPECT_EQ(to_json_line(JsonValue(1e5)), "100000.0");  // stays a fraction
}

TEST(JsonValue, RefusesWhatIsNoDocument) {
  expect_error([] { parse_json_value("{\"a\": }"); }, "not valid JSON at byte 7");
  expect_error([] { parse_json_value(""); }, "not valid JSON");
  expect_error([] { parse_json_value("{} {}"); }, "not valid JSON");
  expect_error([] { parse_json_value(R"({"a": 1, "a": 2})"); }, "duplicate key 'a'");
  expect_error([] { parse_json_value(std::string(100'000, '[')); }, "nested deeper than 64");
}

TEST(JsonMember, FindsOneTextAndPassesOverTheRest) {
  const JsonMember member =
      json_member(R"({"a": {"text": 1, "b": [[]]}, "text": "wanted", "z": [1.5, null]})", "text");
  EXPECT_EQ(member.document_kind, "an object");
  EXPECT_EQ(member.kind, "text");
  EXPECT_EQ(member.text, "wanted");
  EXPECT_EQ(json_member(R"({"a": {"text": "deeper"}})", "text").kind, "absent");
  EXPECT_EQ(json_member(R"({"text": ["no"]})", "text").kind, "a list");
  EXPECT_EQ(json_member(R"({"text": false})", "text").kind, "a boolean");
  EXPECT_EQ(json_member("[\"text\"]", "text").document_kind, "a list");
  EXPECT_EQ(json_member("7", "text").document_kind, "a number");
  expect_error([] { json_member(R"({"text": "a", "text": "b"})", "text"); },
               "duplicate key 'text'");
  expect_error([] { json_member(R"({"text": )", "text"); }, "not valid JSON");
}

}  // namespace
}  // namespace twill
