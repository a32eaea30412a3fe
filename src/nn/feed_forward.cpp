// SPDX-License-Identifier: Apache-2.0
#include "nn/feed_forward.h"

namespace twill {
namespace {

std::int64_t input_width(const FeedForward::Options& options) {
  return options.hidden * (is_gated(options.activation) ? 2 : 1);
}

// Of a plain activation the gradient comes with dgrad.
std::optional<Activation> behind_product(Activation activation) {
  return is_gated(activation) ? std::nullopt : std::optional(activation);
}

}  // namespace

FeedForward::FeedForward(Builder& builder, const std::string& name, Options options)
    : options_(options),
      recompute_(builder.options().recompute),
      seam_(builder.ffn_seam({.name = name,
                              .activation = options.activation,
                              .width = options.width,
                              .hidden = options.hidden})),
      input_(builder, name + ".input",
             {.in = options.width,
              .out = input_width(options),
              .bias = options.bias,
              .init_std = options.init_std,
              .family = LayerFamily::kFfn,
              .activates = options.activation}),
      output_(builder, name + ".output",
              {.linear = {.in = options.hidden,
                          .out = options.width,
                          .bias = options.bias,
                          .init_std = options.output_init_std,
                          .family = LayerFamily::kFfn,
                          .width_axis = GroupAxis::kWithinColumn,
                          .activated = behind_product(options.activation)},
               .dropout = options.dropout,
               .dropout_stream = options.dropout_stream}),
      selection_(builder, seam_) {
  const Shape wide{builder.max_tokens(), input_width(options)};
  const Shape hidden{builder.max_tokens(), options.hidden};
  builder.activation("ffn.before", before_, wide, recompute_.keeps_hidden());
  builder.activation("ffn.after", after_, hidden, recompute_.keeps_activated());
  if (!builder.options().training) return;
  builder.scratch("ffn.dbefore", dbefore_, wide);
  if (is_gated(options.activation)) builder.scratch("ffn.dafter", dafter_, hidden);
}

void FeedForward::activate(const Pass& pass, ConstView x) const {
  input_.forward_activated(pass, x, options_.activation, pass.rows(before_), pass.rows(after_),
                           has_slope(pass) && !activates_again());
}

void FeedForward::recompute(const Pass& pass, ConstView x) const {
  if (recompute_.keeps_activated()) return;
  const View before = pass.rows(before_), after = pass.rows(after_);
  if (activates_again()) {
    activation_forward(pass.context, {.kind = options_.activation,
                                      .x = before,
                                      .y = after,
                                      .slope = has_slope(pass) ? before : View()});
  } else {
    activate(pass, x);
  }
  if (selection_.active(pass)) selection_.apply_again(pass, after);
}

void FeedForward::forward(const Pass& pass, ConstView x, ConstView residual, View out) const {
  const View after = pass.rows(after_);
  activate(pass, x);
  selection_.measure(pass, after);
  if (selection_.active(pass)) selection_.forward(pass, x, after);
  output_.forward(pass, after, residual, out);
}

bool FeedForward::has_slope(const Pass& pass) const {
  return pass.training && keeps_slope(pass.context, options_.activation) &&
         input_.route().forward.runs_packed(pass.tokens()) &&
         output_.route().dgrad.runs_packed(pass.tokens());
}

bool FeedForward::samples_with_activation(const Pass& pass) const {
  return !selection_.active(pass) && input_.packs_sample(pass) &&
         gradient_comes_with_sample(pass.context, options_.activation);
}

void FeedForward::backward(const Pass& pass, ConstView x, ConstView dout, View dx) const {
  recompute(pass, x);
  const View before = pass.rows(before_), after = pass.rows(after_), dbefore = pass.rows(dbefore_);
  if (samples_with_activation(pass)) {
    // A plain activation turns the gradient behind it into the one before it in place.
    const View dafter = is_gated(options_.activation) ? pass.rows(dafter_) : dbefore;
    output_.backward(pass, after, dout, dafter);
    input_.wgrad_through_activation(
        pass, x, {.kind = options_.activation, .x = before, .dy = dafter, .dx = dbefore});
    return input_.dgrad(pass, dbefore, dx);
  }
  const ConstView after_of_weight = selection_.for_wgrad(pass, after, /*is_gradient=*/false);
  if (is_gated(options_.activation)) {
    const View dafter = pass.rows(dafter_);
    output_.backward(pass, after, dout, dafter, after_of_weight);
    activation_backward(pass.context,
                        {.kind = options_.activation, .x = before, .dy = dafter, .dx = dbefore});
  } else {
    output_.backward_activated(pass, after, dout, options_.activation, before, dbefore,
                               after_of_weight, has_slope(pass));
  }
  if (selection_.active(pass)) selection_.backward(pass, dbefore);
  const ConstView of_weight = selection_.for_wgrad(pass, dbefore, /*is_gradient=*/true);
  if (of_weight.bytes() == dbefore.bytes()) {
    input_.wgrad(pass, x, dbefore);
  } else {
    input_.weight_gradient(pass, x, of_weight);
    input_.bias_gradient(pass, dbefore);
  }
  input_.dgrad(pass, dbefore, dx);
}

}  // namespace twill
