// SPDX-License-Identifier: Apache-2.0
#include "ops/transfer.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace twill {

bool shares_memory(const Context& context) { return context.kernels().copy_in == nullptr; }

void copy_in(const Context& context, View to, const void* from) {
  if (to.num_bytes() == 0) return;
  if (shares_memory(context)) {
    std::memcpy(to.bytes(), from, static_cast<std::size_t>(to.num_bytes()));
    return;
  }
  context.kernels().copy_in(to.bytes(), static_cast<const std::byte*>(from), to.num_bytes(),
                            context.queue());
}

void copy_out(const Context& context, void* to, ConstView from) {
  if (from.num_bytes() == 0) return;
  if (shares_memory(context)) {
    std::memcpy(to, from.bytes(), static_cast<std::size_t>(from.num_bytes()));
    return;
  }
  context.kernels().copy_out(static_cast<std::byte*>(to), from.bytes(), from.num_bytes(),
                             context.queue());
}

void copy(const Context& context, View to, ConstView from) {
  TWILL_CHECK(to.num_bytes() == from.num_bytes(), "a copy has the size of what it is made of");
  if (to.num_bytes() == 0) return;
  if (shares_memory(context)) {
    std::memcpy(to.bytes(), from.bytes(), static_cast<std::size_t>(to.num_bytes()));
    return;
  }
  context.kernels().copy(to.bytes(), from.bytes(), to.num_bytes(), context.queue());
}

void wait(const Context& context) {
  if (context.kernels().wait != nullptr) context.kernels().wait(context.queue());
}

const Memory& staging_memory(const Context& context) {
  return shares_memory(context) ? host_memory() : context.kernels().staging_memory();
}

HostCopy::HostCopy(const Context& context, ConstView view) : view_(view) {
  if (shares_memory(context)) return;
  tensor_ = Tensor(view.dtype(), view.shape());
  copy_out(context, tensor_.view().bytes(), view);
  view_ = tensor_.view();
}

std::vector<float> host_floats(const Context& context, ConstView view) {
  const HostCopy copy(context, view);
  std::vector<float> values(static_cast<std::size_t>(view.num_elements()));
  if (view.dtype() == DType::kBf16) {
    std::transform(copy.view().as<Bf16>(), copy.view().as<Bf16>() + values.size(), values.begin(),
                   to_float);
  } else {
    std::copy_n(copy.view().as<float>(), values.size(), values.begin());
  }
  return values;
}

}  // namespace twill
