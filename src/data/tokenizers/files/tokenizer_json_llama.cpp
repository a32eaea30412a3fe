// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/require.h"
#include "data/tokenizers/bpe/llama_bpe.h"
#include "data/tokenizers/files/json_fields.h"
#include "data/tokenizers/files/tokenizer_json_kinds.h"

namespace twill {
namespace {

using Prefix = LlamaOptions::Prefix;

// Prepend of a space mark, and Replace of spaces by it: nothing else.
bool read_normalizer(const JsonValue* normalizer, LlamaOptions& options) {
  bool replaces = false;
  options.prefix = Prefix::kNever;
  for (const JsonValue* step : steps_of(normalizer, "normalizers")) {
    const std::string type = type_of(*step);
    if (type == "Prepend" && !replaces && text_at(*step, "prepend") == kSpaceMark) {
      options.prefix = Prefix::kAlways;
      continue;
    }
    const JsonValue* pattern = step->find("pattern");
    const bool marks_spaces = type == "Replace" && pattern != nullptr &&
                              text_or(*pattern, "String", "") == " " &&
                              text_at(*step, "content") == kSpaceMark;
    require(marks_spaces,
            "a normalizer of type {} is not supported here; supported are Prepend of U+2581 and "
            "then Replace of a space by it",
            type);
    replaces = true;
  }
  return replaces;
}

Prefix prefix_scheme(const JsonValue& metaspace) {
  const bool old_flag = flag_at(metaspace, "add_prefix_space", true);
  const std::string scheme = text_or(metaspace, "prepend_scheme", old_flag ? "always" : "never");
  if (scheme == "always") return Prefix::kAlways;
  if (scheme == "first") return Prefix::kFirst;
  require(scheme == "never", "a Metaspace with prepend_scheme '{}' is not supported", scheme);
  return Prefix::kNever;
}

void read_metaspace(const JsonValue& step, LlamaOptions& options) {
  require(type_of(step) == "Metaspace",
          "a pre-tokenizer of type {} is not supported; supported are ByteLevel and Metaspace",
          type_of(step));
  require(text_at(step, "replacement") == kSpaceMark,
          "a Metaspace with another mark than U+2581 is not supported");
  options.prefix = prefix_scheme(step);
  options.prefix_before_space = false;
  options.split_words = flag_at(step, "split", true);
}

}  // namespace

std::unique_ptr<Tokenizer> llama_from_json(const JsonValue& file, TokenizerParts parts) {
  LlamaOptions options;
  const bool replaces = read_normalizer(file.find("normalizer"), options);
  const auto steps = steps_of(file.find("pre_tokenizer"), "pretokenizers");
  require(steps.size() == (replaces ? 0u : 1u),
          "a BPE without ByteLevel must mark its spaces once, by a normalizer (Replace) or by a "
          "pre-tokenizer (Metaspace); this one is of another kind and not supported");
  if (!replaces) read_metaspace(*steps[0], options);
  options.strip_first_space = options.prefix != Prefix::kNever;
  BpeModel model = bpe_model_of(*file.find("model"), parts.vocabulary);
  return std::make_unique<LlamaBpe>(std::move(parts), std::move(model), options);
}

}  // namespace twill
