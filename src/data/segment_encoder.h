// SPDX-License-Identifier: Apache-2.0
// Long texts in segments that threads encode independently. The ids of all segments, one behind the
// other, are those of encoding the texts whole.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "data/tokenizer.h"

namespace twill {

struct TextSegment {
  std::string_view text;
  bool begins;  // a text; else it goes on behind a cut
  std::vector<std::int32_t> ids;
};

// Appends the text in segments of about 128 KiB. Where the tokenizer knows no cut, longer ones.
void cut_segments(const Tokenizer& tokenizer, std::string_view text, bool begins,
                  std::vector<TextSegment>& segments);

// Keeps one encoder per thread of the pool. Borrows both.
class SegmentEncoder {
 public:
  SegmentEncoder(const Tokenizer& tokenizer, ThreadPool& pool);

  // Fills the ids of every segment.
  void encode(std::vector<TextSegment>& segments);

 private:
  ThreadPool* pool_;
  std::vector<std::unique_ptr<TokenEncoder>> encoders_;
};

}  // namespace twill
