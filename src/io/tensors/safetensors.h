// SPDX-License-Identifier: Apache-2.0
// The safetensors format: u64 little-endian header length, a JSON header (name -> dtype, shape,
// data_offsets; string-only __metadata__), then the bytes of the tensors, row-major, without holes.
//
// What we write is a function of names, values and metadata alone: equal states are equal bytes.
// It carries the metadata key twill.checksum: XXH3-64 of the whole file, taken with the sixteen
// digits of the checksum itself as '0'. So damage anywhere is found, in the header too.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/input_file.h"
#include "tensor/view.h"

namespace twill {

inline constexpr std::string_view kChecksumKey = "twill.checksum";

class AtomicFile;

struct TensorEntry {
  std::string name;
  ConstView view;  // host memory
};

// Streams the tensors in the order given into an atomic file; the weights are not copied.
void write_safetensors(const std::string& path, std::span<const TensorEntry> tensors,
                       std::map<std::string, std::string> metadata);
// The same into a file that is just opened; commits it.
void write_safetensors(AtomicFile& file, std::span<const TensorEntry> tensors,
                       std::map<std::string, std::string> metadata);

// A tensor that is made when its turn comes: what produce() returns is used before the next call.
struct ProducedTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::function<ConstView()> produce;
};

// The same for models that are transformed on their way out: one tensor in memory at a time.
void stream_safetensors(const std::string& path, std::span<const ProducedTensor> tensors,
                        std::map<std::string, std::string> metadata);

// One tensor as the header describes it.
struct TensorInfo {
  std::string name;
  std::string dtype_name;      // as written: "F32", "F16"
  std::optional<DType> dtype;  // empty: a type of the format that Twill does not read
  Shape shape;
  std::int64_t offset = 0;  // of the first byte, from the beginning of the file
  std::int64_t num_bytes = 0;
};

// Is it one of the types that read_floats() reads?
bool is_floating(const TensorInfo& info);

// A file on disk, of any origin. Opening it checks the whole header against the size of the file;
// nothing that the header says is believed before. Errors are twill::Error and begin with the
// path.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(std::string path);

  const std::string& path() const { return file_.path(); }
  // Without twill.checksum.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // In the order of their bytes.
  const std::vector<TensorInfo>& entries() const { return entries_; }
  std::vector<std::string> names() const;
  bool contains(std::string_view name) const;
  const TensorInfo& entry(std::string_view name) const;  // throws when there is none

  // Copies the values into host memory. dtype and shape must be the destination's.
  void read_into(std::string_view name, View destination) const;

  // F32, F16, BF16 and F64 as f32, rounded to nearest even; room for all elements.
  void read_floats(std::string_view name, float* destination) const;

  // Reads the whole file. Throws when it is damaged; false when it carries no checksum, as files of
  // other programs do. Who knows that Twill wrote the file takes false for damage.
  bool verify_checksum() const;

 private:
  void read_header();
  [[noreturn]] void fail_here(const std::string& what) const;

  InputFile file_;
  std::map<std::string, std::string> metadata_;
  std::vector<TensorInfo> entries_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::string checksum_;                 // empty: the file carries none
  std::int64_t checksum_position_ = -1;  // of its digits in the file
};

}  // namespace twill
