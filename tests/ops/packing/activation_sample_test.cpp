// SPDX-License-Identifier: Apache-2.0
// On every backend: dx and the packed sample are those of the two ops that activation_sample stands for,
// to the bit, and the sample is the one that the reference draws from dx as it is stored.
#include "ops/packing/activation_sample.h"

#include <bit>
#include <cmath>

#include "ops/products/packed24_problem.h"
#include "support/expect_error.h"

namespace twill {
namespace {

constexpr Activation kSampledKinds[] = {Activation::kGelu,  Activation::kGeluTanh,
                                        Activation::kRelu2, Activation::kSwiglu,
                                        Activation::kGeglu, Activation::kGegluTanh};

std::vector<Setup> setups_that_sample() {
  std::vector<Setup> setups;
  for (const Setup& setup : setups_with_device())
    if (setup.table->packed_bytes != nullptr) setups.push_back(setup);
  return setups;
}

enum class DxMemory { kOwn, kOfX, kOfDy };

struct SampledActivation {
  Activation kind = Activation::kSwiglu;
  std::int64_t tokens = 0, cols = 0;  // of dy
  Values x = {}, dy = {};
  DxMemory dx_memory = DxMemory::kOwn;
  MvueLaw law = MvueLaw::kExact;
  std::uint32_t step = 7;
  bool step_in_memory = false;
  Values sum = {};  // what it held before; empty: absent
  bool accumulate = false;

  std::int64_t channels() const { return is_gated(kind) ? 2 * cols : cols; }
  std::string text() const {
    return fmt::format("kind {}, {} tokens, {} columns, memory {}, law {}, sum {}",
                       static_cast<int>(kind), tokens, cols, static_cast<int>(dx_memory),
                       static_cast<int>(law), !sum.empty());
  }

  struct Result {
    Values dx, sample, sum;
  };

  Result run(const Setup& setup, bool in_two_steps) const {
    const Shape wide{tokens, channels()}, narrow{tokens, cols};
    const Buffer x_in = setup.buffer(x), dy_in = setup.buffer(dy);
    const Buffer own = setup.buffer(rubbish(wide.num_elements()));
    const Buffer scratch = setup.buffer(rubbish(wide.num_elements()));
    const Buffer sum_out = setup.wide(sum);
    const double bits = std::bit_cast<std::int32_t>(step);
    const Buffer step_in = setup.buffer(step_in_memory ? Values{bits} : Values(), DType::kI32);
    const Storage24 storage(setup, packed_sample_shape(channels(), tokens, setup.dtype));
    const Buffer& dx = dx_memory == DxMemory::kOfX    ? x_in
                       : dx_memory == DxMemory::kOfDy ? dy_in
                                                      : own;
    const auto context = setup.context();
    const ActivationBackwardArgs activation{
        .kind = kind, .x = x_in.view(wide), .dy = dy_in.view(narrow), .dx = dx.view(wide)};
    const PackSampleArgs pack{.x = dx.view(wide),
                              .sample = scratch.view(wide),
                              .shape = storage.shape(),
                              .storage = storage.view(),
                              .law = law,
                              .seed = 0xfedc'ba98'7654'3210u,
                              .step = step_in_memory ? ~step : step,
                              .step_at = optional_view(step_in, {1}),
                              .stream = 5,
                              .sum = optional_view(sum_out, {channels()}),
                              .accumulate = accumulate};
    if (in_two_steps) {
      activation_backward(*context, activation);
      pack_sample(*context, pack);
    } else {
      activation_sample(*context, {.activation = activation, .pack = pack});
    }
    wait(*context);
    return {dx.values(), transposed(storage.unpacked(setup.dtype), channels(), tokens),
            sum_out.values()};
  }

  // The reference's sample of dx as it is stored.
  Values sample_of(const Values& dx, DType type) const {
    const Setup reference = exact_oracle();
    const Shape shape{tokens, channels()};
    const Buffer from = reference.buffer(dx), y = reference.buffer(rubbish(shape.num_elements()));
    mvue24(*reference.context(), {.x = from.view(shape),
                                  .y = y.view(shape),
                                  .law = law,
                                  .seed = 0xfedc'ba98'7654'3210u,
                                  .step = step,
                                  .stream = 5});
    return type == DType::kBf16 ? rounded_to_bf16(y.values()) : y.values();
  }
};

// Whether a zero that was drawn is stored, and so whether it keeps its sign, is free.
Values signless_zeros(Values values) {
  for (double& value : values) value += 0.0;
  return values;
}

testing::AssertionResult check_sampled(const Setup& setup, const SampledActivation& problem) {
  const PackedShape shape = packed_sample_shape(problem.channels(), problem.tokens, setup.dtype);
  if (packed_bytes(*setup.context(), shape) == 0) return testing::AssertionSuccess();
  const auto got = problem.run(setup, /*in_two_steps=*/false);
  const auto want = problem.run(setup, /*in_two_steps=*/true);
  const Values drawn_again = problem.sample_of(got.dx, setup.dtype);
  if (auto result = expect_same_bits("dx", got.dx, want.dx); !result)
    return result << " for " << problem.text();
  if (auto result = expect_same_bits("sum", got.sum, want.sum); !result)
    return result << " for " << problem.text();
  if (auto result =
          expect_same_bits("sample", signless_zeros(got.sample), signless_zeros(want.sample));
      !result)
    return result << " for " << problem.text();
  return expect_same_bits("reference's sample", signless_zeros(got.sample),
                          signless_zeros(drawn_again))
         << " for " << problem.text();
}

class ActivationSample : public TableTest {};

TEST_P(ActivationSample, IsBothOpsToTheBit) {
  Random random;
  std::uint32_t step = 0;
  for (const Activation kind : kSampledKinds)
    for (const std::int64_t tokens : {1, 3, 4, 5, 15, 16, 17, 48, 63, 64, 65, 130, 201})
      for (const std::int64_t cols : {8, 56, 64, 72, 128, 192}) {
        SampledActivation problem{.kind = kind, .tokens = tokens, .cols = cols};
        problem.x = random.normal(tokens * problem.channels(), 2.0);
        problem.dy = random.normal(tokens * cols);
        problem.step = step += 0x9e37'79b9u;  // every other one with its highest bit
        problem.step_in_memory = step % 2 == 1;
        if (cols != 56) problem.sum = random.normal(problem.channels());
        problem.accumulate = cols == 128;
        ASSERT_TRUE(check_sampled(GetParam(), problem));
      }
}

// NaN, Inf, denormals, sums that overflow and products that nearly vanish; and where dx stands in the
// place of an operand.
TEST_P(ActivationSample, TakesAwkwardNumbers) {
  Random random;
  for (const Activation kind : kSampledKinds)
    for (const std::int64_t tokens : {7, 64, 100})
      for (const std::int64_t cols : {64, 128}) {
        SampledActivation problem{.kind = kind, .tokens = tokens, .cols = cols};
        problem.dx_memory = DxMemory::kOfX;
        problem.x = drawn(awkward_values(random, tokens * problem.channels()));
        problem.dy = drawn(awkward_values(random, tokens * cols));
        ASSERT_TRUE(check_sampled(GetParam(), problem));
        // One in a hundred: beside it, and in other threads, the usual numbers.
        Values x = random.normal(tokens * problem.channels()), dy = random.normal(tokens * cols);
        for (std::size_t i = 0; i < dy.size(); i += 97) dy[i] = problem.dy[i];
        problem.x = x;
        problem.dy = dy;
        problem.sum = random.normal(problem.channels());
        problem.dx_memory = is_gated(kind) ? DxMemory::kOwn : DxMemory::kOfDy;
        ASSERT_TRUE(check_sampled(GetParam(), problem));
        problem.sum.clear();
        for (double& value : dy) value = std::ldexp(value, -110);
        problem.dy = drawn(dy);
        ASSERT_TRUE(check_sampled(GetParam(), problem));
      }
}

TEST_P(ActivationSample, TakesTheOtherLaw) {
  Random random;
  SampledActivation problem{.kind = Activation::kSwiglu, .tokens = 67, .cols = 64};
  problem.x = random.normal(67 * 128);
  problem.dy = random.normal(67 * 64);
  problem.law = MvueLaw::kTwoDraw;
  EXPECT_TRUE(check_sampled(GetParam(), problem));
}

// 1.5 million groups.
TEST_P(ActivationSample, IsBothOpsOnALayer) {
  Random random;
  const Values pool = random.normal(65537), others = random.normal(32771);
  for (const Activation kind : {Activation::kSwiglu, Activation::kRelu2}) {
    SampledActivation problem{.kind = kind, .tokens = 1040, .cols = 1408};
    problem.x = repeated(pool, problem.tokens * problem.channels());
    problem.dy = repeated(others, problem.tokens * problem.cols);
    problem.sum = Values(index(problem.channels()), 1.0);
    EXPECT_TRUE(check_sampled(GetParam(), problem));
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, ActivationSample, testing::ValuesIn(setups_that_sample()),
                         setup_name);

TEST(ActivationSampleErrors, NameWhatIsWrong) {
  const auto setup = exact_oracle();
  const PackedShape shape = packed_sample_shape(16, 4, DType::kF32);
  const Storage24 storage(setup, shape);
  const Buffer wide = setup.buffer(Values(64)), other = setup.buffer(Values(64)),
               narrow = setup.buffer(Values(32));
  const View dx = wide.view({4, 16});
  const ActivationSampleArgs args{
      .activation = {.kind = Activation::kSwiglu, .x = dx, .dy = narrow.view({4, 8}), .dx = dx},
      .pack = {.x = {}, .sample = other.view({4, 16}), .shape = shape, .storage = storage.view()}};
  EXPECT_NO_THROW(validate(args));
  expect_refused(
      args,
      [&](auto& a) {
        a.pack.x = other.view({4, 16});
      },
      "[activation_sample] what is packed must be dx");
  expect_refused(
      args, [](auto& a) { a.activation.kind = Activation::kGelu; },
      "[activation] x must have the rows of dy and 1 time(s) its columns");
  expect_refused(
      args, [](auto& a) { a.pack.shape.side = PackedSide::kRight; },
      "[pack_sample] shape must have");
  ActivationSampleArgs short_of_bytes = args;
  short_of_bytes.pack.storage = storage.view().slice(0, 8);
  expect_error([&] { activation_sample(*setup.context(), short_of_bytes); },
               "[pack_sample] storage must have");
}

}  // namespace
}  // namespace twill
