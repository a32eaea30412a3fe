// SPDX-License-Identifier: Apache-2.0
// What a list of paths in [data] stands for: texts, token shards, or folders made by
// `twill data prepare`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/document_encoder.h"
#include "data/token_ids.h"
#include "data/token_sequence.h"

namespace twill {

struct LoadedSource {
  TokenSequence train;
  TokenSequence validation;  // empty where the source sets nothing apart
  std::string hash;          // of the texts' bytes, or of the shards, and of what validates
  // For people: where the validation part is from, "val.bin" or "the last 10%"; and what else one
  // would want to know of the source, one sentence each.
  std::string validated_by;
  std::vector<std::string> notes;
};

struct LoadOptions {
  std::string_view key;  // begins messages: "data.train"
  // The share of a source without validation shards that is set apart, from its end; 0: none.
  double validation_fraction = 0.0;
  bool validation_only = false;   // the training part of a text is not encoded
  std::string text_key = "text";  // of JSON Lines
};

// A list holds one kind of thing. Files that a folder names for validation are the validation part
// (data/source_parts.h). Shards are read once, to hash them and to find ids outside of the
// vocabulary. Throws twill::Error.
// `encoder` belongs to the tokenizer of `ids`; without one only shards can be read.
LoadedSource load_source(std::span<const std::string> paths, DocumentEncoder* encoder,
                         const TokenIds& ids, const LoadOptions& options);

// The tokenizer of the first folder made by `data prepare` among the paths; empty: there is none.
std::string tokenizer_of(std::span<const std::string> paths);

}  // namespace twill
