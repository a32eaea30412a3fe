// SPDX-License-Identifier: Apache-2.0
#include "io/tensors/safetensors_header.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/require.h"
#include "io/json/json.h"

namespace twill {
namespace {

struct DTypeName {
  std::string_view name;
  std::int64_t bytes;
  std::optional<DType> dtype;
};

constexpr DTypeName kDTypes[] = {
    {"F64", 8, DType::kF64},  {"F32", 4, DType::kF32},  {"BF16", 2, DType::kBf16},
    {"I32", 4, DType::kI32},  {"U8", 1, DType::kU8},    {"BOOL", 1, std::nullopt},
    {"I8", 1, std::nullopt},  {"F8_E4M3", 1, {}},       {"F8_E5M2", 1, {}},
    {"I16", 2, std::nullopt}, {"U16", 2, std::nullopt}, {"F16", 2, std::nullopt},
    {"U32", 4, std::nullopt}, {"I64", 8, std::nullopt}, {"U64", 8, std::nullopt},
};

// Follows the one layout that a header has; the first piece out of place throws.
class HeaderReader final : public JsonHandler {
 public:
  SafetensorsHeader take() { return std::move(header_); }

 private:
  enum class Place { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kEnd };

  void begin_object() override {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop) {
      place_ = name_ == "__metadata__" ? Place::kMetadata : Place::kTensor;
      tensor_ = {.name = name_, .shape = {}, .offsets = {}, .dtype = {}, .seen = {}};
    } else {
      unexpected("an object");
    }
  }

  void end_object() override {
    if (place_ == Place::kTensor) finish_tensor();
    place_ = place_ == Place::kTop ? Place::kEnd : Place::kTop;
  }

  void key(std::string name) override {
    if (place_ == Place::kTensor) {
      require(name == "dtype" || name == "shape" || name == "data_offsets",
              "bad header: unknown field '{}' in {}", name, where());
      require(tensor_.seen.insert(name).second, "bad header: duplicate '{}' in {}", name, where());
      field_ = std::move(name);
    } else if (place_ == Place::kMetadata) {
      require(!header_.metadata.contains(name), "bad header: duplicate '{}' in {}", name, where());
      field_ = std::move(name);
    } else {
      require(names_.insert(name).second, "bad header: duplicate tensor '{}'", name);
      name_ = std::move(name);
    }
  }

  void text(std::string value) override {
    if (place_ == Place::kMetadata)
      header_.metadata[field_] = std::move(value);
    else if (place_ == Place::kTensor && field_ == "dtype")
      tensor_.dtype = std::move(value);
    else
      unexpected("a string");
  }

  void begin_array() override {
    if (place_ == Place::kTensor && field_ == "shape")
      place_ = Place::kShape;
    else if (place_ == Place::kTensor && field_ == "data_offsets")
      place_ = Place::kOffsets;
    else
      unexpected("an array");
  }
  void end_array() override { place_ = Place::kTensor; }

  void integer(std::int64_t value) override {
    if (place_ != Place::kShape && place_ != Place::kOffsets) unexpected("a number");
    require(value >= 0, "bad header: negative number {} in {}", value, where());
    const bool is_shape = place_ == Place::kShape;
    std::vector<std::int64_t>& numbers = is_shape ? tensor_.shape : tensor_.offsets;
    const std::size_t most = is_shape ? Shape::kMaxRank : 2;
    require(numbers.size() < most, "bad header: {} has more than {} {}", where(), most,
            is_shape ? "dimensions" : "offsets");
    numbers.push_back(value);
  }

  // Some programs write "__metadata__": null when they have none.
  void null() override {
    if (place_ != Place::kTop || name_ != "__metadata__") unexpected("a null");
  }
  void other(std::string_view what) override { unexpected(what); }

  [[noreturn]] void unexpected(std::string_view what) const {
    fail("bad header: unexpected {} in {}", what, where());
  }
  std::string where() const {
    if (place_ == Place::kStart || name_.empty()) return "the header";
    if (place_ == Place::kMetadata || name_ == "__metadata__") return "__metadata__";
    return fmt::format("tensor '{}'", name_);
  }

  void finish_tensor() {
    for (const char* field : {"dtype", "shape", "data_offsets"})
      require(tensor_.seen.contains(field), "bad header: {} has no {}", where(), field);
    require(tensor_.offsets.size() == 2, "bad header: {} needs two offsets", where());
    const auto dtype = std::ranges::find(kDTypes, tensor_.dtype, &DTypeName::name);
    require(dtype != std::end(kDTypes), "bad header: {} has the unknown dtype '{}'", where(),
            tensor_.dtype);
    const auto [begin, end] = std::pair(tensor_.offsets[0], tensor_.offsets[1]);
    require(begin <= end, "bad header: {} ends at {} before it begins at {}", where(), end, begin);
    TensorInfo info{.name = tensor_.name,
                    .dtype_name = tensor_.dtype,
                    .dtype = dtype->dtype,
                    .shape = {},
                    .offset = begin,
                    .num_bytes = end - begin};
    std::int64_t bytes = dtype->bytes;
    for (const std::int64_t extent : tensor_.shape) {
      require(!__builtin_mul_overflow(bytes, extent, &bytes),
              "bad header: the size of {} overflows", where());
      info.shape.push_back(extent);
    }
    require(bytes == info.num_bytes, "bad header: {} of {} {} has {} bytes, expected {}", where(),
            tensor_.dtype, to_string(info.shape), with_commas(info.num_bytes), with_commas(bytes));
    header_.tensors.push_back(std::move(info));
  }

  struct PartialTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> offsets;
    std::string dtype;
    std::set<std::string> seen;
  };

  Place place_ = Place::kStart;
  std::string name_;   // the last key of the top level
  std::string field_;  // the last key inside it
  PartialTensor tensor_;
  std::set<std::string> names_;
  SafetensorsHeader header_;
};

void check_layout(std::vector<TensorInfo>& tensors, std::int64_t data_bytes) {
  std::ranges::sort(tensors, {}, [](const TensorInfo& tensor) {
    return std::tuple(tensor.offset, tensor.num_bytes, tensor.name);
  });
  std::int64_t last = 0;
  for (const TensorInfo& tensor : tensors) last = std::max(last, tensor.offset + tensor.num_bytes);
  require(last <= data_bytes, "truncated: header says {} bytes of data, the file has {}",
          with_commas(last), with_commas(data_bytes));
  std::int64_t end = 0;
  for (const TensorInfo& tensor : tensors) {
    require(tensor.offset >= end, "bad header: tensor '{}' overlaps another one", tensor.name);
    require(tensor.offset == end, "bad header: {} unused bytes before tensor '{}'",
            with_commas(tensor.offset - end), tensor.name);
    end += tensor.num_bytes;
  }
  require(end == data_bytes, "header says {} bytes of data, the file has {}", with_commas(end),
          with_commas(data_bytes));
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, std::int64_t data_bytes) {
  require(json.starts_with('{'), "not a safetensors file: the header does not begin with '{{'");
  HeaderReader reader;
  try {
    parse_json(json, reader);
  } catch (const std::bad_alloc&) {
    fail("bad header: too large for the memory of this machine");
  }
  SafetensorsHeader header = reader.take();
  check_layout(header.tensors, data_bytes);
  return header;
}

std::string_view safetensors_name(DType dtype) {
  return std::ranges::find(kDTypes, std::optional(dtype), &DTypeName::dtype)->name;
}

std::string with_commas(std::int64_t number) {
  std::string text = fmt::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

}  // namespace twill
