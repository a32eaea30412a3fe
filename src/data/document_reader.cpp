// SPDX-License-Identifier: Apache-2.0
#include "data/document_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/require.h"
#include "io/json/json.h"

namespace twill {
namespace {

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

bool named_json_lines(std::string_view path) {
  for (const std::string_view packed : {".gz", ".xz", ".zst"})
    if (path.ends_with(packed)) path.remove_suffix(packed.size());
  constexpr std::array<std::string_view, 3> kEndings{".jsonl", ".ndjson", ".json"};
  for (const std::string_view ending : kEndings)
    if (path.ends_with(ending)) return true;
  return false;
}

// "it has \"id\", \"content\"", for a message about a key that is missing.
std::string keys_text(std::string_view object) {
  constexpr std::size_t kShown = 8;
  const std::vector<std::string> keys = json_keys(object);
  if (keys.empty()) return "it is empty";
  std::string text = "it has ";
  for (std::size_t i = 0; i < std::min(keys.size(), kShown); ++i)
    text += (i > 0 ? ", " : "") + json_quoted(keys[i]);
  return keys.size() > kShown ? fmt::format("{} and {} more", text, keys.size() - kShown) : text;
}

// From where on a line of its own ends a document; npos: nowhere.
std::size_t find_separator(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find(kDocumentSeparator, from); at != text.npos;
       at = text.find(kDocumentSeparator, at + 1)) {
    const std::size_t after = at + kDocumentSeparator.size();
    if ((at == 0 || text[at - 1] == '\n') && (after == text.size() || text[after] == '\n'))
      return at;
  }
  return text.npos;
}

}  // namespace

bool is_json_lines(std::string_view path, std::string_view first_line, std::string_view text_key) {
  if (named_json_lines(path)) return true;
  if (!first_line.starts_with('{')) return false;
  try {
    return json_member(first_line, text_key).kind == "text";
  } catch (const Error&) {
    return false;  // a text that happens to begin with a brace
  }
}

std::string json_document(std::string_view line, const DocumentOptions& options,
                          const std::string& where) {
  const std::string& text_key = options.text_key;
  JsonMember member;
  try {
    member = json_member(line, text_key);
  } catch (const Error& error) {
    fail("{}: {}", where, error.what());
  }
  require(member.document_kind == "an object", "{}: expected a JSON object, got {}", where,
          member.document_kind);
  require(member.kind != "absent",
          "{}: the object has no key \"{}\"; {}: name the one that holds the text by {}", where,
          text_key, keys_text(line), options.text_key_option);
  require(member.kind == "text", "{}: \"{}\" is {}, expected text; name another key by {}", where,
          text_key, member.kind, options.text_key_option);
  return std::move(member.text);
}

bool has_separator(std::string_view text) { return find_separator(text, 0) != text.npos; }

std::vector<std::string_view> split_documents(std::string_view text) {
  std::vector<std::string_view> documents;
  std::size_t begin = 0;
  const auto end_document = [&](std::size_t end) {
    if (end > begin) documents.push_back(text.substr(begin, end - begin));
  };
  for (std::size_t at = find_separator(text, 0); at != text.npos;
       at = find_separator(text, begin)) {
    end_document(at);
    begin = std::min(at + kDocumentSeparator.size() + 1, text.size());
  }
  end_document(text.size());
  return documents;
}

DocumentReader::DocumentReader(ByteSource& source, DocumentOptions options)
    : source_(source), options_(std::move(options)), lines_(source, options_.max_bytes) {
  pending_ = next_line();
  json_lines_ = is_json_lines(source.path(), line_, options_.text_key);
}

bool DocumentReader::next_line() {
  const auto line = lines_.next();
  line_ = line.value_or(std::string_view());
  return line.has_value();
}

bool DocumentReader::next(std::string& document) {
  document.clear();
  return json_lines_ ? next_json(document) : next_text(document);
}

bool DocumentReader::next_text(std::string& document) {
  while (std::exchange(pending_, false) || next_line()) {
    if (line_ == kDocumentSeparator) {
      if (!document.empty()) return true;
      continue;
    }
    require(document.size() + line_.size() < options_.max_bytes,
            "{}: the document that ends behind line {} is larger than {} bytes; separate documents "
            "by lines {}",
            source_.path(), lines_.line_number(), options_.max_bytes, kDocumentSeparator);
    document += line_;
    if (lines_.had_line_end()) document += '\n';
  }
  return !document.empty();
}

bool DocumentReader::next_json(std::string& document) {
  while (std::exchange(pending_, false) || next_line()) {
    if (blank(line_)) continue;
    document = json_document(line_, options_,
                             fmt::format("{}: line {}", source_.path(), lines_.line_number()));
    if (!document.empty()) return true;
  }
  return false;
}

}  // namespace twill
