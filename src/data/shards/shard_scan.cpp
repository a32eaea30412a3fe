// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>

#include "base/hash.h"
#include "base/require.h"
#include "base/thread_pool.h"
#include "data/shards/token_shard.h"

namespace twill {
namespace {

struct Ends {
  std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t largest = 0;
};

template <class T>
void widen_ends(std::string_view bytes, Ends& ends) {
  T smallest = std::numeric_limits<T>::max(), largest = 0;
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T token;
    std::memcpy(&token, bytes.data() + at, sizeof token);
    smallest = std::min(smallest, token);
    largest = std::max(largest, token);
  }
  ends.smallest = std::min<std::uint64_t>(ends.smallest, smallest);
  ends.largest = std::max<std::uint64_t>(ends.largest, largest);
}

void widen_ends(std::string_view bytes, int width, Ends& ends) {
  if (width == 1) widen_ends<std::uint8_t>(bytes, ends);
  if (width == 2) widen_ends<std::uint16_t>(bytes, ends);
  if (width == 4) widen_ends<std::uint32_t>(bytes, ends);
  if (width == 8) widen_ends<std::uint64_t>(bytes, ends);
}

}  // namespace

ShardScan scan_shard(const TokenShard& shard) {
  // In pieces that stay in the cache, so that the second look at the bytes costs little.
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  const std::string_view file = shard.file_bytes(), data = shard.data();
  Hasher hasher;
  hasher.add(file.data(), static_cast<std::size_t>(data.data() - file.data()));
  Ends ends;
  for (std::size_t at = 0; at < data.size(); at += kPiece) {
    const std::string_view piece = data.substr(at, kPiece);
    hasher.add(piece.data(), piece.size());
    widen_ends(piece, shard.layout().width, ends);
  }
  const char* behind = data.data() + data.size();
  hasher.add(behind, static_cast<std::size_t>(file.data() + file.size() - behind));
  shard.release();
  if (data.empty()) return {.smallest = 0, .largest = -1, .hash = hasher.value()};
  require(ends.largest <= static_cast<std::uint64_t>(shard.layout().max_id),
          "{}: a token id is negative or larger than {}", shard.path(), shard.layout().max_id);
  return {.smallest = static_cast<std::int64_t>(ends.smallest),
          .largest = static_cast<std::int64_t>(ends.largest),
          .hash = hasher.value()};
}

std::vector<ShardScan> scan_shards(std::span<const std::shared_ptr<const TokenShard>> shards,
                                   int threads) {
  std::vector<ShardScan> scans(shards.size());
  ThreadPool pool(threads > 0 ? threads : default_num_threads());
  pool.run(std::ssize(shards), [&](std::int64_t index, int) {
    scans[static_cast<std::size_t>(index)] = scan_shard(*shards[static_cast<std::size_t>(index)]);
  });
  return scans;
}

}  // namespace twill
