// SPDX-License-Identifier: Apache-2.0
#include "io/config/field_list.h"

#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace twill {
namespace {

template <class T>
std::string describe_range(Range<T> range, T lowest, T highest) {
  if (range.low <= lowest && range.high >= highest) return {};
  if (range.high >= highest) return fmt::format("{} or more", range.low);
  if (range.low <= lowest) return fmt::format("{} or less", range.high);
  return fmt::format("{} to {}", range.low, range.high);
}

class FieldLister final : public FieldVisitor {
 public:
  explicit FieldLister(Lists lists) : lists_(lists) {}
  std::vector<FieldRecord> take() { return std::move(records_); }

 private:
  using Kind = FieldRecord::Kind;

  FieldRecord& add(Kind kind, std::string_view key, std::string_view help) {
    FieldRecord& record = records_.emplace_back();
    record.kind = kind;
    record.path = joined(path_, key);
    record.help = help;
    return record;
  }
  void add_field(std::string_view key, std::string type, std::string limits, std::string value,
                 std::string_view help, OnResume on_resume) {
    FieldRecord& record = add(Kind::kField, key, help);
    record.type = std::move(type);
    record.limits = std::move(limits);
    record.value = std::move(value);
    record.on_resume = on_resume;
  }
  static std::string joined(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
  }
  void push(const std::string& path, const std::string& header) {
    saved_.emplace_back(path_, header_);
    path_ = path;
    header_ = header;
  }
  void pop() {
    std::tie(path_, header_) = std::move(saved_.back());
    saved_.pop_back();
  }

  void integer(std::string_view key, std::int64_t& value, Range<std::int64_t> range,
               std::string_view help, OnResume on_resume) override {
    add_field(key, "integer", range_text(range), fmt::to_string(value), help, on_resume);
  }
  void real(std::string_view key, double& value, Range<double> range, std::string_view help,
            OnResume on_resume) override {
    add_field(key, "number", range_text(range), toml_text(value), help, on_resume);
  }
  void boolean(std::string_view key, bool& value, std::string_view help,
               OnResume on_resume) override {
    add_field(key, "true or false", {}, value ? "true" : "false", help, on_resume);
  }
  void text(std::string_view key, std::string& value, Choices choices, std::string_view help,
            OnResume on_resume) override {
    add_field(key, "text", join_choices(choices), toml_text(value), help, on_resume);
  }
  void texts(std::string_view key, std::vector<std::string>& value, std::string_view help,
             OnResume on_resume) override {
    add_field(key, "list of texts", {}, toml_text(value), help, on_resume);
  }

  bool enter_section(std::string_view key, std::string_view help,
                     std::string_view short_for) override {
    FieldRecord& record = add(Kind::kSection, key, help);
    record.short_for = short_for;
    record.header = joined(header_, key);
    push(record.path, record.header);
    return true;
  }
  void leave_section() override { pop(); }

  std::size_t enter_list(std::string_view key, std::size_t size, std::string_view help) override {
    FieldRecord& record = add(Kind::kList, key, help);
    record.header = joined(header_, key);
    if (size == 0) record.value = "[]";
    push(record.path, record.header);
    return lists_ == Lists::kOneEach ? 1 : size;
  }
  void enter_item(std::size_t index) override {
    const std::string name = lists_ == Lists::kOneEach ? "N" : fmt::to_string(index);
    FieldRecord& record = add(Kind::kItem, name, {});
    record.header = header_;
    push(record.path, record.header);
  }
  void leave_item() override { pop(); }
  void leave_list() override { pop(); }

  Lists lists_;
  std::string path_;
  std::string header_;
  std::vector<std::pair<std::string, std::string>> saved_;
  std::vector<FieldRecord> records_;
};

}  // namespace

std::string_view FieldRecord::parent() const {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? std::string_view() : std::string_view(path).substr(0, dot);
}

std::string_view FieldRecord::key() const {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? std::string_view(path) : std::string_view(path).substr(dot + 1);
}

std::vector<FieldRecord> list_fields(const FieldWalk& walk, Lists lists) {
  FieldLister lister(lists);
  walk(lister);
  return lister.take();
}

std::string range_text(Range<std::int64_t> range) {
  using Limits = std::numeric_limits<std::int64_t>;
  return describe_range(range, Limits::min(), Limits::max());
}

std::string range_text(Range<double> range) {
  using Limits = std::numeric_limits<double>;
  return describe_range(range, Limits::lowest(), Limits::max());
}

std::string toml_text(double value) {
  std::string text = fmt::to_string(value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string toml_text(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      text += {'\\', c};
    else if (c == '\n')
      text += "\\n";
    else if (c == '\t')
      text += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      text += fmt::format("\\u{:04X}", byte);
    else
      text += c;
  }
  return text + "\"";
}

std::string toml_text(const std::vector<std::string>& values) {
  std::string text = "[";
  for (const std::string& value : values) {
    if (text.size() > 1) text += ", ";
    text += toml_text(value);
  }
  return text + "]";
}

}  // namespace twill
