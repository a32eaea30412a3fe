// SPDX-License-Identifier: Apache-2.0
// describe_field_list(): every key explained.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "io/config/field_list.h"

namespace twill {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kWidestName = 34;  // leaves two thirds of the line for the explanation

// Breaks at spaces; `indent` goes before every line but the first, which begins at that column.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string lines;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(' '), text.size());
    const bool first_word = column == indent;
    if (!first_word && column + 1 + length > kColumns) {
      lines += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!first_word) {
      lines += ' ';
      ++column;
    }
    lines += text.substr(0, length);
    column += length;
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return lines + '\n';
}

// "integer, 1 to 100; default 10".
std::string facts(const FieldRecord& field) {
  std::string text = field.type;
  if (!field.limits.empty()) text += (field.type == "text" ? ": " : ", ") + field.limits;
  text += "; default " + field.value;
  if (field.on_resume == OnResume::kFree) text += "; may change on resume";
  return text;
}

std::string describe_field(const FieldRecord& field, std::size_t indent) {
  std::string text = "  " + field.path;
  if (text.size() + 2 > indent) text += '\n';
  const std::size_t column = text.ends_with('\n') ? 0 : text.size();
  text += std::string(indent - column, ' ') + wrapped(facts(field), indent);
  return text + std::string(indent, ' ') + wrapped(field.help, indent);
}

// "[model] the network. model=WORD is short for model.name=WORD."
std::string describe_table(const FieldRecord& table) {
  const bool is_list = table.kind == FieldRecord::Kind::kList;
  const std::string name = is_list ? fmt::format("[[{}]]", table.path) : "[" + table.path + "]";
  std::string text = fmt::format("\n{} {}", name, table.help);
  if (!table.short_for.empty())
    text += fmt::format("; {0}=VALUE is short for {0}.{1}=VALUE", table.path, table.short_for);
  return text + '\n';
}

std::size_t explanation_column(const std::vector<FieldRecord>& records) {
  std::size_t widest = 0;
  for (const FieldRecord& record : records)
    if (record.path.size() <= kWidestName) widest = std::max(widest, record.path.size());
  return widest + 4;
}

// The fields that stand in the table itself, whatever was declared between them.
std::string describe_fields_of(std::string_view table, const std::vector<FieldRecord>& records,
                               std::size_t indent) {
  std::string text;
  for (const FieldRecord& record : records)
    if (record.kind == FieldRecord::Kind::kField && record.parent() == table)
      text += describe_field(record, indent);
  return text;
}

}  // namespace

std::string describe_field_list(const FieldWalk& walk) {
  const std::vector<FieldRecord> records = list_fields(walk, Lists::kOneEach);
  const std::size_t indent = explanation_column(records);
  std::string text = describe_fields_of("", records, indent);
  for (const FieldRecord& record : records) {
    if (record.kind == FieldRecord::Kind::kField) continue;
    // The entry of a list follows its list, whose line is the heading of both.
    if (record.kind != FieldRecord::Kind::kItem) text += describe_table(record);
    text += describe_fields_of(record.path, records, indent);
  }
  return text;
}

}  // namespace twill
