// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/gemm_problem.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/bf16.h"
#include "base/require.h"
#include "base/rng.h"
#include "ops/selection/select24.h"
#include "ops/selection/transposable24.h"
#include "ops/selection/venom.h"
#include "ops/transfer.h"

namespace twill::cli {
namespace {

// Larger ones would not fit any machine, and their products not into 63 bits.
constexpr std::int64_t kLargestSide = 1 << 20;
constexpr std::int64_t kVenomRows = 64;
constexpr std::uint64_t kMaskStream = 9;

template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

WeightShape parse_shape(const std::string& word) {
  const std::size_t cross = word.find('x');
  const auto outputs = whole_number<std::int64_t>(word.substr(0, cross));
  const auto inputs = cross == std::string::npos
                          ? std::nullopt
                          : whole_number<std::int64_t>(word.substr(cross + 1));
  require(outputs && inputs && *outputs > 0 && *inputs > 0 &&
              std::max(*outputs, *inputs) <= kLargestSide,
          "--shapes: '{}' is not OUTPUTSxINPUTS with sides up to {}, as 2048x512", word,
          kLargestSide);
  return {*outputs, *inputs};
}

PackedPattern GemmPattern::packed(DType type) const {
  if (kind == Kind::kTransposable) return PackedPattern::kTransposable24;
  return kind == Kind::kRows && type == DType::kBf16 ? PackedPattern::k24 : PackedPattern::kAny;
}

void GemmPattern::require_fits(const WeightShape& shape) const {
  const std::int64_t of_inputs = kind == Kind::kUnstructured ? 1 : kind == Kind::kVenom ? m : 4;
  const std::int64_t of_outputs = kind == Kind::kTransposable ? 4 : 1;
  require(shape.inputs % of_inputs == 0 && shape.outputs % of_outputs == 0,
          "pattern {} needs {}inputs in multiples of {}, got {}x{}; name others with --shapes, or "
          "other --patterns",
          name, of_outputs > 1 ? "outputs and " : "", of_inputs, shape.outputs, shape.inputs);
}

GemmPattern parse_pattern(const std::string& word) {
  using Kind = GemmPattern::Kind;
  if (word == "2:4-transposable") return {.name = word, .kind = Kind::kTransposable};
  if (word == "2:4") return {.name = word, .kind = Kind::kRows};
  if (word.starts_with("V:2:")) {
    const auto m = whole_number<std::int64_t>(word.substr(4));
    if (m && *m >= 4 && *m <= 1024)
      return {
          .name = word, .kind = Kind::kVenom, .density = 2.0 / static_cast<double>(*m), .m = *m};
  }
  if (word.ends_with("%")) {
    const auto zeros = whole_number<double>(word.substr(0, word.size() - 1));
    if (zeros && *zeros > 0.0 && *zeros < 100.0)
      return {.name = word, .density = 1.0 - *zeros / 100.0};
  }
  fail(
      "--patterns: unknown pattern '{}'; expected 2:4-transposable, 2:4, V:2:M as V:2:8, or a "
      "share of zeros as 90%",
      word);
}

Tensor random_matrix(const Context& context, std::int64_t rows, std::int64_t cols,
                     std::uint64_t stream) {
  std::vector<float> values(static_cast<std::size_t>(rows * cols));
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const Philox4 bits = random_bits(stream, Purpose::kTest, 0, i / 4);
    for (std::size_t word = 0; word < 4 && i + word < values.size(); ++word)
      values[i + word] = 2.0f * unit_float(bits[word]) - 1.0f;
  }
  Tensor tensor(DType::kF32, {rows, cols}, context.memory());
  copy_in(context, tensor.view(), values.data());
  wait(context);
  return tensor;
}

Tensor normal_matrix(const Context& context, DType type, const Shape& shape, std::uint64_t stream) {
  constexpr std::int64_t kDrawn = 1 << 20;
  const std::int64_t count = shape.num_elements(), piece = std::min(kDrawn, count);
  Tensor drawn(type, {piece}, staging_memory(context));
  for (std::int64_t i = 0; i < piece; ++i) {
    const Philox4 bits = random_bits(stream, Purpose::kTest, 0, static_cast<std::uint64_t>(i));
    const float value = normal_float(bits[0], bits[1]);
    if (type == DType::kBf16) {
      drawn.view().as<Bf16>()[i] = to_bf16(value);
    } else {
      drawn.view().as<float>()[i] = value;
    }
  }
  Tensor tensor(type, shape, context.memory());
  for (std::int64_t begin = 0; begin < count; begin += piece)
    copy_in(context, tensor.view().slice(begin, std::min(piece, count - begin)),
            drawn.view().bytes());
  wait(context);  // the copies read `drawn`
  return tensor;
}

void search_mask(const Context& context, const GemmPattern& pattern, ConstView weight, View mask) {
  using Kind = GemmPattern::Kind;
  if (pattern.kind == Kind::kTransposable) {
    transposable24(context, {.x = weight, .mask = mask});
  } else if (pattern.kind == Kind::kRows) {
    select24(context, {.x = weight, .mask = mask});
  } else if (pattern.kind == Kind::kVenom) {
    venom_select(context, {.x = weight, .mask = mask, .v = kVenomRows, .m = pattern.m});
  } else {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(mask.num_elements()));
    const auto below = static_cast<float>(pattern.density);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const Philox4 bits = random_bits(kMaskStream, Purpose::kTest, 0, i / 4);
      bytes[i] = unit_float(bits[i % 4]) < below ? 1 : 0;
    }
    copy_in(context, mask, bytes.data());
    wait(context);
  }
}

std::int64_t count_kept(const Context& context, ConstView mask) {
  const HostCopy on_host(context, mask);
  const auto* bytes = on_host.view().as<std::uint8_t>();
  return std::count(bytes, bytes + mask.num_elements(), std::uint8_t{1});
}

PackedOperand::PackedOperand(const Context& context, const GemmPattern& pattern, ConstView weight,
                             ConstView mask, bool transpose, std::int64_t kept, DType type)
    : context_(context),
      weight_(weight),
      mask_(mask),
      transpose_(transpose),
      kept_(kept),
      shape_{.pattern = pattern.packed(type),
             .rows = weight.shape()[transpose ? 1 : 0],
             .cols = weight.shape()[transpose ? 0 : 1],
             .max_kept = kept,
             .type = type},
      storage_(DType::kU8, {packed_bytes(context, shape_)}, context.memory()) {
  pack(/*same_mask=*/false);
}

void PackedOperand::pack(bool same_mask) {
  pack_matrix(context_, {.dense = weight_,
                         .mask = mask_,
                         .shape = shape_,
                         .storage = storage_.view(),
                         .transpose = transpose_,
                         .same_mask = same_mask});
}

}  // namespace twill::cli
