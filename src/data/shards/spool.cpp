// SPDX-License-Identifier: Apache-2.0
#include "data/shards/spool.h"

#include <cstring>

#include "base/hash.h"
#include "io/atomic_file.h"
#include "twill/error.h"

namespace twill {
namespace {

// In the machine's own byte order: a spool does not outlive the preparation.
struct Head {
  char magic[8] = {'T', 'W', 'S', 'P', 'O', 'O', 'L', '1'};
  std::uint64_t text_hash = 0;
  std::uint64_t content_hash = 0;
  std::uint64_t documents = 0;
  std::uint64_t tokens = 0;
  std::uint64_t width = 0;
};
static_assert(sizeof(Head) % alignof(std::int64_t) == 0);

std::string packed(const std::vector<std::int32_t>& ids, int width) {
  std::string bytes(ids.size() * static_cast<std::size_t>(width), '\0');
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<std::uint32_t>(ids[i]);  // little-endian: the low bytes come first
    std::memcpy(bytes.data() + i * static_cast<std::size_t>(width), &id,
                static_cast<std::size_t>(width));
  }
  return bytes;
}

}  // namespace

std::uint64_t hash_documents(std::span<const std::string_view> documents) {
  Hasher hasher;
  for (const std::string_view document : documents) {
    const std::uint64_t size = document.size();
    hasher.add(&size, sizeof size);
    hasher.add(document.data(), document.size());
  }
  return hasher.value();
}

void SpoolPiece::write(const std::string& path, std::uint64_t text_hash,
                       const DocumentEncoder::Tokens& tokens, int width) {
  const std::string bytes = packed(tokens.ids, width);
  const std::size_t length_bytes = tokens.lengths.size() * sizeof(std::int64_t);
  Hasher hasher;
  hasher.add(tokens.lengths.data(), length_bytes);
  hasher.add(bytes.data(), bytes.size());
  Head head;
  head.text_hash = text_hash;
  head.content_hash = hasher.value();
  head.documents = tokens.lengths.size();
  head.tokens = tokens.ids.size();
  head.width = static_cast<std::uint64_t>(width);
  AtomicFile file(path);
  file.write(&head, sizeof head);
  file.write(tokens.lengths.data(), length_bytes);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

std::unique_ptr<SpoolPiece> SpoolPiece::find(const std::string& path, std::uint64_t text_hash,
                                             int width) {
  std::unique_ptr<SpoolPiece> piece(new SpoolPiece);
  try {
    return piece->read(path, text_hash, width) ? std::move(piece) : nullptr;
  } catch (const Error&) {
    return nullptr;  // absent or unreadable: made again
  }
}

bool SpoolPiece::read(const std::string& path, std::uint64_t text_hash, int width) {
  file_ = std::make_unique<MappedFile>(path);
  const std::string_view bytes = file_->bytes();
  const Head expected;
  Head head;
  if (bytes.size() < sizeof head) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  const std::string_view content = bytes.substr(sizeof head);
  const auto wanted_width = static_cast<std::uint64_t>(width);
  if (std::memcmp(head.magic, expected.magic, sizeof head.magic) != 0 ||
      head.text_hash != text_hash || head.width != wanted_width ||
      head.documents > content.size() / 8 || head.tokens > content.size() / wanted_width ||
      head.documents * 8 + head.tokens * wanted_width != content.size() ||
      hash_bytes(content.data(), content.size()) != head.content_hash)
    return false;
  lengths_ = {reinterpret_cast<const std::int64_t*>(content.data()), head.documents};
  num_tokens_ = static_cast<std::int64_t>(head.tokens);
  width_ = width;
  return true;
}

std::string_view SpoolPiece::tokens(std::int64_t begin, std::int64_t count) const {
  const std::size_t first = sizeof(Head) + lengths_.size_bytes();
  return file_->bytes().substr(first + static_cast<std::size_t>(begin * width_),
                               static_cast<std::size_t>(count * width_));
}

}  // namespace twill
