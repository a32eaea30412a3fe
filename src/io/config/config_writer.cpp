// SPDX-License-Identifier: Apache-2.0
// write_fields(): the resolved config as TOML.
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "io/config/field_list.h"

namespace twill {
namespace {

// A header and the lines below it. TOML wants the keys of a table together, before the tables
// inside it, whatever the order of declaration.
struct Block {
  std::string header;
  std::string lines;
};

class Blocks {
 public:
  Blocks() { open("", ""); }

  void add(const FieldRecord& record) {
    using Kind = FieldRecord::Kind;
    if (record.kind == Kind::kSection) open(record.path, fmt::format("[{}]", record.header));
    if (record.kind == Kind::kItem) open(record.path, fmt::format("[[{}]]", record.header));
    if (record.kind == Kind::kField || (record.kind == Kind::kList && !record.value.empty()))
      block_of(record.parent()).lines += fmt::format("{} = {}\n", record.key(), record.value);
  }

  std::string text() const {
    std::string text;
    for (const Block& block : blocks_) {
      // An empty entry of a list still counts; an empty table says nothing.
      if (block.lines.empty() && !block.header.starts_with("[[")) continue;
      if (!text.empty()) text += '\n';
      if (!block.header.empty()) text += block.header + '\n';
      text += block.lines;
    }
    return text;
  }

 private:
  void open(const std::string& path, std::string header) {
    index_[path] = blocks_.size();
    blocks_.push_back({std::move(header), {}});
  }
  Block& block_of(std::string_view path) { return blocks_[index_.find(path)->second]; }

  std::vector<Block> blocks_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace

std::string write_fields(const FieldWalk& walk) {
  Blocks blocks;
  for (const FieldRecord& record : list_fields(walk)) blocks.add(record);
  return blocks.text();
}

}  // namespace twill
