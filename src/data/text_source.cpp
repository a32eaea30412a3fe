// SPDX-License-Identifier: Apache-2.0
#include "data/text_source.h"

#include <glob.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/require.h"
#include "data/builtin_corpus.h"
#include "data/document_reader.h"

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

void append_document(std::string& text, std::string document, FileJoin join) {
  if (text.empty()) {
    text = std::move(document);  // the usual single file is not copied
    return;
  }
  if (document.empty()) return;
  if (text.back() != '\n') text += '\n';
  if (join == FileJoin::kSeparator) (text += kDocumentSeparator) += '\n';
  text += document;
}

// The documents of JSON Lines as one text.
std::string text_of_json_lines(std::string_view lines, const std::string& path,
                               const DocumentOptions& options) {
  std::string text;
  for (std::int64_t number = 1; !lines.empty(); ++number) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == lines.npos ? lines.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    append_document(text, json_document(line, options, fmt::format("{}: line {}", path, number)),
                    FileJoin::kSeparator);
  }
  return text;
}

void read_file_into(LoadedText& loaded, const std::string& path, const TextOptions& options) {
  // Opening a pipe waits for its writer, and a resumed run could not read it again.
  require(!fs::is_fifo(path),
          "{}: {} is a pipe; write what comes out of it into a file, or give it to `twill data "
          "prepare`",
          options.key, path);
  const std::unique_ptr<ByteSource> source = open_text(path, options.key);
  try {
    std::string content = read_all(*source, kMaxTextBytes);
    const std::string_view first_line(content.data(), std::min(content.find('\n'), content.size()));
    const bool is_json = is_json_lines(path, first_line, options.documents.text_key);
    if (is_json) content = text_of_json_lines(content, path, options.documents);
    if (is_json || has_separator(content))
      ++loaded.divided;
    else if (!content.empty())
      loaded.undivided.push_back(path);
    append_document(loaded.text, std::move(content), options.join);
  } catch (const Error& error) {
    fail("{}: {}", options.key, error.what());
  }
}

LoadedText read_source(const std::string& source, const TextOptions& options) {
  if (source == kBuiltinCorpus)
    return {.text = std::string(builtin_corpus()), .undivided = {}, .divided = 1};
  LoadedText loaded;
  for (const std::string& path : text_files(source, options.key))
    read_file_into(loaded, path, options);
  require(!loaded.text.empty(), "{}: {} is empty; give a text file, a folder or a glob",
          options.key, source);
  return loaded;
}

}  // namespace

std::vector<std::string> text_files(const std::string& source, std::string_view key) {
  if (source == kBuiltinCorpus || source == "-") return {source};
  return files_of(source, key);
}

std::unique_ptr<ByteSource> open_text(const std::string& path, std::string_view key) {
  if (path == kBuiltinCorpus) return byte_source_of(std::string(builtin_corpus()), path);
  require(path == "-" || fs::is_regular_file(path) || fs::is_fifo(path),
          "{}: {} is not a text file", key, path);
  try {
    return open_byte_source(path);
  } catch (const Error& error) {
    fail("{}: {}", key, error.what());
  }
}

LoadedText read_texts(std::span<const std::string> sources, const TextOptions& options) {
  require(!sources.empty(), "{}: no text given; give a text file, a folder, a glob or \"builtin\"",
          options.key);
  LoadedText all = read_source(sources[0], options);
  for (const std::string& source : sources.subspan(1)) {
    LoadedText next = read_source(source, options);
    append_document(all.text, std::move(next.text), options.join);
    std::ranges::move(next.undivided, std::back_inserter(all.undivided));
    all.divided += next.divided;
  }
  return all;
}

std::string load_text(std::span<const std::string> sources, std::string_view key, FileJoin join) {
  return read_texts(sources, {.key = key, .join = join}).text;
}

}  // namespace twill
