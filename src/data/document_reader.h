// SPDX-License-Identifier: Apache-2.0
// Texts as documents.
//
// Plain text: a line that is exactly <|endoftext|> ends a document; a file without such lines is
// one document. A document keeps all its bytes, the line end in front of the separator line
// included. JSON Lines: one object per line, its member `text` is the document. A file is taken for
// JSON Lines when its name says so (.jsonl, .ndjson or .json, with .gz, .xz or .zst behind it or
// not), or when its first line is a JSON object with that member. Empty documents are passed over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/packed/byte_source.h"

namespace twill {

inline constexpr std::string_view kDocumentSeparator = "<|endoftext|>";

struct DocumentOptions {
  std::string text_key = "text";
  std::string text_key_option = "--text-key";  // where a person sets it, for messages
  std::size_t max_bytes = kMaxDocumentBytes;   // of one document
};

// One document after the other; holds one in memory. Borrows its source.
class DocumentReader {
 public:
  explicit DocumentReader(ByteSource& source, DocumentOptions options = {});

  // False at the end. Throws twill::Error: `a.jsonl: line 3: …`.
  bool next(std::string& document);
  bool json_lines() const { return json_lines_; }

 private:
  bool next_line();
  bool next_text(std::string& document);
  bool next_json(std::string& document);

  ByteSource& source_;
  DocumentOptions options_;
  LineReader lines_;
  std::string_view line_;  // the current one, while `pending_`
  bool pending_ = false;
  bool json_lines_ = false;
};

// Whether a file of this name that begins with this line is JSON Lines.
bool is_json_lines(std::string_view path, std::string_view first_line, std::string_view text_key);

// The document in one line of JSON Lines; `where` begins the message: "a.jsonl: line 3".
std::string json_document(std::string_view line, const DocumentOptions& options,
                          const std::string& where);

// Whether a line of the text ends a document.
bool has_separator(std::string_view text);

// The documents of a text in memory, by the rule above for plain text.
std::vector<std::string_view> split_documents(std::string_view text);

}  // namespace twill
