// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/require.h"
#include "data/tokenizers/files/json_fields.h"
#include "data/tokenizers/files/tokenizer_json_kinds.h"
#include "data/tokenizers/wordpiece/wordpiece.h"

namespace twill {
namespace {

void read_normalizer(const JsonValue* step, WordPieceOptions& options) {
  const auto steps = steps_of(step, "normalizers");
  require(steps.size() == 1 && type_of(*steps[0]) == "BertNormalizer",
          "a WordPiece with another normalizer than BertNormalizer is not supported");
  const JsonValue& normalizer = *steps[0];
  options.clean_text = flag_at(normalizer, "clean_text", true);
  options.space_cjk = flag_at(normalizer, "handle_chinese_chars", true);
  options.lower_case = flag_at(normalizer, "lowercase", true);
  options.strip_accents = flag_at(normalizer, "strip_accents", options.lower_case);
}

}  // namespace

std::unique_ptr<Tokenizer> wordpiece_from_json(const JsonValue& file, TokenizerParts parts) {
  WordPieceOptions options;
  read_normalizer(file.find("normalizer"), options);
  const auto steps = steps_of(file.find("pre_tokenizer"), "pretokenizers");
  require(steps.size() == 1 && type_of(*steps[0]) == "BertPreTokenizer",
          "a WordPiece with another pre-tokenizer than BertPreTokenizer is not supported");
  const JsonValue& model = *file.find("model");
  options.unknown = text_or(model, "unk_token", "[UNK]");
  options.prefix = text_or(model, "continuing_subword_prefix", "##");
  require(!options.prefix.empty(),
          "a WordPiece without a continuing_subword_prefix is not "
          "supported");
  if (const JsonValue* most = model.find("max_input_chars_per_word")) {
    require(most->integer() != nullptr && *most->integer() > 0,
            "max_input_chars_per_word must be a positive integer");
    options.max_chars = *most->integer();
  }
  if (const JsonValue* decoder = file.find("decoder"); decoder && !decoder->is_null())
    options.clean_up = flag_at(*decoder, "cleanup", true);
  return std::make_unique<WordPiece>(std::move(parts), std::move(options));
}

}  // namespace twill
