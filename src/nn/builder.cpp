// SPDX-License-Identifier: Apache-2.0
#include "nn/builder.h"

#include <utility>

#include "ops/numbers/cast.h"

namespace twill {

Builder::Builder(const Context& context, Options options)
    : context_(&context),
      options_(options),
      weights_("weights", context.memory()),
      operands_("operands", context.memory()),
      gradients_("gradients", context.memory()),
      optimizer_("optimizer", context.memory()),
      activations_("activations", context.memory()),
      workspace_("workspace", context.memory()),
      sparsity_("sparsity", context.memory()),
      packed_("packed operands", context.memory()) {}

Parameter& Builder::parameter(std::string name, Shape shape, Init init, double init_std) {
  Parameter& parameter = parameters_.emplace_back();
  parameter.name = std::move(name);
  parameter.shape = shape;
  parameter.init = init;
  parameter.init_std = init_std;
  weights_.reserve(parameter.value, wide(), shape);
  if (has_operands()) operands_.reserve(parameter.operand, options_.dtype, shape);
  if (options_.training) gradients_.reserve(parameter.gradient, wide(), shape);
  return parameter;
}

void Builder::forward_result(std::string_view role, View& slot, DType dtype, Shape shape,
                             bool keep) {
  if (options_.training && keep) {
    activations_.reserve(slot, dtype, shape);
  } else {
    activations_.reserve_shared(role, slot, dtype, shape);
  }
}

void Builder::activation(std::string_view role, View& slot, Shape shape, bool keep) {
  forward_result(role, slot, options_.dtype, shape, keep);
}

void Builder::statistic(std::string_view role, View& slot, Shape shape, bool keep) {
  forward_result(role, slot, wide(), shape, keep);
}

void Builder::scratch(std::string_view role, View& slot, Shape shape) {
  workspace_.reserve_shared(role, slot, options_.dtype, shape);
}

void Builder::scratch_bytes(std::string_view role, View& slot, std::int64_t bytes) {
  workspace_.reserve_shared(role, slot, DType::kU8, {bytes});
}

void Builder::state(View& slot, DType dtype, Shape shape) {
  workspace_.reserve(slot, dtype, shape);
}

void Builder::sparsity_state(View& slot, DType dtype, Shape shape) {
  sparsity_.reserve(slot, dtype, shape);
}

void Builder::packed_state(View& slot, DType dtype, Shape shape) {
  packed_.reserve(slot, dtype, shape);
}

void Builder::packed_bytes(View& slot, std::int64_t bytes) {
  packed_.reserve(slot, DType::kU8, {bytes});
}

void Builder::scratch_of(std::string_view role, View& slot, DType dtype, Shape shape) {
  workspace_.reserve_shared(role, slot, dtype, shape);
}

LinearSeam& Builder::linear_seam(LinearSeam seam) {
  seam.stream = static_cast<std::uint32_t>(linear_seams_.size());
  return linear_seams_.emplace_back(std::move(seam));
}

FfnSeam& Builder::ffn_seam(FfnSeam seam) { return ffn_seams_.emplace_back(std::move(seam)); }

AttentionSeam& Builder::attention_seam(AttentionSeam seam) {
  return attention_seams_.emplace_back(std::move(seam));
}

void Builder::optimizer_state(View& slot, Shape shape) { optimizer_state(slot, shape, wide()); }

void Builder::optimizer_state(View& slot, Shape shape, DType dtype) {
  optimizer_.reserve(slot, dtype, shape);
}

std::vector<MemoryLine> Builder::memory_table() const {
  std::vector<MemoryLine> table;
  for (const Arena* arena : {&weights_, &operands_, &gradients_, &optimizer_, &activations_,
                             &workspace_, &sparsity_, &packed_})
    if (arena->num_bytes() > 0) table.push_back({arena->name(), arena->num_bytes()});
  return table;
}

void Builder::commit() {
  for (Arena* arena : {&weights_, &operands_, &gradients_, &optimizer_, &activations_, &workspace_,
                       &sparsity_, &packed_})
    arena->commit();
  if (has_operands()) return;
  for (Parameter& parameter : parameters_) parameter.operand = parameter.value;
}

void Builder::refresh_operands() {
  for (const Parameter& parameter : parameters_) refresh_operand(*context_, parameter);
}

void refresh_operand(const Context& context, const Parameter& parameter) {
  if (parameter.operand.dtype() != parameter.value.dtype())
    cast(context, {.x = parameter.value, .y = parameter.operand});
}

}  // namespace twill
