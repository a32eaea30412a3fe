// SPDX-License-Identifier: Apache-2.0
#include "io/json/json_value.h"

#include <algorithm>
#include <unordered_set>

#include "base/require.h"
#include "io/json/json.h"

namespace twill {
namespace {

constexpr std::size_t kMaxDepth = 64;  // no format of the field nests deeper than ten

// Collects the pieces of a document. The open containers lie on a stack of our own.
class Collector final : public JsonHandler {
 public:
  JsonValue take() { return std::move(result_); }

  void begin_object() override { open(/*is_object=*/true); }
  void begin_array() override { open(/*is_object=*/false); }
  void end_object() override { close(); }
  void end_array() override { close(); }
  void key(std::string name) override {
    require(open_.back().keys.insert(name).second, "duplicate key '{}'", name);
    open_.back().key = std::move(name);
  }
  void text(std::string value) override { add(std::move(value)); }
  void integer(std::int64_t value) override { add(value); }
  void fraction(double value) override { add(value); }
  void boolean(bool value) override { add(value); }
  void null() override { add(JsonValue()); }
  void other(std::string_view what) override { fail("{} has no place here", what); }

 private:
  struct Container {
    bool is_object;
    JsonArray items;
    JsonObject members;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  void open(bool is_object) {
    require(open_.size() < kMaxDepth, "nested deeper than {}", kMaxDepth);
    open_.push_back({is_object, {}, {}, {}, {}});
  }

  void close() {
    Container done = std::move(open_.back());
    open_.pop_back();
    if (done.is_object) {
      add(std::move(done.members));
    } else {
      add(std::move(done.items));
    }
  }

  template <class Value>
  void add(Value value) {
    if (open_.empty()) {
      result_ = JsonValue(std::move(value));
    } else if (open_.back().is_object) {
      open_.back().members.emplace_back(std::move(open_.back().key), std::move(value));
    } else {
      open_.back().items.emplace_back(std::move(value));
    }
  }

  std::vector<Container> open_;
  JsonValue result_;
};

enum class Spaces { kNone, kBetween, kIndented };

class Writer {
 public:
  explicit Writer(Spaces spaces) : spaces_(spaces) {}
  std::string take() { return std::move(text_); }

  void write(const JsonValue& value, int depth) {
    if (const JsonArray* items = value.array()) {
      write_list(*items, depth, "[]", [&](const JsonValue& item) { write(item, depth + 1); });
    } else if (const JsonObject* members = value.object()) {
      write_list(*members, depth, "{}", [&](const auto& member) {
        text_ += json_quoted(member.first) + (spaces_ == Spaces::kNone ? ":" : ": ");
        write(member.second, depth + 1);
      });
    } else {
      write_scalar(value);
    }
  }

 private:
  void write_scalar(const JsonValue& value) {
    if (const std::string* text = value.text()) {
      text_ += json_quoted(*text);
    } else if (const std::int64_t* integer = value.integer()) {
      text_ += std::to_string(*integer);
    } else if (const bool* boolean = value.boolean()) {
      text_ += *boolean ? "true" : "false";
    } else {
      text_ += value.is_null() ? "null" : json_number(*value.number());
    }
  }

  template <class List, class WriteOne>
  void write_list(const List& list, int depth, const char* brackets, WriteOne write_one) {
    text_ += brackets[0];
    bool first = true;
    for (const auto& item : list) {
      if (!first) text_ += spaces_ == Spaces::kBetween ? ", " : ",";
      first = false;
      break_line(depth + 1);
      write_one(item);
    }
    if (!list.empty()) break_line(depth);
    text_ += brackets[1];
  }

  void break_line(int depth) {
    if (spaces_ == Spaces::kIndented)
      text_ += "\n" + std::string(static_cast<std::size_t>(2 * depth), ' ');
  }

  Spaces spaces_;
  std::string text_;
};

std::string written(const JsonValue& value, Spaces spaces) {
  Writer writer(spaces);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace

std::optional<double> JsonValue::number() const {
  if (const double* fraction = std::get_if<double>(&value_)) return *fraction;
  if (const std::int64_t* whole = integer()) return static_cast<double>(*whole);
  return std::nullopt;
}

std::string_view JsonValue::kind() const {
  constexpr std::string_view kKinds[] = {"null", "a boolean", "a number", "a number",
                                         "text", "a list",    "an object"};
  return kKinds[value_.index()];
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const JsonObject* members = object();
  if (members == nullptr) return nullptr;
  const auto member = std::ranges::find(*members, key, [](const auto& m) { return m.first; });
  return member == members->end() ? nullptr : &member->second;
}

JsonValue parse_json_value(std::string_view text) {
  Collector collector;
  parse_json(text, collector);
  return collector.take();
}

std::string to_json(const JsonValue& value) { return written(value, Spaces::kIndented) + "\n"; }

std::string to_json_line(const JsonValue& value) { return written(value, Spaces::kBetween); }

std::string to_compact_json(const JsonValue& value) { return written(value, Spaces::kNone); }

}  // namespace twill
