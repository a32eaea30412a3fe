// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/hash.h"
#include "base/require.h"
#include "io/tensors/float_bytes.h"
#include "io/tensors/safetensors_header.h"

namespace twill {
namespace {

constexpr std::int64_t kLengthBytes = 8;
constexpr std::int64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::int64_t kChecksumDigits = 16;

// Where the digits stand in the header, or -1. A quote inside a JSON string is escaped, so the
// pattern cannot be found inside another name or value.
std::int64_t find_digits(std::string_view header, const std::string& checksum) {
  const std::string member = fmt::format("\"{}\":\"{}\"", kChecksumKey, checksum);
  const std::size_t begin = header.find(member);
  if (begin == std::string_view::npos || std::ssize(checksum) != kChecksumDigits) return -1;
  return static_cast<std::int64_t>(begin + member.size()) - 1 - kChecksumDigits;
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::string path) : file_(std::move(path)) { read_header(); }

void SafetensorsFile::fail_here(const std::string& what) const { fail("{}: {}", path(), what); }

void SafetensorsFile::read_header() {
  require(file_.num_bytes() >= kLengthBytes, "{}: truncated: {} bytes are too few for a header",
          path(), file_.num_bytes());
  std::uint64_t length = 0;
  file_.read_at(0, &length, kLengthBytes);
  require(length <= kMaxHeaderBytes,
          "{}: not a safetensors file: a header of {} bytes, expected at most {}", path(), length,
          with_commas(kMaxHeaderBytes));
  const auto header_bytes = static_cast<std::int64_t>(length);
  const std::int64_t data_begin = kLengthBytes + header_bytes;
  require(data_begin <= file_.num_bytes(),
          "{}: truncated: {} bytes of header announced, the file has {}", path(),
          with_commas(header_bytes), with_commas(file_.num_bytes() - kLengthBytes));
  std::string json(length, '\0');
  file_.read_at(kLengthBytes, json.data(), header_bytes);

  SafetensorsHeader header;
  try {
    header = parse_safetensors_header(json, file_.num_bytes() - data_begin);
  } catch (const Error& error) {
    fail_here(error.what());
  }
  metadata_ = std::move(header.metadata);
  entries_ = std::move(header.tensors);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].offset += data_begin;
    index_[entries_[i].name] = i;
  }
  if (const auto member = metadata_.extract(std::string(kChecksumKey))) {
    checksum_ = member.mapped();
    const std::int64_t digits = find_digits(json, checksum_);
    checksum_position_ = digits < 0 ? -1 : kLengthBytes + digits;
    if (checksum_.empty()) checksum_ = "?";  // present, and wrong
  }
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const TensorInfo& entry : entries_) names.push_back(entry.name);
  return names;
}

bool SafetensorsFile::contains(std::string_view name) const {
  return index_.find(name) != index_.end();
}

const TensorInfo& SafetensorsFile::entry(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) fail_here(fmt::format("no tensor named '{}'", name));
  return entries_[found->second];
}

void SafetensorsFile::read_into(std::string_view name, View destination) const {
  const TensorInfo& info = entry(name);
  require(info.dtype == destination.dtype() && info.shape == destination.shape(),
          "{}: tensor '{}': expected {} {}, got {} {}", path(), name,
          safetensors_name(destination.dtype()), to_string(destination.shape()), info.dtype_name,
          to_string(info.shape));
  file_.read_at(info.offset, destination.bytes(), info.num_bytes);
}

void SafetensorsFile::read_floats(std::string_view name, float* destination) const {
  const TensorInfo& info = entry(name);
  const std::optional<FloatFormat> format = float_format(info.dtype_name);
  require(format.has_value(), "{}: tensor '{}' is {}, expected F32, F16, BF16 or F64", path(), name,
          info.dtype_name);
  read_as_f32(
      *format, info.shape.num_elements(),
      [&](std::int64_t first, void* bytes, std::int64_t count) {
        file_.read_at(info.offset + first, bytes, count);
      },
      destination);
}

bool is_floating(const TensorInfo& info) { return float_format(info.dtype_name).has_value(); }

bool SafetensorsFile::verify_checksum() const {
  if (checksum_.empty()) return false;
  constexpr std::int64_t kPiece = 1 << 20;
  std::vector<char> piece(static_cast<std::size_t>(std::min(kPiece, file_.num_bytes())));
  Hasher hasher;
  for (std::int64_t begin = 0; begin < file_.num_bytes(); begin += kPiece) {
    const std::int64_t bytes = std::min(kPiece, file_.num_bytes() - begin);
    file_.read_at(begin, piece.data(), bytes);
    // The digits count as zeros. They may lie across the end of a piece.
    const std::int64_t digits_begin = std::max(checksum_position_, begin);
    const std::int64_t digits_end = checksum_position_ + kChecksumDigits;
    if (checksum_position_ >= 0)
      for (std::int64_t at = digits_begin; at < std::min(digits_end, begin + bytes); ++at)
        piece[static_cast<std::size_t>(at - begin)] = '0';
    hasher.add(piece.data(), static_cast<std::size_t>(bytes));
  }
  if (hash_text(hasher.value()) != checksum_) fail_here("checksum mismatch: the file is damaged");
  return true;
}

}  // namespace twill
