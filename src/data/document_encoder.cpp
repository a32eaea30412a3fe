// SPDX-License-Identifier: Apache-2.0
#include "data/document_encoder.h"

#include <algorithm>
#include <utility>

#include "data/document_reader.h"

namespace twill {
namespace {

// Text encoded at once: its ids take up to four times as much.
constexpr std::size_t kBatchBytes = std::size_t{1} << 25;

// As many documents as fit a batch, at least one.
std::size_t batch_length(std::span<const std::string_view> documents) {
  std::size_t count = 0, bytes = 0;
  while (count < documents.size() && (count == 0 || bytes + documents[count].size() <= kBatchBytes))
    bytes += documents[count++].size() + kDocumentOverhead;
  return count;
}

// A text without documents, in parts that may be encoded apart.
std::vector<std::string_view> parts_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string_view> parts;
  while (text.size() > kBatchBytes) {
    const std::size_t cut = tokenizer.find_cut(text, kBatchBytes);
    if (cut == 0) break;
    parts.push_back(text.substr(0, cut));
    text.remove_prefix(cut);
  }
  if (!text.empty()) parts.push_back(text);
  return parts;
}

// encode_batch(documents, is_first) gives the ids.
template <class T, class EncodeBatch>
TokenSequence gather(std::span<const std::string_view> documents, std::size_t text_bytes,
                     const EncodeBatch& encode_batch) {
  std::vector<T> tokens;
  std::size_t done_bytes = 0;
  while (!documents.empty()) {
    const std::size_t count = batch_length(documents);
    const std::vector<std::int32_t> ids = encode_batch(documents.first(count), done_bytes == 0);
    for (const std::string_view document : documents.first(count)) done_bytes += document.size();
    // Growing by doubling would hold the corpus three times over: estimate from the first batch.
    if (tokens.empty()) {
      const double scale = static_cast<double>(text_bytes) / static_cast<double>(done_bytes);
      tokens.reserve(static_cast<std::size_t>(static_cast<double>(ids.size()) * scale * 1.05));
    }
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    documents = documents.subspan(count);
  }
  return TokenSequence(std::move(tokens));
}

}  // namespace

std::optional<std::int32_t> document_token(const Tokenizer& tokenizer) {
  const auto begin = tokenizer.begin_of_text();
  return begin ? begin : tokenizer.end_of_text();
}

int token_width(std::int64_t vocab_size) { return vocab_size <= 65'536 ? 2 : 4; }

DocumentEncoder::DocumentEncoder(const Tokenizer& tokenizer, int threads)
    : tokenizer_(tokenizer),
      token_(document_token(tokenizer)),
      pool_(threads > 0 ? threads : default_num_threads()),
      encoder_(tokenizer, pool_) {}

DocumentEncoder::Tokens DocumentEncoder::encode(std::span<const std::string_view> documents,
                                                Begins begins) {
  std::vector<TextSegment> segments;
  std::vector<std::size_t> ends;  // of each document's segments
  for (const std::string_view document : documents) {
    cut_segments(tokenizer_, document, ends.empty() ? begins.first : begins.others, segments);
    ends.push_back(segments.size());
  }
  encoder_.encode(segments);
  Tokens tokens;
  std::size_t next = 0;
  for (const std::size_t end : ends) {
    const std::size_t before = tokens.ids.size();
    if (token_) tokens.ids.push_back(*token_);
    for (; next < end; ++next) {
      const std::vector<std::int32_t> ids = std::move(segments[next].ids);
      tokens.ids.insert(tokens.ids.end(), ids.begin(), ids.end());
    }
    tokens.lengths.push_back(static_cast<std::int64_t>(tokens.ids.size() - before));
  }
  return tokens;
}

TokenSequence DocumentEncoder::encode_text(std::string_view text) {
  const std::vector<std::string_view> documents =
      token_ ? split_documents(text) : parts_of(tokenizer_, text);
  const auto encode_batch = [&](std::span<const std::string_view> batch, bool is_first) {
    return encode(batch, token_ ? Begins{} : Begins{.first = is_first, .others = false}).ids;
  };
  return token_width(tokenizer_.vocab_size()) == 2
             ? gather<std::uint16_t>(documents, text.size(), encode_batch)
             : gather<std::uint32_t>(documents, text.size(), encode_batch);
}

}  // namespace twill
