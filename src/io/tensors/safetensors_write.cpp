// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "base/hash.h"
#include "io/atomic_file.h"
#include "io/json/json.h"
#include "io/tensors/safetensors_header.h"

namespace twill {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor bytes are written as they are");

constexpr std::string_view kNoDigits = "0000000000000000";

struct HeaderText {
  std::string json;
  std::size_t checksum_position;
};

void append_metadata(HeaderText& header, const std::map<std::string, std::string>& metadata) {
  header.json += "\"__metadata__\":{";
  for (const auto& [key, value] : metadata) {
    if (!header.json.ends_with('{')) header.json += ',';
    header.json += json_quoted(key) + ':';
    if (key == kChecksumKey) header.checksum_position = header.json.size() + 1;
    header.json += json_quoted(value);
  }
  header.json += '}';
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (int axis = 0; axis < shape.rank(); ++axis)
    text += fmt::format("{}{}", axis == 0 ? "" : ",", shape[axis]);
  return text;
}

HeaderText make_header(std::span<const ProducedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  HeaderText header{"{", 0};
  append_metadata(header, metadata);
  std::set<std::string> names;
  std::int64_t offset = 0;
  for (const ProducedTensor& tensor : tensors) {
    TWILL_CHECK(tensor.name != "__metadata__" && names.insert(tensor.name).second,
                "tensor names are unique");
    const std::int64_t end = offset + tensor.shape.num_elements() * size_of(tensor.dtype);
    header.json += fmt::format(R"(,{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                               json_quoted(tensor.name), safetensors_name(tensor.dtype),
                               shape_text(tensor.shape), offset, end);
    offset = end;
  }
  header.json += '}';
  // Readers that map the file want the data aligned.
  header.json.append((8 - header.json.size() % 8) % 8, ' ');
  return header;
}

// Writes and hashes in pieces that fit the cache: the weights cross the memory bus once.
class HashingWriter {
 public:
  explicit HashingWriter(AtomicFile& file) : file_(file) {}

  void write(const void* data, std::size_t bytes) {
    constexpr std::size_t kPiece = std::size_t{1} << 18;
    const char* next = static_cast<const char*>(data);
    for (std::size_t done = 0; done < bytes; done += kPiece) {
      const std::size_t piece = std::min(kPiece, bytes - done);
      hasher_.add(next + done, piece);
      file_.write(next + done, piece);
    }
  }
  std::string digits() const { return hash_text(hasher_.value()); }

 private:
  AtomicFile& file_;
  Hasher hasher_;
};

void stream_into(AtomicFile& file, std::span<const ProducedTensor> tensors,
                 std::map<std::string, std::string> metadata) {
  metadata[std::string(kChecksumKey)] = kNoDigits;
  const HeaderText header = make_header(tensors, metadata);
  const std::uint64_t header_bytes = header.json.size();

  HashingWriter writer(file);
  writer.write(&header_bytes, sizeof header_bytes);
  writer.write(header.json.data(), header.json.size());
  for (const ProducedTensor& tensor : tensors) {
    const ConstView view = tensor.produce();
    TWILL_CHECK(view.dtype() == tensor.dtype && view.shape() == tensor.shape,
                "the tensor is what the header says");
    writer.write(view.bytes(), static_cast<std::size_t>(view.num_bytes()));
  }
  const std::string digits = writer.digits();
  file.patch(static_cast<std::int64_t>(sizeof header_bytes + header.checksum_position),
             digits.data(), digits.size());
  file.commit();
}

}  // namespace

void stream_safetensors(const std::string& path, std::span<const ProducedTensor> tensors,
                        std::map<std::string, std::string> metadata) {
  AtomicFile file(path);
  stream_into(file, tensors, std::move(metadata));
}

void write_safetensors(AtomicFile& file, std::span<const TensorEntry> tensors,
                       std::map<std::string, std::string> metadata) {
  std::vector<ProducedTensor> produced;
  for (const TensorEntry& tensor : tensors)
    produced.push_back({tensor.name, tensor.view.dtype(), tensor.view.shape(),
                        [view = tensor.view] { return view; }});
  stream_into(file, produced, std::move(metadata));
}

void write_safetensors(const std::string& path, std::span<const TensorEntry> tensors,
                       std::map<std::string, std::string> metadata) {
  AtomicFile file(path);
  write_safetensors(file, tensors, std::move(metadata));
}

}  // namespace twill
