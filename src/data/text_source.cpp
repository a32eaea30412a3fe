// SPDX-License-Identifier: Apache-2.0
#include "data/text_source.h"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "base/require.h"
#include "data/builtin_corpus.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

// All regular files below the folder. Links to files count, links to folders are not followed: they
// can form a circle.
std::vector<std::string> files_below(const std::string& folder, std::string_view key) {
  std::vector<std::string> files;
  std::string current = folder;  // the iterator's own errors do not name the folder
  try {
    for (auto it = fs::recursive_directory_iterator(folder); it != fs::end(it); ++it) {
      current = it->path().native();
      if (is_hidden(it->path()))
        it.disable_recursion_pending();
      else if (it->is_regular_file())
        files.push_back(current);
    }
  } catch (const fs::filesystem_error& error) {
    fail("{}: cannot read {}: {}", key, current, error.code().message());
  }
  // By bytes, whatever the language of the machine.
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> glob_matches(const std::string& pattern) {
  glob_t found{};
  // NOSORT: its order depends on the language of the machine; ours goes by bytes.
  const int status = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  const std::unique_ptr<glob_t, void (*)(glob_t*)> owner(&found, ::globfree);
  std::vector<std::string> paths;
  if (status == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  std::ranges::sort(paths);
  return paths;
}

std::vector<std::string> files_of(const std::string& source, std::string_view key) {
  std::error_code ignored;
  if (fs::is_directory(source, ignored)) {
    std::vector<std::string> files = files_below(source, key);
    require(!files.empty(), "{}: the folder {} has no files in it", key, source);
    return files;
  }
  if (fs::exists(source, ignored)) return {source};
  require(source.find_first_of("*?[") != std::string::npos,
          "{}: no such file or folder: {}; give a text file, a folder or a glob", key, source);

  std::vector<std::string> files;
  for (const std::string& path : glob_matches(source)) {
    if (fs::is_directory(path, ignored))
      std::ranges::copy(files_below(path, key), std::back_inserter(files));
    else
      files.push_back(path);
  }
  require(!files.empty(), "{}: no file matches {}", key, source);
  return files;
}

void append_document(std::string& text, std::string document) {
  if (text.empty()) {
    text = std::move(document);  // the usual single file is not copied
    return;
  }
  if (text.back() != '\n' && !document.empty()) text += '\n';
  text += document;
}

std::string read_document(const std::string& path, std::string_view key) {
  // A device may never end. A pipe does: data.train=<(zcat text.gz) works.
  require(fs::is_regular_file(path) || fs::is_fifo(path), "{}: {} is not a text file", key, path);
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), "{}: cannot read {}: {}", key, path, std::strerror(errno));
  std::string document;
  std::error_code unknown_size;
  const std::uintmax_t bytes = fs::file_size(path, unknown_size);
  if (!unknown_size) document.reserve(bytes);
  std::vector<char> piece(std::size_t{1} << 20);
  do {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    document.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  } while (file.good());
  require(!file.bad(), "{}: cannot read {}: {}", key, path, std::strerror(errno));
  return document;
}

std::string load_source(const std::string& source, std::string_view key) {
  if (source == kBuiltinCorpus) return std::string(builtin_corpus());
  std::string text;
  for (const std::string& path : files_of(source, key))
    append_document(text, read_document(path, key));
  require(!text.empty(), "{}: {} is empty; give a text file, a folder or a glob", key, source);
  return text;
}

}  // namespace

std::string load_text(std::span<const std::string> sources, std::string_view key) {
  require(!sources.empty(), "{}: no text given; give a text file, a folder, a glob or \"builtin\"",
          key);
  std::string text = load_source(sources[0], key);
  for (const std::string& source : sources.subspan(1))
    append_document(text, load_source(source, key));
  return text;
}

}  // namespace twill
