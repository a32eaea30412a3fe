// SPDX-License-Identifier: Apache-2.0
// Text to ids and back.
//
// A text is any bytes. What is not valid UTF-8 is treated by one rule: byte-level tokenizers (byte,
// GPT-2 BPE) give the bytes as they are, so decode(encode(x)) == x always; the others (LLaMA BPE,
// WordPiece) read each maximal invalid sequence as one U+FFFD, as Unicode recommends.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twill {

// Encodes texts one after the other on one thread: it remembers words it has seen, so make one per
// thread and keep it. Borrows its tokenizer.
class TokenEncoder {
 public:
  virtual ~TokenEncoder() = default;
  // Appends the ids of `text`. What was encoded before changes nothing.
  virtual void encode(std::string_view text, std::vector<std::int32_t>& ids) = 0;
  // The same for text that goes on after a cut made by Tokenizer::find_cut(): what is put in front
  // of a text (LLaMA: a space) is not put there again.
  virtual void encode_rest(std::string_view text, std::vector<std::int32_t>& ids) {
    encode(text, ids);
  }
};

// One file of a tokenizer's folder.
struct TokenizerFile {
  std::string name;  // "tokenizer.json"
  std::string content;
};

// Safe for use by several threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // What it is, for people: "byte", "gpt2-bpe", "llama-bpe", "wordpiece".
  virtual std::string_view name() const = 0;
  // One more than the largest id.
  virtual std::int64_t vocab_size() const = 0;

  // Special tokens written out in the text ("<|endoftext|>") become their ids, as in Hugging Face's
  // tokenizers; none is added at the ends.
  virtual std::unique_ptr<TokenEncoder> make_encoder() const = 0;
  // Throws twill::Error for an id outside the vocabulary.
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;

  // Where a long text may be cut: the largest position p <= limit with encode(text) ==
  // encode(text[0, p)) + encode_rest(text[p, end)), whatever follows `text`; 0 when none is known.
  virtual std::size_t find_cut(std::string_view text, std::size_t limit) const = 0;

  // What stands between documents (GPT-2: <|endoftext|>; LLaMA: </s>; BERT: [SEP]), and what begins
  // a sequence where the model expects something (LLaMA: <s>; BERT: [CLS]).
  virtual std::optional<std::int32_t> end_of_text() const { return std::nullopt; }
  virtual std::optional<std::int32_t> begin_of_text() const { return std::nullopt; }

  // The folder that open_tokenizer() reads back as this tokenizer and Hugging Face loads; empty for
  // "byte", which needs none.
  virtual std::vector<TokenizerFile> files() const { return {}; }

  // A new encoder per call: for short texts.
  std::vector<std::int32_t> encode(std::string_view text) const;
  // hash_text() form, of the files or the name: two tokenizers with one hash give the same ids.
  std::string hash() const;
};

// "byte", or a folder or file of the kinds in data/tokenizers/. Throws twill::Error.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& where);

}  // namespace twill
