// SPDX-License-Identifier: Apache-2.0
#include "data/document_reader.h"

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

std::string json_document(std::string_view line, std::string_view text_key,
                          const std::string& where) {
  JsonMember member;
  try {
    member = json_member(line, text_key);
  } catch (const Error& error) {
    fail("{}: {}", where, error.what());
  }
  require(member.document_kind == "an object", "{}: expected a JSON object, got {}", where,
          member.document_kind);
  require(member.kind != "absent",
          "{}: the object has no key \"{}\"; name the key with `data prepare --text-key`", where,
          text_key);
  require(member.kind == "text", "{}: \"{}\" is {}, expected text", where, text_key, member.kind);
  return std::move(member.text);
}

std::vector<std::string_view> split_documents(std::string_view text) {
  std::vector<std::string_view> documents;
  std::size_t begin = 0;
  const auto end_document = [&](std::size_t end) {
    if (end > begin) documents.push_back(text.substr(begin, end - begin));
  };
  for (std::size_t at = text.find(kDocumentSeparator); at != text.npos;
       at = text.find(kDocumentSeparator, at + 1)) {
    const std::size_t after = at + kDocumentSeparator.size();
    const bool whole_line =
        (at == 0 || text[at - 1] == '\n') && (after == text.size() || text[after] == '\n');
    if (!whole_line) continue;
    end_document(at);
    begin = std::min(after + 1, text.size());
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
    document = json_document(line_, options_.text_key,
                             fmt::format("{}: line {}", source_.path(), lines_.line_number()));
    if (!document.empty()) return true;
  }
  return false;
}

}  // namespace twill
