// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/require.h"
#include "io/json/json.h"

namespace twill {
namespace {

// Looks at the first level alone; what lies deeper is passed over and costs no memory.
class MemberReader final : public JsonHandler {
 public:
  explicit MemberReader(std::string_view key) : key_(key) {}
  JsonMember take() { return std::move(member_); }

  void begin_object() override { open("an object"); }
  void begin_array() override { open("a list"); }
  void end_object() override { --depth_; }
  void end_array() override { --depth_; }
  void key(std::string name) override {
    if (depth_ > 1) return;
    is_wanted_ = name == key_;
    require(!is_wanted_ || member_.kind == "absent", "duplicate key '{}'", key_);
  }
  void text(std::string value) override {
    if (note("text")) member_.text = std::move(value);
  }
  void integer(std::int64_t) override { note("a number"); }
  void fraction(double) override { note("a number"); }
  void boolean(bool) override { note("a boolean"); }
  void null() override { note("null"); }
  void other(std::string_view) override { note("a number"); }

 private:
  void open(std::string_view kind) {
    note(kind);
    ++depth_;
  }

  // Whether the value that comes now is the wanted member.
  bool note(std::string_view kind) {
    if (depth_ == 0) member_.document_kind = kind;
    if (depth_ != 1 || !is_wanted_) return false;
    is_wanted_ = false;
    member_.kind = kind;
    return true;
  }

  std::string_view key_;
  JsonMember member_;
  int depth_ = 0;
  bool is_wanted_ = false;
};

class KeyReader final : public JsonHandler {
 public:
  std::vector<std::string> take() { return std::move(keys_); }

  void begin_object() override { ++depth_; }
  // What lies in a list is deeper than the object that is asked for.
  void begin_array() override { ++depth_; }
  void end_object() override { --depth_; }
  void end_array() override { --depth_; }
  void key(std::string name) override {
    if (depth_ == 1) keys_.push_back(std::move(name));
  }
  void text(std::string) override {}
  void integer(std::int64_t) override {}
  void null() override {}
  void other(std::string_view) override {}

 private:
  std::vector<std::string> keys_;
  int depth_ = 0;
};

}  // namespace

std::vector<std::string> json_keys(std::string_view document) {
  KeyReader reader;
  parse_json(document, reader);
  return reader.take();
}

JsonMember json_member(std::string_view document, std::string_view key) {
  MemberReader reader(key);
  parse_json(document, reader);
  return reader.take();
}

}  // namespace twill
