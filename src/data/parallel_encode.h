// SPDX-License-Identifier: Apache-2.0
// Long texts on all threads, and texts that come in pieces. The ids are those of encoding the whole
// text at once, whatever the number of threads and the pieces.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "data/segment_encoder.h"
#include "data/tokenizer.h"

namespace twill {

// Borrows both.
class ParallelEncoder {
 public:
  ParallelEncoder(const Tokenizer& tokenizer, ThreadPool& pool)
      : tokenizer_(&tokenizer), encoder_(tokenizer, pool) {}

  // Appends the ids. A tokenizer that knows no cut in the text encodes it on one thread.
  void encode(std::string_view text, std::vector<std::int32_t>& ids) { run(text, false, ids); }
  // The same for text behind a cut of Tokenizer::find_cut().
  void encode_rest(std::string_view text, std::vector<std::int32_t>& ids) { run(text, true, ids); }

 private:
  void run(std::string_view text, bool is_rest, std::vector<std::int32_t>& ids);

  const Tokenizer* tokenizer_;
  SegmentEncoder encoder_;
};

// A text fed in pieces of any size. Memory is bounded as long as the tokenizer finds cuts.
class StreamEncoder {
 public:
  StreamEncoder(const Tokenizer& tokenizer, ThreadPool& pool);

  // Appends the ids of what can no longer change.
  void feed(std::string_view piece, std::vector<std::int32_t>& ids);
  // Appends the rest; the next feed() begins a new text.
  void finish(std::vector<std::int32_t>& ids);

 private:
  void encode(std::string_view text, std::vector<std::int32_t>& ids);

  const Tokenizer* tokenizer_;
  ParallelEncoder encoder_;
  std::size_t block_bytes_;
  std::size_t next_try_;  // bytes held when a cut is looked for again
  std::string held_;
  bool has_begun_ = false;
};

// Ids to text, one at a time, in whole characters: what a terminal can show.
class StreamDecoder {
 public:
  // `context` stands in front and is not given out: LLaMA writes a space differently behind it.
  explicit StreamDecoder(const Tokenizer& tokenizer, std::span<const std::int32_t> context = {});

  // The text that is complete now; may be empty.
  std::string push(std::int32_t id);
  // What is left: the bytes of a character that never became whole.
  std::string flush();

 private:
  void forget();

  const Tokenizer* tokenizer_;
  std::vector<std::int32_t> ids_;  // the last few
  std::string held_;
};

}  // namespace twill
