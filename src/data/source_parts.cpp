// SPDX-License-Identifier: Apache-2.0
#include "data/source_parts.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "data/text_source.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

struct PartWord {
  std::string_view word;
  DataPart part;
};

constexpr std::array<PartWord, 6> kPartWords{{{"train", DataPart::kTrain},
                                              {"training", DataPart::kTrain},
                                              {"val", DataPart::kValidation},
                                              {"valid", DataPart::kValidation},
                                              {"validation", DataPart::kValidation},
                                              {"test", DataPart::kTest}}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

DataPart part_of_word(std::string_view word) {
  std::string small(word);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const auto found = std::ranges::find(kPartWords, std::string_view(small), &PartWord::word);
  return found == kPartWords.end() ? DataPart::kUnnamed : found->part;
}

DataPart part_of_name(std::string_view name) {
  DataPart part = DataPart::kUnnamed;
  for (std::size_t begin = 0; begin < name.size();) {
    std::size_t end = begin;
    while (end < name.size() && is_letter(name[end])) ++end;
    const DataPart said = part_of_word(name.substr(begin, end - begin));
    if (said != DataPart::kUnnamed) part = said;
    begin = end + 1;
  }
  return part;
}

struct NamedFiles {
  std::vector<std::string> train, validation, test, unnamed;

  void add(const std::string& file, DataPart part) {
    if (part == DataPart::kTrain) train.push_back(file);
    if (part == DataPart::kValidation) validation.push_back(file);
    if (part == DataPart::kTest) test.push_back(file);
    if (part == DataPart::kUnnamed) unnamed.push_back(file);
  }
};

std::string_view below(const std::string& folder, std::string_view file) {
  return file.starts_with(folder) ? file.substr(folder.size()) : file;
}

std::string_view file_name_of(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  std::ranges::copy(from, std::back_inserter(to));
}

// Names divide a folder when they speak of two parts; else it stays as it is.
void add_named(SourceParts& parts, const std::string& path, const NamedFiles& files) {
  if (files.validation.empty() && (files.test.empty() || files.train.empty())) {
    parts.train.push_back(path);
    return;
  }
  const bool names_both = !files.train.empty();
  append(parts.train, names_both ? files.train : files.unnamed);
  append(parts.validation, files.validation);
  append(parts.unused, files.test);
  if (names_both) append(parts.unused, files.unnamed);
}

// Empty where the path is a file, or a word such as "builtin".
std::optional<NamedFiles> named_files(const std::string& path, std::string_view key) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  if (!is_folder && (path == kBuiltinCorpus || path == "-" || fs::exists(path, ignored))) return {};
  NamedFiles files;
  for (const std::string& file : text_files(path, key))
    files.add(file, part_named(is_folder ? below(path, file) : file_name_of(file)));
  // A glob that finds files for validation alone asks for them.
  if (!is_folder && files.train.empty() && files.unnamed.empty()) return {};
  return files;
}

}  // namespace

DataPart part_named(std::string_view relative_path) {
  const DataPart part = part_of_name(file_name_of(relative_path));
  if (part != DataPart::kUnnamed) return part;
  DataPart folder = DataPart::kUnnamed;
  while (true) {
    const std::size_t slash = relative_path.find('/');
    if (slash == relative_path.npos) return folder;
    const DataPart said = part_of_word(relative_path.substr(0, slash));
    if (said != DataPart::kUnnamed) folder = said;
    relative_path.remove_prefix(slash + 1);
  }
}

SourceParts divide_by_name(std::span<const std::string> paths, std::string_view key) {
  SourceParts parts;
  for (const std::string& path : paths) {
    const std::optional<NamedFiles> files = named_files(path, key);
    if (files)
      add_named(parts, path, *files);
    else
      parts.train.push_back(path);
  }
  return parts;
}

std::string list_files(std::span<const std::string> files) {
  if (files.empty()) return {};
  if (files.size() == 1) return files[0];
  if (files.size() == 2) return fmt::format("{} and {}", files[0], files[1]);
  return fmt::format("{} files ({}, …)", files.size(), files[0]);
}

}  // namespace twill
