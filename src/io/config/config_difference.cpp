// SPDX-License-Identifier: Apache-2.0
// field_differences(): two configs, field by field.
#include <algorithm>
#include <string>
#include <vector>

#include "io/config/field_list.h"

namespace twill {
namespace {

constexpr const char* kAbsent = "(absent)";

const FieldRecord* find(const std::vector<FieldRecord>& fields, const std::string& path) {
  const auto it = std::ranges::find(fields, path, &FieldRecord::path);
  return it == fields.end() ? nullptr : &*it;
}

std::vector<FieldRecord> only_fields(const FieldWalk& walk) {
  std::vector<FieldRecord> records = list_fields(walk);
  std::erase_if(records,
                [](const FieldRecord& record) { return record.kind != FieldRecord::Kind::kField; });
  return records;
}

}  // namespace

std::vector<FieldDifference> field_differences(const FieldWalk& saved_walk,
                                               const FieldWalk& wanted_walk) {
  const std::vector<FieldRecord> saved = only_fields(saved_walk);
  const std::vector<FieldRecord> wanted = only_fields(wanted_walk);
  std::vector<FieldDifference> found;
  for (const FieldRecord& before : saved) {
    const FieldRecord* after = find(wanted, before.path);
    const std::string value = after ? after->value : kAbsent;
    if (value != before.value)
      found.push_back({before.path, before.value, value, before.on_resume});
  }
  for (const FieldRecord& after : wanted)
    if (!find(saved, after.path))
      found.push_back({after.path, kAbsent, after.value, after.on_resume});
  return found;
}

}  // namespace twill
