// SPDX-License-Identifier: Apache-2.0
#include "data/parallel_encode.h"

#include <algorithm>
#include <utility>

#include "data/tokenizers/unicode/utf8.h"

namespace twill {
namespace {

// Per thread, of a stream: some tens of parts, so that no thread waits long for the last one.
constexpr std::size_t kBlockBytes = std::size_t{4} << 20;

}  // namespace

void ParallelEncoder::run(std::string_view text, bool is_rest, std::vector<std::int32_t>& ids) {
  if (text.empty()) return;
  std::vector<TextSegment> segments;
  cut_segments(*tokenizer_, text, /*begins=*/!is_rest, segments);
  encoder_.encode(segments);
  for (const TextSegment& segment : segments)
    ids.insert(ids.end(), segment.ids.begin(), segment.ids.end());
}

StreamEncoder::StreamEncoder(const Tokenizer& tokenizer, ThreadPool& pool)
    : tokenizer_(&tokenizer),
      encoder_(tokenizer, pool),
      block_bytes_(kBlockBytes * static_cast<std::size_t>(pool.num_threads())),
      next_try_(block_bytes_) {}

void StreamEncoder::feed(std::string_view piece, std::vector<std::int32_t>& ids) {
  held_ += piece;
  if (held_.size() < next_try_) return;
  const std::size_t cut = tokenizer_->find_cut(held_, held_.size());
  if (cut > 0) {
    encode(std::string_view(held_).substr(0, cut), ids);
    held_.erase(0, cut);
  }
  // Twice as far where there is no cut: looking again at every piece would be quadratic.
  next_try_ = std::max(block_bytes_, held_.size() * 2);
}

void StreamEncoder::finish(std::vector<std::int32_t>& ids) {
  encode(held_, ids);
  held_.clear();
  next_try_ = block_bytes_;
  has_begun_ = false;
}

void StreamEncoder::encode(std::string_view text, std::vector<std::int32_t>& ids) {
  if (has_begun_)
    encoder_.encode_rest(text, ids);
  else
    encoder_.encode(text, ids);
  has_begun_ = true;
}

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, std::span<const std::int32_t> context)
    : tokenizer_(&tokenizer) {
  const auto last =
      context.last(std::min<std::size_t>(context.size(), 16));  // forget() is quadratic
  ids_.assign(last.begin(), last.end());
  forget();
}

std::string StreamDecoder::push(std::int32_t id) {
  const std::string before = tokenizer_->decode(ids_);
  ids_.push_back(id);
  std::string both;
  try {
    both = tokenizer_->decode(ids_);
  } catch (...) {
    ids_.pop_back();  // an id that does not exist leaves no trace
    throw;
  }
  held_ += both.substr(before.size());
  forget();
  const std::size_t whole = held_.size() - incomplete_utf8_at_end(held_);
  std::string ready = held_.substr(0, whole);
  held_.erase(0, whole);
  return ready;
}

// How a token is written depends on whether it is the first and on the one before it: the last few
// that write something are enough.
void StreamDecoder::forget() {
  while (ids_.size() > 1 && !tokenizer_->decode(std::span(ids_).subspan(1)).empty())
    ids_.erase(ids_.begin());
}

std::string StreamDecoder::flush() {
  ids_.clear();
  return std::exchange(held_, {});
}

}  // namespace twill
