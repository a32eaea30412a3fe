// SPDX-License-Identifier: Apache-2.0
#include "data/segment_encoder.h"

#include <utility>

namespace twill {
namespace {

// Small enough to share a text of a few megabytes evenly, large enough that the seams cost nothing.
constexpr std::size_t kSegmentBytes = std::size_t{128} << 10;

// The cut nearest before kSegmentBytes, or the first one known after it.
std::size_t segment_end(const Tokenizer& tokenizer, std::string_view text) {
  for (std::size_t bytes = kSegmentBytes; bytes < text.size(); bytes *= 2) {
    // One byte more than the limit: a cut is known by the byte behind it.
    const std::size_t cut = tokenizer.find_cut(text.substr(0, bytes + 1), bytes);
    if (cut > 0) return cut;
  }
  return text.size();
}

}  // namespace

void cut_segments(const Tokenizer& tokenizer, std::string_view text, bool begins,
                  std::vector<TextSegment>& segments) {
  do {
    const std::size_t end = segment_end(tokenizer, text);
    segments.push_back({text.substr(0, end), std::exchange(begins, false), {}});
    text.remove_prefix(end);
  } while (!text.empty());
}

SegmentEncoder::SegmentEncoder(const Tokenizer& tokenizer, ThreadPool& pool) : pool_(&pool) {
  for (int thread = 0; thread < pool.num_threads(); ++thread)
    encoders_.push_back(tokenizer.make_encoder());
}

void SegmentEncoder::encode(std::vector<TextSegment>& segments) {
  pool_->run(std::ssize(segments), [&](std::int64_t index, int thread) {
    TextSegment& segment = segments[static_cast<std::size_t>(index)];
    TokenEncoder& encoder = *encoders_[static_cast<std::size_t>(thread)];
    if (segment.begins)
      encoder.encode(segment.text, segment.ids);
    else
      encoder.encode_rest(segment.text, segment.ids);
  });
}

}  // namespace twill
