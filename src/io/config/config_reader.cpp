// SPDX-License-Identifier: Apache-2.0
// read_fields(): one merged document into a config. Nothing is known twice, nothing is ignored.
#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/require.h"
#include "io/config/config_node.h"
#include "io/config/field_list.h"

namespace twill {
namespace {

// {key = node}: what the short form model = "tiny" means.
ConfigTable table_with(std::string_view key, ConfigNode node) {
  node.key = key;
  return {std::move(node)};
}

// model = "tiny" becomes model.name = "tiny", so that it merges with the tables of other layers.
void expand_short_forms(ConfigTable& table, const std::string& path,
                        const std::vector<FieldRecord>& records) {
  for (ConfigNode& node : table) {
    const std::string node_path = path.empty() ? node.key : fmt::format("{}.{}", path, node.key);
    const auto record = std::ranges::find(records, node_path, &FieldRecord::path);
    if (record == records.end() || record->kind != FieldRecord::Kind::kSection) continue;
    if (!node.is_table() && !record->short_for.empty()) {
      node.children = table_with(record->short_for, node);
      node.value = ConfigNode::Table{};
    }
    if (node.is_table()) expand_short_forms(node.children, node_path, records);
  }
}

ConfigNode merged(const TomlDocument& document, const std::vector<FieldRecord>& records) {
  ConfigNode all{.value = ConfigNode::Table{}, .origin = {}};
  for (const auto& layer : document.layers()) {
    ConfigNode expanded = *layer;
    expand_short_forms(expanded.children, "", records);
    merge(all, expanded);
  }
  return all;
}

class ConfigReader final : public FieldVisitor {
 public:
  ConfigReader(const ConfigTable& root, const std::vector<FieldRecord>& records,
               const KeyHint& hint)
      : records_(records), hint_(hint) {
    scopes_.push_back({.path = {}, .table = &root, .list = nullptr, .known = {}});
  }
  void finish() { check_unknown(scopes_.back()); }

 private:
  // A table or a list that the visitor is inside of. Nothing of it may be in the document.
  struct Scope {
    std::string path;
    const ConfigTable* table;
    const ConfigNode* list;  // an array, or a table of indices; of list scopes only
    std::vector<std::string> known;
  };

  const ConfigNode* look_up(std::string_view key) {
    Scope& scope = scopes_.back();
    scope.known.emplace_back(key);
    return scope.table ? find(*scope.table, key) : nullptr;
  }
  std::string path_of(std::string_view key) const {
    const std::string& path = scopes_.back().path;
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
  }
  void push(std::string path, const ConfigTable* table, const ConfigNode* list = nullptr) {
    scopes_.push_back({.path = std::move(path), .table = table, .list = list, .known = {}});
  }

  [[noreturn]] void wrong_type(std::string_view key, const ConfigNode& node,
                               std::string_view expected) const {
    fail("{}: {} has the wrong type: expected {}, got {}", node.origin, path_of(key), expected,
         type_of(node));
  }
  void check_range(std::string_view key, const ConfigNode& node, bool inside,
                   const std::string& value, const std::string& expected) const {
    require(inside, "{}: {} = {}, expected {}", node.origin, path_of(key), value, expected);
  }

  // What the word means elsewhere; for a key that belongs elsewhere, its full name; or a key of the
  // table that is nearly the word.
  std::string suggestion(const Scope& scope, const std::string& key) const {
    if (const std::string meant = hint_ ? hint_(key) : std::string(); !meant.empty())
      return fmt::format("; Twill's is {}", meant);
    const FieldRecord* elsewhere = nullptr;
    int matches = 0;
    for (const FieldRecord& record : records_) {
      if (record.kind != FieldRecord::Kind::kField || record.key() != key) continue;
      elsewhere = &record;
      ++matches;
    }
    const std::string close = matches == 1 ? elsewhere->path : near(key, scope.known);
    return close.empty() ? "; `twill config --help` lists the keys"
                         : fmt::format("; did you mean '{}'?", close);
  }
  void check_unknown(const Scope& scope) const {
    if (!scope.table) return;
    for (const ConfigNode& node : *scope.table) {
      if (std::ranges::count(scope.known, node.key) > 0) continue;
      const std::string where = scope.path.empty() ? "" : fmt::format(" in [{}]", scope.path);
      fail("{}: unknown key '{}'{}{}", node.origin, node.key, where, suggestion(scope, node.key));
    }
  }

  void integer(std::string_view key, std::int64_t& value, Range<std::int64_t> range,
               std::string_view, OnResume) override {
    const ConfigNode* node = look_up(key);
    if (!node) return;
    const auto* got = std::get_if<std::int64_t>(&node->value);
    if (!got) wrong_type(key, *node, "an integer");
    check_range(key, *node, *got >= range.low && *got <= range.high, fmt::to_string(*got),
                range_text(range));
    value = *got;
  }

  void real(std::string_view key, double& value, Range<double> range, std::string_view,
            OnResume) override {
    const ConfigNode* node = look_up(key);
    if (!node) return;
    double got = 0;
    if (const auto* number = std::get_if<double>(&node->value))
      got = *number;
    else if (const auto* whole = std::get_if<std::int64_t>(&node->value))
      got = static_cast<double>(*whole);
    else
      wrong_type(key, *node, "a number");
    check_range(key, *node, got >= range.low && got <= range.high, fmt::to_string(got),
                range_text(range));
    value = got;
  }

  void boolean(std::string_view key, bool& value, std::string_view, OnResume) override {
    const ConfigNode* node = look_up(key);
    if (!node) return;
    const bool* got = std::get_if<bool>(&node->value);
    if (!got) wrong_type(key, *node, "a boolean");
    value = *got;
  }

  void text(std::string_view key, std::string& value, Choices choices, std::string_view,
            OnResume) override {
    const ConfigNode* node = look_up(key);
    if (!node) return;
    const std::optional<std::string> got = text_of(*node);
    if (!got) wrong_type(key, *node, "a string");
    check_range(key, *node, choices.empty() || std::ranges::count(choices, *got) > 0,
                toml_text(*got), join_choices(choices));
    value = *got;
  }

  void text_or_number(std::string_view key, std::string& value, std::string_view help,
                      OnResume on_resume) override {
    const ConfigNode* node = look_up(key);
    if (!node) return;
    if (const auto* number = std::get_if<double>(&node->value)) {
      value = toml_text(*number);
    } else if (const auto* whole = std::get_if<std::int64_t>(&node->value)) {
      value = fmt::to_string(*whole);
    } else {
      text(key, value, {}, help, on_resume);
    }
  }

  void texts(std::string_view key, std::vector<std::string>& value, std::string_view,
             OnResume) override {
    const ConfigNode* node = look_up(key);
    if (!node) return;
    std::vector<std::string> got;
    if (const std::optional<std::string> single = text_of(*node)) {
      got.push_back(*single);
    } else {
      if (!node->array()) wrong_type(key, *node, "a string or an array of strings");
      for (const ConfigNode& item : *node->array()) {
        if (!text_of(item)) wrong_type(key, item, "an array of strings");
        got.push_back(*text_of(item));
      }
    }
    value = std::move(got);
  }

  bool enter_section(std::string_view key, std::string_view, std::string_view short_for) override {
    const ConfigNode* node = look_up(key);
    const ConfigTable* table = node ? node->table() : nullptr;
    if (node && !table) {
      // Sections at fixed paths are expanded before merging; this is one inside a list.
      if (short_for.empty()) wrong_type(key, *node, "a table");
      table = &expanded_.emplace_back(table_with(short_for, *node));
    }
    // The same with changes over it: weights = "2:4", then weights.refresh = 7.
    if (table && !node->word.empty() && !short_for.empty() && !find(*table, short_for)) {
      ConfigTable both = table_with(short_for, {.value = node->word, .origin = node->origin});
      both.insert(both.end(), table->begin(), table->end());
      table = &expanded_.emplace_back(std::move(both));
    }
    push(path_of(key), table);
    return true;
  }
  void leave_section() override {
    check_unknown(scopes_.back());
    scopes_.pop_back();
  }

  std::size_t enter_list(std::string_view key, std::size_t size, std::string_view) override {
    const ConfigNode* node = look_up(key);
    if (node && !node->array() && !node->table()) wrong_type(key, *node, "an array of tables");
    push(path_of(key), nullptr, node);
    if (!node) return size;
    return node->array() ? node->array()->size() : indexed_size(*node->table(), size);
  }
  // Overrides by index, over the entries that the config has by itself.
  static std::size_t indexed_size(const ConfigTable& changes, std::size_t size) {
    ConfigNode list{.value = ConfigNode::Array{}, .origin = {}};
    list.children.assign(size, ConfigNode{.value = ConfigNode::Table{}, .origin = {}});
    ConfigNode upper{.value = ConfigNode::Table{}, .origin = {}};
    upper.children = changes;
    merge(list, upper);
    return list.children.size();
  }
  void enter_item(std::size_t index) override {
    const ConfigNode* list = scopes_.back().list;
    const std::string name = fmt::to_string(index);
    const ConfigNode* item = nullptr;
    if (list && list->array()) item = &(*list->array())[index];
    if (list && list->table()) item = find(*list->table(), name);
    if (item && !item->table()) wrong_type(name, *item, "a table");
    push(path_of(name), item ? item->table() : nullptr);
  }
  void leave_item() override { leave_section(); }
  void leave_list() override { scopes_.pop_back(); }

  const std::vector<FieldRecord>& records_;
  const KeyHint& hint_;
  std::vector<Scope> scopes_;
  std::deque<ConfigTable> expanded_;
};

}  // namespace

void read_fields(const TomlDocument& document, const FieldWalk& walk, const KeyHint& hint) {
  const std::vector<FieldRecord> records = list_fields(walk);
  const ConfigNode all = merged(document, records);
  ConfigReader reader(*all.table(), records, hint);
  walk(reader);
  reader.finish();
}

}  // namespace twill
