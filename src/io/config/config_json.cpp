// SPDX-License-Identifier: Apache-2.0
#include "io/config/config_json.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twill {
namespace {

// The tables and lists that are open, the innermost last.
class JsonFieldWriter : public FieldVisitor {
 public:
  JsonValue take() { return std::move(tables_.front().members); }

 protected:
  void integer(std::string_view key, std::int64_t& value, Range<std::int64_t>, std::string_view,
               OnResume) override {
    add(key, value);
  }
  void real(std::string_view key, double& value, Range<double>, std::string_view,
            OnResume) override {
    add(key, value);
  }
  void boolean(std::string_view key, bool& value, std::string_view, OnResume) override {
    add(key, value);
  }
  void text(std::string_view key, std::string& value, Choices, std::string_view,
            OnResume) override {
    add(key, value);
  }
  void texts(std::string_view key, std::vector<std::string>& values, std::string_view,
             OnResume) override {
    add(key, JsonArray(values.begin(), values.end()));
  }
  bool enter_section(std::string_view key, std::string_view, std::string_view) override {
    tables_.push_back({std::string(key), {}});
    return true;
  }
  void leave_section() override {
    Table table = std::move(tables_.back());
    tables_.pop_back();
    add(table.key, std::move(table.members));
  }
  std::size_t enter_list(std::string_view key, std::size_t size, std::string_view) override {
    lists_.push_back({std::string(key), {}});
    return size;
  }
  void enter_item(std::size_t) override { tables_.emplace_back(); }
  void leave_item() override {
    lists_.back().items.emplace_back(std::move(tables_.back().members));
    tables_.pop_back();
  }
  void leave_list() override {
    List list = std::move(lists_.back());
    lists_.pop_back();
    add(list.key, std::move(list.items));
  }

 private:
  struct Table {
    std::string key;
    JsonObject members;
  };
  struct List {
    std::string key;
    JsonArray items;
  };

  void add(std::string_view key, JsonValue value) {
    tables_.back().members.emplace_back(key, std::move(value));
  }

  std::vector<Table> tables_{1};
  std::vector<List> lists_;
};

}  // namespace

JsonValue json_of_fields(const FieldWalk& walk) {
  JsonFieldWriter writer;
  walk(writer);
  return writer.take();
}

}  // namespace twill
