// SPDX-License-Identifier: Apache-2.0
#include "exchange/safetensors_set.h"

#include <filesystem>
#include <set>

#include "base/require.h"
#include "io/atomic_file.h"
#include "io/json/json_value.h"

namespace twill {
namespace {

// Each shard stays open; an ordinary process may hold 1024 files.
constexpr std::size_t kMaxShards = 512;

void require_plain_name(const std::string& tensor, const std::string& file) {
  require(!file.empty() && file != "." && file != ".." &&
              file.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos,
          "weight_map: tensor '{}' lies in {}, expected the name of a file beside the index",
          tensor, to_json_line(file));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> parse_safetensors_index(std::string_view json) {
  const JsonValue document = parse_json_value(json);
  const JsonValue* map = document.find("weight_map");
  require(map != nullptr && map->object() != nullptr, "no object weight_map");
  std::vector<std::pair<std::string, std::string>> tensors;
  std::set<std::string> files;
  for (const auto& [tensor, file] : *map->object()) {
    require(file.text() != nullptr, "weight_map: tensor '{}' has {}, expected the name of a file",
            tensor, file.kind());
    require_plain_name(tensor, *file.text());
    files.insert(*file.text());
    tensors.emplace_back(tensor, *file.text());
  }
  require(files.size() <= kMaxShards, "weight_map names {} files, expected at most {}",
          files.size(), kMaxShards);
  return tensors;
}

SafetensorsSet::SafetensorsSet(std::string path) : path_(std::move(path)) {}

void SafetensorsSet::add_file(const std::string& path) {
  const SafetensorsFile& file = *files_.emplace_back(std::make_unique<SafetensorsFile>(path));
  for (const TensorInfo& info : file.entries()) {
    const auto [member, fresh] = members_.try_emplace(info.name, Member{&file, &info});
    require(fresh, "{}: tensor '{}' is also in {}", path, info.name, member->second.file->path());
  }
}

SafetensorsSet SafetensorsSet::open_file(const std::string& path) {
  SafetensorsSet set(path);
  set.add_file(path);
  return set;
}

SafetensorsSet SafetensorsSet::open_index(const std::string& path) {
  std::vector<std::pair<std::string, std::string>> tensors;
  try {
    tensors = parse_safetensors_index(read_file(path));
  } catch (const Error& error) {
    const std::string_view what = error.what();
    if (what.find(path) != std::string_view::npos) throw;
    fail("{}: {}", path, what);
  }
  SafetensorsSet set(path);
  std::set<std::string> files;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const auto& [tensor, file] : tensors)
    if (files.insert(file).second) set.add_file((folder / file).string());
  for (const auto& [tensor, file] : tensors) {
    const auto member = set.members_.find(tensor);
    require(member != set.members_.end() && member->second.file->path() == (folder / file).string(),
            "{}: tensor '{}' is not in {}", path, tensor, file);
  }
  require(tensors.size() == set.members_.size(),
          "{}: names {} tensors, its files hold {}: files of different models are mixed", path,
          tensors.size(), set.members_.size());
  return set;
}

}  // namespace twill
