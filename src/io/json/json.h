// SPDX-License-Identifier: Apache-2.0
// JSON piece by piece, in our own words: nlohmann-json stays in json.cpp. A whole document in memory:
// io/json/json_value.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twill {

// Receives a document piece by piece. A handler throws on the first piece it does not expect, so a
// hostile document costs no more memory than what was expected of it.
class JsonHandler {
 public:
  virtual ~JsonHandler() = default;
  virtual void begin_object() = 0;
  virtual void key(std::string name) = 0;
  virtual void end_object() = 0;
  virtual void begin_array() = 0;
  virtual void end_array() = 0;
  virtual void text(std::string value) = 0;
  virtual void integer(std::int64_t value) = 0;
  virtual void null() = 0;
  virtual void fraction(double) { other("a fraction"); }
  virtual void boolean(bool) { other("a boolean"); }
  // What the handler has no place for: an integer beyond 64 bits, and what the two above pass on.
  virtual void other(std::string_view what) = 0;
};

// Throws twill::Error with the parser's description when the text is not JSON.
void parse_json(std::string_view text, JsonHandler& handler);

// The integer under a key of the object in `line`; empty when there is none, or no JSON object.
std::optional<std::int64_t> json_integer_at(std::string_view line, std::string_view key);

// One member of the object in a document, without building the rest of it.
struct JsonMember {
  std::string_view document_kind;    // "an object", …: what the document is
  std::string_view kind = "absent";  // of the member: "text", "a list", …
  std::string text;                  // when it is text
};
// Throws twill::Error, as parse_json() and when the key comes twice.
JsonMember json_member(std::string_view document, std::string_view key);
// The keys of the object in a document, in their order; none where it is no object.
std::vector<std::string> json_keys(std::string_view document);

// With quotes and escapes. Bytes that are not UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);
// The shortest digits that read back as the same double, with a ".0" where they could be taken for
// an integer: a column keeps one type. "null" for NaN and infinity, which JSON does not have.
std::string json_number(double value);

}  // namespace twill
