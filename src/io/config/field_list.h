// SPDX-License-Identifier: Apache-2.0
// A config as a flat list of records, in the order of declaration. Saving, help, comparison and the
// hints of the reader are plain functions over this list. Private to io.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/config/toml_config.h"

namespace twill {

struct FieldRecord {
  enum class Kind { kField, kSection, kList, kItem };

  Kind kind = Kind::kField;
  std::string path;    // "optimizer.group.0.lr_scale"
  std::string header;  // the path without indices: "optimizer.group"; of sections and items
  std::string type;    // "integer", "number", …; of fields
  std::string limits;  // "1 to 10", "a, b or c"; empty when anything goes
  std::string value;   // as TOML; of a list, "[]" when it has no entries
  std::string help;
  std::string short_for;
  OnResume on_resume = OnResume::kFixed;

  std::string_view parent() const;  // the path of the table it stands in; empty for the root
  std::string_view key() const;     // the last word of the path
};

// kOneEach shows every list with one entry, called N. The walked config is changed by that.
enum class Lists { kAsTheyAre, kOneEach };

std::vector<FieldRecord> list_fields(const FieldWalk& walk, Lists lists = Lists::kAsTheyAre);

// "1 to 10"; an end that any value of the type satisfies is left out: "1 or more".
std::string range_text(Range<std::int64_t> range);
std::string range_text(Range<double> range);

// Values as TOML. A double always looks like one (1.0, 1e-05) and reads back bit for bit.
std::string toml_text(double value);
std::string toml_text(const std::string& value);
std::string toml_text(const std::vector<std::string>& values);

}  // namespace twill
