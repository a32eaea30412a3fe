// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/gemm_problem.h"

#include <algorithm>
#include <charconv>
#include <optional>

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

PackedWeight packed_weight(const Context& context, const GemmPattern& pattern, ConstView weight,
                           ConstView mask, bool transpose, std::int64_t kept, DType type) {
  return {context,
          {.pattern = pattern.packed(type), .type = type, .transpose = transpose, .kept = kept},
          weight,
          mask};
}

}  // namespace twill::cli
