// SPDX-License-Identifier: Apache-2.0
// The order of a channel-major product changes no bit of an activation.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ops/layers/activation.h"
#include "support/tables.h"

namespace twill {
namespace {

std::vector<Setup> setups_with_channel_order() {
  std::vector<Setup> setups = setups_with_device();
  std::erase_if(setups, [](const Setup& setup) {
    return setup.table->benches.activation_forward_by_channel == nullptr;
  });
  return setups;
}

class ActivationByChannel : public TableTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ActivationByChannel);

constexpr Activation kPlainAndGated[] = {Activation::kGeluTanh, Activation::kSwiglu,
                                         Activation::kGeglu};

// Beyond a grid of 132 · 8 blocks too.
constexpr Shape kChannelShapes[] = {{1, 1}, {3, 8}, {65, 33}, {7, 130}, {1030, 264}, {4096, 136}};

Values with_specials(Values values) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double specials[] = {-0.0, kInfinity, -kInfinity, std::nan(""), 1e-40, -130.0};
  for (std::size_t i = 0; i < values.size(); i += 11) values[i] = specials[i / 11 % 6];
  return values;
}

TEST_P(ActivationByChannel, HasTheBitsOfTheOp) {
  const auto& setup = GetParam();
  const std::shared_ptr<const Context> opened = setup.context();
  const Context& context = *opened;
  Random random;
  for (const Activation kind : kPlainAndGated)
    for (const Shape& shape : kChannelShapes) {
      const Shape wide{shape[0], shape[1] * (is_gated(kind) ? 2 : 1)};
      const Buffer x = setup.buffer(with_specials(random.normal(wide.num_elements(), 2.0)));
      const Buffer dy = setup.buffer(with_specials(random.normal(shape.num_elements())));
      const Buffer y = setup.buffer(rubbish(shape.num_elements()));
      const Buffer y_by_channel = setup.buffer(rubbish(shape.num_elements()));
      const Buffer dx = setup.buffer(rubbish(wide.num_elements()));
      const Buffer dx_by_channel = setup.buffer(rubbish(wide.num_elements()));
      ActivationForwardArgs forward{.kind = kind, .x = x.view(wide), .y = y.view(shape)};
      activation_forward(context, forward);
      forward.y = y_by_channel.view(shape);
      setup.table->benches.activation_forward_by_channel(forward, context.device(),
                                                         context.queue());
      ASSERT_TRUE(expect_same_bits("y", y_by_channel.values(), y.values())) << to_string(shape);
      ActivationBackwardArgs backward{
          .kind = kind, .x = x.view(wide), .dy = dy.view(shape), .dx = dx.view(wide)};
      activation_backward(context, backward);
      backward.dx = dx_by_channel.view(wide);
      setup.table->benches.activation_backward_by_channel(backward, context.device(),
                                                          context.queue());
      ASSERT_TRUE(expect_same_bits("dx", dx_by_channel.values(), dx.values())) << to_string(shape);
    }
}

INSTANTIATE_TEST_SUITE_P(Tables, ActivationByChannel,
                         testing::ValuesIn(setups_with_channel_order()), setup_name);

}  // namespace
}  // namespace twill
