// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/require.h"
#include "data/shards/shard_header.h"

namespace twill {
namespace {

constexpr std::string_view kMagic("MMIDIDX\0\0", 9);
constexpr std::size_t kHeadBytes = 9 + 8 + 1 + 8 + 8;

template <class T>
T value_at(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

struct IntegerType {
  int width = 0;  // 0: not an integer
  std::int64_t max_id = 0;
};

// Megatron's codes 1 to 8: u8, i8, i16, i32, i64, f64, f32, u16. Signed types hold ids all the same.
IntegerType type_of(int code) {
  constexpr std::int64_t kMaxInt32 = 2'147'483'647;
  switch (code) {
    case 1:
      return {1, 255};
    case 2:
      return {1, 127};
    case 3:
      return {2, 32'767};
    case 4:
      return {4, kMaxInt32};
    case 5:
      return {8, kMaxInt32};
    case 8:
      return {2, 65'535};
    default:
      return {};
  }
}

// The three tables of the file, where they begin.
struct Tables {
  std::size_t sequences = 0;
  std::size_t bounds = 0;
  std::size_t lengths = kHeadBytes;
  std::size_t offsets = 0;
  std::size_t documents = 0;
};

Tables tables_of(std::string_view index, const std::string& path) {
  const auto sequences = value_at<std::uint64_t>(index, 18);
  const auto bounds = value_at<std::uint64_t>(index, 26);
  const std::uint64_t room = index.size() - kHeadBytes;
  // Divided, not multiplied: a hostile count must not overflow.
  require(sequences <= room / 12 && bounds <= (room - sequences * 12) / 8,
          "{}: the header promises {} sequences and {} document bounds, too many for {} bytes",
          path, sequences, bounds, index.size());
  const std::uint64_t rest = room - sequences * 12 - bounds * 8;
  require(rest == 0 || rest == sequences,  // a byte per sequence: the mode of multimodal data
          "{}: {} bytes are left over behind {} sequences and {} document bounds", path, rest,
          sequences, bounds);
  Tables tables{.sequences = sequences, .bounds = bounds};
  tables.offsets = tables.lengths + sequences * 4;
  tables.documents = tables.offsets + sequences * 8;
  return tables;
}

// Where each sequence begins in tokens, and the end of the last.
std::vector<std::int64_t> sequence_starts(std::string_view index, const Tables& tables, int width,
                                          std::int64_t data_bytes, const std::string& path) {
  std::vector<std::int64_t> starts{0};
  starts.reserve(tables.sequences + 1);
  for (std::size_t i = 0; i < tables.sequences; ++i) {
    const std::int64_t length = value_at<std::int32_t>(index, tables.lengths + 4 * i);
    const auto offset = value_at<std::int64_t>(index, tables.offsets + 8 * i);
    require(length >= 0, "{}: sequence {} has {} tokens", path, i, length);
    require(offset == starts.back() * width,
            "{}: sequence {} begins at byte {}, expected {}: only sequences that follow one "
            "another are read",
            path, i, offset, starts.back() * width);
    starts.push_back(starts.back() + length);
    require(starts.back() <= data_bytes / width,
            "{}: sequence {} ends at token {}, but the .bin file holds {}", path, i, starts.back(),
            data_bytes / width);
  }
  return starts;
}

std::vector<std::int64_t> documents_of(std::string_view index, const Tables& tables,
                                       const std::vector<std::int64_t>& starts,
                                       const std::string& path) {
  std::vector<std::int64_t> documents;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < tables.bounds; ++i) {
    const auto bound = value_at<std::int64_t>(index, tables.documents + 8 * i);
    require(bound >= last && bound < std::ssize(starts),
            "{}: document bound {} is sequence {}, expected {} to {}", path, i, bound, last,
            starts.size() - 1);
    last = bound;
    // The last bound is the end of the last document.
    if (i + 1 < tables.bounds) documents.push_back(starts[static_cast<std::size_t>(bound)]);
  }
  return documents;
}

}  // namespace

MegatronIndex parse_megatron_index(std::string_view index, std::int64_t data_bytes,
                                   const std::string& path) {
  require(index.size() >= kHeadBytes && index.starts_with(kMagic),
          "{}: not a Megatron index: it does not begin with MMIDIDX", path);
  const auto version = value_at<std::uint64_t>(index, 9);
  require(version == 1, "{}: Megatron index of version {}, expected 1", path, version);
  const int code = value_at<std::uint8_t>(index, 17);
  const IntegerType type = type_of(code);
  require(type.width > 0, "{}: tokens of type code {}, expected an integer type (1 to 5, or 8)",
          path, code);
  const Tables tables = tables_of(index, path);
  const std::vector<std::int64_t> starts =
      sequence_starts(index, tables, type.width, data_bytes, path);
  MegatronIndex result;
  result.layout = {.version = 1,
                   .width = type.width,
                   .data_offset = 0,
                   .count = starts.back(),
                   .max_id = type.max_id,
                   .vocab_size = std::nullopt};
  require(starts.back() * type.width == data_bytes,
          "{}: the sequences have {} tokens, {} bytes in all, but the .bin file has {}", path,
          starts.back(), starts.back() * type.width, data_bytes);
  result.sequences = static_cast<std::int64_t>(tables.sequences);
  result.document_starts = documents_of(index, tables, starts, path);
  return result;
}

}  // namespace twill
