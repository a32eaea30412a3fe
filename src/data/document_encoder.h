// SPDX-License-Identifier: Apache-2.0
// Documents to tokens on several threads. The result does not depend on their number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "data/segment_encoder.h"
#include "data/token_sequence.h"
#include "data/tokenizer.h"

namespace twill {

// The token in front of every document, as llm.c and llama2.c write them: what begins a sequence
// where the tokenizer has such a token (LLaMA: <s>), else what stands between documents (GPT-2:
// <|endoftext|>). The byte tokenizer has none.
std::optional<std::int32_t> document_token(const Tokenizer& tokenizer);

// 2 where every id fits, else 4.
int token_width(std::int64_t vocab_size);

// What a document costs in memory besides its bytes while it is encoded: without it a batch of
// documents of one byte would take 140 times its text.
inline constexpr std::int64_t kDocumentOverhead = 128;

class DocumentEncoder {
 public:
  // `threads` 0 takes all cores. Borrows the tokenizer.
  explicit DocumentEncoder(const Tokenizer& tokenizer, int threads = 0);

  // One document after the other, each with its document token in front.
  struct Tokens {
    std::vector<std::int32_t> ids;
    std::vector<std::int64_t> lengths;  // of each document, the token in front included
  };
  Tokens encode(std::span<const std::string_view> documents) { return encode(documents, {}); }

  // A text in memory as training reads it: documents where the tokenizer has a document token, else
  // one text with its separator lines.
  TokenSequence encode_text(std::string_view text);

 private:
  // Whether what is given begins documents, or goes on with one text that was cut.
  struct Begins {
    bool first = true;
    bool others = true;
  };
  Tokens encode(std::span<const std::string_view> documents, Begins begins);

  const Tokenizer& tokenizer_;
  std::optional<std::int32_t> token_;
  ThreadPool pool_;
  SegmentEncoder encoder_;
};

}  // namespace twill
