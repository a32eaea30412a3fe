// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/hash.h"
#include "base/require.h"
#include "io/safetensors_header.h"

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

SafetensorsFile::SafetensorsFile(std::string path) : path_(std::move(path)) {
  open_file();
  read_header();
}

void SafetensorsFile::fail_here(const std::string& what) const { fail("{}: {}", path_, what); }

void SafetensorsFile::open_file() {
  // NONBLOCK: opening a pipe would wait for its writer. It changes nothing for files.
  descriptor_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  require(descriptor_.valid(), "cannot read {}: {}", path_, std::strerror(errno));
  struct stat status {};
  require(::fstat(descriptor_.get(), &status) == 0, "cannot read {}: {}", path_,
          std::strerror(errno));
  require(S_ISREG(status.st_mode), "cannot read {}: not a file", path_);
  file_bytes_ = status.st_size;
}

void SafetensorsFile::read_header() {
  require(file_bytes_ >= kLengthBytes, "{}: truncated: {} bytes are too few for a header", path_,
          file_bytes_);
  std::uint64_t length = 0;
  read_bytes(0, &length, kLengthBytes);
  require(length <= kMaxHeaderBytes,
          "{}: not a safetensors file: a header of {} bytes, expected at most {}", path_, length,
          with_commas(kMaxHeaderBytes));
  const auto header_bytes = static_cast<std::int64_t>(length);
  const std::int64_t data_begin = kLengthBytes + header_bytes;
  require(data_begin <= file_bytes_, "{}: truncated: {} bytes of header announced, the file has {}",
          path_, with_commas(header_bytes), with_commas(file_bytes_ - kLengthBytes));
  std::string json(length, '\0');
  read_bytes(kLengthBytes, json.data(), header_bytes);

  SafetensorsHeader header;
  try {
    header = parse_safetensors_header(json, file_bytes_ - data_begin);
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

void SafetensorsFile::read_bytes(std::int64_t offset, void* destination, std::int64_t bytes) const {
  char* next = static_cast<char*>(destination);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_.get(), next, static_cast<std::size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    require(got >= 0, "cannot read {}: {}", path_, std::strerror(errno));
    require(got > 0, "{}: truncated while it was read", path_);
    next += got;
    offset += got;
    bytes -= got;
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
          "{}: tensor '{}': expected {} {}, got {} {}", path_, name,
          safetensors_name(destination.dtype()), to_string(destination.shape()), info.dtype_name,
          to_string(info.shape));
  read_bytes(info.offset, destination.bytes(), info.num_bytes);
}

bool SafetensorsFile::verify_checksum() const {
  if (checksum_.empty()) return false;
  constexpr std::int64_t kPiece = 1 << 20;
  std::vector<char> piece(static_cast<std::size_t>(std::min(kPiece, file_bytes_)));
  Hasher hasher;
  for (std::int64_t begin = 0; begin < file_bytes_; begin += kPiece) {
    const std::int64_t bytes = std::min(kPiece, file_bytes_ - begin);
    read_bytes(begin, piece.data(), bytes);
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
