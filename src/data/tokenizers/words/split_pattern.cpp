// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/words/split_pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/check.h"
#include "base/require.h"
#include "data/tokenizers/unicode/unicode_versions.h"
#include "data/tokenizers/unicode/utf8.h"

namespace twill {
namespace {

// PCRE2's \s takes U+180E as well, which stopped being a space in Unicode 6.3; Oniguruma and Rust,
// whose ids ours equal, follow Unicode.
constexpr std::string_view kSpaces = R"(\x09-\x0d\x20\x{85}\p{Z})";

// The classes that are spelled out: escape, what stands for it inside [ ].
struct Spelled {
  std::string_view escape;
  std::string inside;
};

const std::vector<Spelled>& spelled_out() {
  static const std::vector<Spelled> all = {
      {R"(\s)", std::string(kSpaces)},
      {R"(\p{L})", R"(\p{L})" + std::string(kNewLetters)},
      {R"(\p{N})", R"(\p{N})" + std::string(kNewNumbers)},
  };
  return all;
}

// \s, \S, \p{L} and \p{N} in words that mean the same in every version of PCRE2.
std::string rewritten(std::string_view expression) {
  std::string out;
  bool in_class = false;
  while (!expression.empty()) {
    const auto known = std::ranges::find_if(
        spelled_out(), [&](const Spelled& one) { return expression.starts_with(one.escape); });
    if (known != spelled_out().end()) {
      out += in_class ? known->inside : "[" + known->inside + "]";
      expression.remove_prefix(known->escape.size());
      continue;
    }
    if (expression.starts_with(R"(\S)") && !in_class) {
      out += fmt::format("[^{}]", kSpaces);
      expression.remove_prefix(2);
      continue;
    }
    const std::size_t length = expression[0] == '\\' && expression.size() > 1 ? 2 : 1;
    if (expression[0] == '[') in_class = true;
    if (expression[0] == ']') in_class = false;
    out += expression.substr(0, length);
    expression.remove_prefix(length);
  }
  return out;
}

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return {reinterpret_cast<const char*>(text.data())};
}

// A match gives up after so much backtracking: a pattern from a file may ask for any amount.
constexpr std::uint32_t kMatchLimit = 10'000'000;
constexpr std::size_t kSmallStack = std::size_t{32} << 10;
constexpr std::size_t kLargeStack = std::size_t{16} << 20;

constexpr char kInvalidByte = '\x01';

}  // namespace

std::string with_invalid_bytes_marked(std::string_view text) {
  std::string marked(text);
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_at(text, at);
    if (!c.valid) marked.replace(at, c.bytes, c.bytes, kInvalidByte);
    at += c.bytes;
  }
  return marked;
}

struct SplitPattern::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

SplitPattern::SplitPattern(std::string_view expression)
    : expression_(expression), code_(std::make_unique<Code>()) {
  const std::string own = rewritten(expression);
  int error = 0;
  PCRE2_SIZE where = 0;
  // \C matches half a character; to go on from there is undefined behaviour.
  code_->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(own.data()), own.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &where, nullptr);
  require(code_->code != nullptr, "the splitting pattern is no regular expression: {}; got: {}",
          message_of(error), expression);
  // Where the machine has no JIT, pcre2_match interprets.
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);
}

SplitPattern::~SplitPattern() = default;
SplitPattern::SplitPattern(SplitPattern&&) noexcept = default;
SplitPattern& SplitPattern::operator=(SplitPattern&&) noexcept = default;

struct SplitPattern::Matcher::State {
  const pcre2_code* code = nullptr;
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;
  ~State() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

SplitPattern::Matcher::Matcher(const SplitPattern& pattern) : state_(std::make_unique<State>()) {
  state_->code = pattern.code_->code;
  state_->data = pcre2_match_data_create_from_pattern(state_->code, nullptr);
  state_->context = pcre2_match_context_create(nullptr);
  state_->stack = pcre2_jit_stack_create(kSmallStack, kLargeStack, nullptr);
  TWILL_CHECK(state_->data && state_->context && state_->stack, "PCRE2 has no memory");
  pcre2_set_match_limit(state_->context, kMatchLimit);
  pcre2_jit_stack_assign(state_->context, nullptr, state_->stack);
}

SplitPattern::Matcher::~Matcher() = default;
SplitPattern::Matcher::Matcher(Matcher&&) noexcept = default;

SplitPattern::Found SplitPattern::Matcher::find(std::string_view text, std::size_t from) {
  const int count =
      pcre2_match(state_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                  PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, state_->data, state_->context);
  if (count == PCRE2_ERROR_NOMATCH) return {text.size(), text.size()};
  require(count >= 0, "the splitting pattern gave up at byte {} of a text: {}", from,
          message_of(count));
  const PCRE2_SIZE* place = pcre2_get_ovector_pointer(state_->data);
  return {place[0], place[1]};
}

}  // namespace twill
