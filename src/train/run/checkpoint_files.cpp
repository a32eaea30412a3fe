// SPDX-License-Identifier: Apache-2.0
#include "train/run/checkpoint_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "io/atomic_file.h"
#include "train/run/checkpoint.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
// Under such a name no reader looks: of a checkpoint that is not whole yet, or no more.
constexpr std::string_view kHidden = ".unfinished-";

std::string hidden(const std::string& name) { return std::string(kHidden) + name; }

// What a process killed while writing or deleting leaves behind.
void remove_leftovers(const Folder& folder) {
  for (const std::string& name : folder.names())
    if (name.starts_with(kHidden)) folder.remove(name);
}

// Names, oldest first.
std::vector<std::string> checkpoints_in(const Folder& folder) {
  std::vector<std::string> names = folder.names();
  std::erase_if(names, [](const std::string& name) { return step_of(name) < 0; });
  std::ranges::sort(names, {}, step_of);
  return names;
}

}  // namespace

std::string file_in(const std::string& checkpoint, std::string_view name) {
  if (!checkpoint.ends_with(".safetensors")) return checkpoint + "/" + std::string(name);
  if (name == kModelFile) return checkpoint;
  const std::string folder = std::filesystem::path(checkpoint).parent_path().string();
  return (folder.empty() ? "." : folder) + "/" + std::string(name);
}

std::string metadata_at(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  require(found != file.metadata().end(), "{}: no {} in its metadata: not a file of Twill's",
          file.path(), key);
  return found->second;
}

std::int64_t number_at(const SafetensorsFile& file, const std::string& key) {
  const std::string text = metadata_at(file, key);
  require(!text.empty() && text.size() <= 18 &&
              std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }),
          "{}: {} is not a number: '{}'", file.path(), key, text);
  return std::stoll(text);
}

std::string publish_checkpoint(const Folder& folder, std::int64_t step,
                               const std::function<void(const Folder&)>& write) {
  const std::string name = fmt::format("{}{:08}", kPrefix, step);
  const std::string temporary = hidden(name);
  remove_leftovers(folder);
  try {
    write(folder.make(temporary));
    publish_directory(folder, temporary, name);
  } catch (...) {
    remove_leftovers(folder);
    throw;
  }
  return folder.path() + "/" + name;
}

void remove_old_checkpoints(const Folder& folder, std::int64_t keep) {
  const std::vector<std::string> all = checkpoints_in(folder);
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i) {
    // Renamed first: a process killed while deleting leaves no half checkpoint under a good name.
    try {
      folder.rename(all[i], hidden(all[i]));
    } catch (const Error&) {
      // It stays: there is one checkpoint too many, and none too few.
    }
  }
  remove_leftovers(folder);
}

void set_aside_later(const Folder& folder, std::int64_t step) {
  for (const std::string& other : checkpoints_in(folder)) {
    if (step_of(other) <= step) continue;
    const std::string aside = "replaced-" + other;
    folder.remove(aside);
    folder.rename(other, aside);
  }
}

std::vector<std::string> list_checkpoints(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (step_of(entry.path().string()) >= 0) found.push_back(entry.path().string());
  std::ranges::sort(found, {}, step_of);
  return found;
}

std::int64_t step_of(const std::string& checkpoint) {
  const std::string name = fs::path(checkpoint).filename().string();
  const bool digits = name.size() > kPrefix.size() && name.size() <= kPrefix.size() + 18 &&
                      name.starts_with(kPrefix) &&
                      std::all_of(name.begin() + kPrefix.size(), name.end(),
                                  [](char c) { return c >= '0' && c <= '9'; });
  return digits ? std::stoll(name.substr(kPrefix.size())) : -1;
}

}  // namespace twill
